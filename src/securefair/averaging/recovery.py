"""Keys of closed parts that the other senders can put together, where a sum may lose a few.

A sender closes its part of a sum under a key (`shares`). If it then goes for good, nobody else has
that key, and the sum is lost. So the key of a sum that `spare` senders may leave is no random one.
It follows from a secret that is divided among all other senders (Shamir, "How to share a secret",
Communications of the ACM 1979; as Bonawitz et al., CCS 2017, do with keys of masks):

    part(j, i) = HKDF(X25519 of j and i; gathering, request, "of j for i")    modulo p = 2^255 - 19
    P_j        the polynomial through (x_i, part(j, i)) of the first N - spare others i
    key of j = SHA-256(P_j(0))

N are the senders and x_i their places, from 1. Both of a pair can compute its part, so that nothing
is sent: with one spare all N - 1 others determine the polynomial. With more than one a sender adds
to its closed part, for every further other i, P_j(x_i) - part(j, i).

So N - spare senders open a part together, and fewer know nothing of its key: what they lack is
uniform. Who joins has given its own key before, and so stands in no other attempt at that sum. A
part is bound to its gathering: those of one attempt are worth nothing in another.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from securefair.averaging.gathering import Gathering
from securefair.averaging.pairwise import derived
from securefair.errors import LocalProtocolError, RemoteProtocolError

PRIME = 2**255 - 19
PART_BYTES = 32
"""Of a part, little-endian, below the prime."""

_DRAWN_BYTES = 48  # a remainder of so many is uniform but for 2^-129
_KEY, _PART = b"securefair key of a part\0", "securefair part of a key"


@dataclass(frozen=True)
class Divided:
    """One sender's side: how it closes its own parts of sums, and helps to open those of others.

    Attributes:
        sender: its name.
        private: its key for masks.
        publics: those of the other senders, by name.
        spare: senders that the sum may lose between their parts and their keys, 1 or more.
    """

    sender: str
    private: X25519PrivateKey = field(repr=False)
    publics: Mapping[str, bytes]
    spare: int

    def closing(self, gathering: Gathering, request: bytes) -> tuple[bytes, bytes]:
        """The key of the own part, and what is sent with it: 32 bytes for every spare but one.

        Raises:
            LocalProtocolError: a key is missing.
            RemoteProtocolError: a peer's key is none.
        """
        places = _others(gathering, self.sender)
        drawn = {
            place: self._drawn(gathering, request, self.sender, name)
            for name, place in places.items()
        }
        enough = enough_of(gathering, self.spare)
        points = dict(list(drawn.items())[:enough])
        further = [
            (_at(points, place) - value) % PRIME for place, value in list(drawn.items())[enough:]
        ]
        sent = b"".join(one.to_bytes(PART_BYTES, "little") for one in further)
        return _key(_at(points, 0)), sent

    def part(self, gathering: Gathering, request: bytes, owner: str) -> bytes:
        """This sender's part of the key of another one.

        Raises:
            LocalProtocolError, RemoteProtocolError: as `closing`.
        """
        drawn = self._drawn(gathering, request, owner, self.sender)
        return drawn.to_bytes(PART_BYTES, "little")

    def _drawn(self, gathering: Gathering, request: bytes, owner: str, holder: str) -> int:
        context = msgspec.msgpack.encode((hashlib.sha256(request).digest(), owner, holder))
        peer = holder if owner == self.sender else owner
        drawn = derived(
            self.private, self.publics, gathering, self.sender, peer, _PART, context, _DRAWN_BYTES
        )
        return int.from_bytes(drawn, "little") % PRIME


def sent_beside(spare: int) -> int:
    """Bytes that follow a closed part."""
    return PART_BYTES * max(0, spare - 1)


def enough_of(gathering: Gathering, spare: int) -> int:
    """Senders that open a part of another together."""
    return len(gathering.senders) - spare


def recovered(
    gathering: Gathering, owner: str, spare: int, beside: bytes, parts: Mapping[str, bytes]
) -> bytes:
    """The key of a sender's part of a sum, from parts of it.

    A wrong part gives a wrong key, and that a sum beyond all bounds (`WeightedSums.total`).

    Args:
        gathering: the sum.
        owner: the sender whose key did not come.
        spare: senders that the sum may lose.
        beside: what followed its closed part.
        parts: of the key, by the sender that gave it.

    Raises:
        LocalProtocolError: too few of them.
        RemoteProtocolError: one is no number below the prime; the culprit is its sender.
    """
    places, enough = _others(gathering, owner), enough_of(gathering, spare)
    added = [
        int.from_bytes(beside[at : at + PART_BYTES], "little")
        for at in range(0, len(beside), PART_BYTES)
    ]
    further = dict(zip(list(places)[enough:], added, strict=True))
    points = {}
    for name, place in places.items():
        if name not in parts:
            continue
        value = int.from_bytes(parts[name], "little")
        if len(parts[name]) != PART_BYTES or value >= PRIME:
            raise RemoteProtocolError(
                "sent what is no part of a key",
                culprit=name,
                where=f"round {gathering.round}, attempt {gathering.attempt}",
                found=f"{len(parts[name])} bytes",
                expected=f"{PART_BYTES} bytes, a number below 2^255 - 19",
            )
        points[place] = (value + further.get(name, 0)) % PRIME
    if len(points) < enough:
        raise LocalProtocolError(
            "too few parts of a key", where=owner, found=len(points), expected=enough
        )
    return _key(_at(dict(list(points.items())[:enough]), 0))


def _others(gathering: Gathering, owner: str) -> dict[str, int]:
    """Places of all senders but one, from 1."""
    return {name: at for at, name in enumerate(gathering.senders, start=1) if name != owner}


def _at(points: Mapping[int, int], where: int) -> int:
    """The polynomial through all points, at one place: Lagrange, modulo the prime."""
    total = 0
    for place, value in points.items():
        above, below = value, 1
        for other in points:
            if other != place:
                above = above * (where - other) % PRIME
                below = below * (place - other) % PRIME
        total += above * pow(below, -1, PRIME)
    return total % PRIME


def _key(secret: int) -> bytes:
    return hashlib.sha256(_KEY + secret.to_bytes(PART_BYTES, "little")).digest()
