"""One participant in a process of its own: identities, project, envelopes, store, site, couriers.

machine -> Send -> seal -> outbox (commit) -> door -> courier -> peer's courier -> its door
        -> verify -> inbox (commit) -> receipt -> outbox row deleted
"""
