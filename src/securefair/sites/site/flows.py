"""What leaves a site besides messages of the protocol, and what of opened values is in it.

`protocol.flows` has the messages. They travel in envelopes, beside notices; receipts come back.
Nothing in these depends on what was opened but by the messages that there are: how many leave, and
of what kind, is in the table of messages. Files leave a site only by its operator's hand.
"""

from __future__ import annotations

from collections.abc import Mapping

NOTHING = "nothing opened"

COUNTED = "the messages that were sent, each counted in its row"

BESIDE: Mapping[str, Mapping[str, str]] = {
    "header of an envelope": {
        "project": NOTHING,
        "sender": NOTHING,
        "recipient": NOTHING,
        "epoch": NOTHING,
        "sequence": COUNTED,
        "round": NOTHING,
        "sent": "when it leaves: see below",
        "expires": NOTHING,
        # One row a round, whatever happened in it, with a random number in it (`notes`).
        "audit_count": NOTHING,
        "audit_head": "all of a round, under a hash with 16 random bytes",
        "length": COUNTED,
    },
    "notice": {"ready": NOTHING, "leaves": NOTHING},
    "receipt": {
        "nonce": NOTHING,
        "project": NOTHING,
        "by": NOTHING,
        "to": NOTHING,
        "fate": NOTHING,  # refused are envelopes, before anything in them is opened
        "epoch": NOTHING,
        "expected": NOTHING,
        "newest": NOTHING,  # the recipient's own envelopes
        "before": NOTHING,
    },
}
"""By what leaves, its fields: of `envelope.Header`, `notices.Notice` and `receipts.Receipt`."""

FILES: Mapping[str, str] = {
    "models": "a model that has learnt from opened values, and its scores",
    "report.html": "own scores, reputations of peers, what was received and let out",
    "report.md": "the same",
    "rounds.jsonl": "the same by round, reputations as they are",
    "validation.html": "what peers' models said of own patients, as scores",
    "validation.json": "the same",
    "description.html": "sums over all hospitals",
    "description.csv": "the same",
    "description.json": "the same",
    "status.json": "rounds, and peers as the site sees them",
}
"""What `securefair site export` writes, none of it rounded. Whoever gets a file gets that."""
