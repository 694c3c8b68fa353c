"""One seed of a run, and from it a seed for each participant and purpose.

A pure function, so that a reference run and a run of separate participants start alike.
"""

from __future__ import annotations

import json
from hashlib import blake2b


def derive_seed(seed: int, purpose: str, participant: str) -> int:
    """A seed in [0, 2^63) for one purpose ("head", "batches") of one participant.

    Equal in every process and on every platform; other arguments give an unrelated seed.
    """
    # JSON separates the fields unambiguously, whatever the names contain.
    fields = json.dumps([seed, purpose, participant], separators=(",", ":")).encode()
    digest = blake2b(fields, digest_size=8, person=b"sf-derived-seed").digest()
    return int.from_bytes(digest, "big") >> 1
