"""Keys of closed parts that the other senders can put together, where a sum may lose a few.

A sender closes its part of a sum under a key (`shares`). If it then goes for good, nobody else has
that key, and the sum is lost. So the key of a sum that `spare` senders may leave is no random one.
It follows from a secret that is divided among all other senders (Shamir, "How to share a secret",
Communications of the ACM 1979; as Bonawitz et al., CCS 2017, do with keys of masks):

    part(j, i) = HKDF(X25519 of j and i; gathering, request, "of j for i", salt of j)    modulo p
    P_j        the polynomial through (x_i, part(j, i)) of the first N - spare others i
    key of j = SHA-256(P_j(0))

p is 2^255 - 19, N are the senders and x_i their places, from 1. Both of a pair can compute its
part; with one spare all N - 1 others determine the polynomial. Four things follow a closed part:

    further       P_j(x_i) - part(j, i) for every other i that is not among the first N - spare
    commitment    HMAC(key of j; gathering, j): a wrong part or key is seen before a sum is opened
    known         hash of all senders' keys for masks, as j knew them: if two differ, so do masks
    salt          drawn anew for every closed part; whoever asks for parts of its key says it

So N - spare senders open a part together, and fewer know nothing of its key: what they lack is
uniform. Who joins has given its own key before, and so stands in no other attempt at that sum. A
part is bound to its gathering: those of one attempt are worth nothing in another. A sender whose
store was turned back may make a second part under the masks of a first; the salt gives it another
key. Parts follow from the public keys of when the own closed part was made (`shares.Share`): a
peer that took new ones since then costs nobody a sum.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from securefair.averaging.gathering import Gathering
from securefair.averaging.pairwise import derived, public_bytes
from securefair.errors import LocalProtocolError, RemoteProtocolError
from securefair.protocol.messages import SALT_BYTES

PRIME = 2**255 - 19
PART_BYTES = 32
"""Of a part, little-endian, below the prime."""

_HASH_BYTES = 32
_DRAWN_BYTES = 48  # a remainder of so many is uniform but for 2^-129
_KEY, _PART = b"securefair key of a part\0", "securefair part of a key"
_COMMITMENT, _KNOWN = "securefair commitment to a key", "securefair keys for masks"


@dataclass(frozen=True)
class Attached:
    """What follows a closed part.

    Attributes:
        further: 32 bytes for every spare sender but one.
        commitment: to the key of the part, 32 bytes.
        known: hash of the public keys that its masks follow from, 32 bytes.
        salt: 16 bytes.
    """

    further: bytes
    commitment: bytes
    known: bytes
    salt: bytes

    def written(self) -> bytes:
        """As it travels: the salt last, where whoever asks for parts finds it."""
        return self.further + self.commitment + self.known + self.salt


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

    def closing(self, gathering: Gathering, request: bytes, salt: bytes) -> tuple[bytes, Attached]:
        """The key of the own part, and what is sent with it.

        Args:
            gathering: the sum.
            request: what was asked.
            salt: 16 bytes that nothing was closed with before.

        Raises:
            LocalProtocolError: a key is missing.
            RemoteProtocolError: a peer's key is none.
        """
        places = _others(gathering, self.sender)
        drawn = {
            place: self._drawn(gathering, request, self.sender, name, salt)
            for name, place in places.items()
        }
        enough = enough_of(gathering, self.spare)
        points = dict(list(drawn.items())[:enough])
        further = [
            (_at(points, place) - value) % PRIME for place, value in list(drawn.items())[enough:]
        ]
        key = _key(_at(points, 0))
        sent = b"".join(one.to_bytes(PART_BYTES, "little") for one in further)
        commitment = _commitment(key, gathering, self.sender)
        return key, Attached(sent, commitment, self._known(gathering), salt)

    def part(self, gathering: Gathering, request: bytes, owner: str, salt: bytes) -> bytes:
        """This sender's part of the key of another one, 32 bytes.

        Args:
            gathering: the sum.
            request: what was asked.
            owner: of the key.
            salt: what its part was closed with; another one gives another part.

        Raises:
            LocalProtocolError, RemoteProtocolError: as `closing`.
        """
        drawn = self._drawn(gathering, request, owner, self.sender, salt)
        return drawn.to_bytes(PART_BYTES, "little")

    def _drawn(
        self, gathering: Gathering, request: bytes, owner: str, holder: str, salt: bytes
    ) -> int:
        context = msgspec.msgpack.encode((hashlib.sha256(request).digest(), owner, holder, salt))
        peer = holder if owner == self.sender else owner
        drawn = derived(
            self.private, self.publics, gathering, self.sender, peer, _PART, context, _DRAWN_BYTES
        )
        return int.from_bytes(drawn, "little") % PRIME

    def _known(self, gathering: Gathering) -> bytes:
        keys = {**self.publics, self.sender: public_bytes(self.private)}
        known = (_KNOWN, *((name, keys[name]) for name in gathering.senders))
        return hashlib.sha256(msgspec.msgpack.encode(known)).digest()


def sent_beside(spare: int) -> int:
    """Bytes that follow a closed part; none where no key may be missing."""
    return PART_BYTES * (spare - 1) + 2 * _HASH_BYTES + SALT_BYTES if spare else 0


def taken_apart(owner: str, closed: bytes, spare: int) -> tuple[bytes, Attached]:
    """A closed part alone, and what followed it.

    Raises:
        RemoteProtocolError: it is shorter than that; the culprit is its sender.
    """
    split = len(closed) - sent_beside(spare)
    if split < 0:
        raise RemoteProtocolError(
            "its share has the wrong length",
            culprit=owner,
            found=f"{len(closed)} bytes",
            expected=f"at least {sent_beside(spare)} bytes",
        )
    rest, cuts = closed[split:], []
    for size in (PART_BYTES * (spare - 1), _HASH_BYTES, _HASH_BYTES, SALT_BYTES):
        cuts.append(rest[:size])
        rest = rest[size:]
    return closed[:split], Attached(*cuts)


def opens(gathering: Gathering, owner: str, beside: Attached, key: bytes) -> bool:
    """Whether this is the key that a sender's part was closed with."""
    return hmac.compare_digest(_commitment(key, gathering, owner), beside.commitment)


def check_known(gathering: Gathering, beside: Mapping[str, Attached]) -> None:
    """Refuse parts whose masks cannot cancel, since their senders knew different keys for them.

    So it is where a sender took new keys while a sum was under way: parts that others made before
    and after they heard of it do not fit together.

    Raises:
        RemoteProtocolError: one of the senders is the culprit, and nobody can tell which.
    """
    if len({one.known for one in beside.values()}) > 1:
        raise RemoteProtocolError(
            "parts of the sum were made under different keys for masks",
            culprit=" or ".join(beside),
            where=f"round {gathering.round}, attempt {gathering.attempt}",
            hint="A hospital that began with new keys meanwhile costs this sum",
        )


def enough_of(gathering: Gathering, spare: int) -> int:
    """Senders that open a part of another together."""
    return len(gathering.senders) - spare


def recovered(
    gathering: Gathering, owner: str, spare: int, beside: Attached, parts: Mapping[str, bytes]
) -> bytes:
    """The key of a sender's part of a sum, from parts of it.

    Args:
        gathering: the sum.
        owner: the sender whose key did not come.
        spare: senders that the sum may lose.
        beside: what followed its closed part.
        parts: of the key, by the sender that gave it.

    Raises:
        LocalProtocolError: too few of them.
        RemoteProtocolError: one is no number below the prime, and the culprit is its sender; or
            together they do not give the key, and nobody can tell whose is wrong.
    """
    places, enough = _others(gathering, owner), enough_of(gathering, spare)
    added = [
        int.from_bytes(beside.further[at : at + PART_BYTES], "little")
        for at in range(0, len(beside.further), PART_BYTES)
    ]
    further = dict(zip(list(places)[enough:], added, strict=True))
    where = f"round {gathering.round}, attempt {gathering.attempt}"
    points = {}
    for name in [name for name in places if name in parts][:enough]:
        value = int.from_bytes(parts[name], "little")
        if len(parts[name]) != PART_BYTES or value >= PRIME:
            raise RemoteProtocolError(
                "sent what is no part of a key",
                culprit=name,
                where=where,
                found=f"{len(parts[name])} bytes",
                expected=f"{PART_BYTES} bytes, a number below 2^255 - 19",
            )
        points[name] = (value + further.get(name, 0)) % PRIME
    if len(points) < enough:
        raise LocalProtocolError(
            "too few parts of a key", where=owner, found=len(points), expected=enough
        )
    key = _key(_at({places[name]: value for name, value in points.items()}, 0))
    if not opens(gathering, owner, beside, key):
        raise RemoteProtocolError(
            "parts of a key do not give the key together",
            culprit=" or ".join([owner, *points]),
            where=f"{where}, the key of {owner}",
            hint="One of them is false, or what its owner sent beside; nobody can tell which",
        )
    return key


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


def _commitment(key: bytes, gathering: Gathering, owner: str) -> bytes:
    """Tells nothing of a key of 256 uniform bits, and fits no other one."""
    bound = msgspec.msgpack.encode((_COMMITMENT, gathering.digest, owner))
    return hmac.digest(key, bound, "sha256")
