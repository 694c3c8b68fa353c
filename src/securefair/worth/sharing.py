"""Sharing decisions: the coins of teachers, and how much each answer weighs.

CYCle, section 4.2 and Algorithms 1 and 2. A teacher decides by its *own* reputation of the student
(the text; Alg. 1 line 18 prints the indices the other way round).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from hashlib import blake2b

from securefair.errors import ConfigError, ModelError

_COIN_BITS = 53  # as many as a float64 holds exactly


def coin(seed: int, round: int, teacher: str, student: str) -> float:
    """The uniform number in [0, 1) by which `teacher` decides about `student` in `round`.

    A pure function of its arguments, equal in every process and on every platform, so that a
    reference run and an encrypted run take the same decisions. Not secret and not for
    cryptography: whoever knows the seed can foretell every decision.
    """
    # JSON separates the fields unambiguously, whatever the names contain.
    fields = json.dumps([seed, round, teacher, student], separators=(",", ":")).encode()
    digest = blake2b(fields, digest_size=8, person=b"sf-sharing-coin").digest()
    return math.ldexp(int.from_bytes(digest, "big") >> (64 - _COIN_BITS), -_COIN_BITS)


def private_coin(secret: bytes, round: int, student: str) -> float:
    """The uniform number in [0, 1) by which the owner of `secret` decides about `student`.

    A keyed hash: who does not know the secret cannot foretell it, and a participant that starts
    again draws the same coin.

    Args:
        secret: 16 to 64 random bytes, of this participant alone.
        round: whose decision it is.
        student: the name.
    """
    fields = json.dumps([round, student], separators=(",", ":")).encode()
    digest = blake2b(fields, digest_size=8, key=secret, person=b"sf-private-coin").digest()
    return math.ldexp(int.from_bytes(digest, "big") >> (64 - _COIN_BITS), -_COIN_BITS)


def distillation_weights(
    reputations: Mapping[str, float], participants: int, *, raw: bool = False
) -> dict[str, float]:
    """lambda_nk for each peer that answered, in the mapping's order.

    Args:
        reputations: r_nk in [0, 1] of the peers that answered (not of those that declined).
        participants: N, the student included.
        raw: CYCle's Alg. 2 as printed, lambda = r. By default lambda = r / (N - 1), so that full
            reputation everywhere gives VPDL's weights and lambda_0 means the same in both.

    Raises:
        ConfigError: fewer than two participants, or more answers than peers.
        ModelError: a reputation outside [0, 1].
    """
    if participants < 2 or len(reputations) > participants - 1:
        raise ConfigError(
            "answers and participants disagree",
            where="participants",
            found=participants,
            expected=f"at least {max(2, len(reputations) + 1)}",
        )
    for peer, r in reputations.items():
        if not 0.0 <= r <= 1.0:
            raise ModelError("not a reputation", where=f"peer {peer}", found=r, expected="[0, 1]")
    share = 1.0 if raw else 1.0 / (participants - 1)
    return {peer: r * share for peer, r in reputations.items()}
