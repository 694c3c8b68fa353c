"""One participant in a process of its own, with others on machines of their own.

    project     what everybody signs
    post        envelopes, streams, receipts, the door
    couriers    how parcels travel
    site        the engine over a store, wherever its process ended
    operator    what people do beside the rounds
    rehearsal   all of it on one machine

machine -> Send -> seal -> outbox (commit) -> door -> courier -> peer's courier -> its door
        -> verify -> inbox (commit) -> receipt -> outbox row deleted
"""
