"""Envelopes: what travels between two sites. Sealed for one recipient, signed by one sender.

An envelope is

    header      fixed length: see `Header`
    sealed      HPKE (RFC 9180: X25519, HKDF-SHA256, ChaCha20-Poly1305), bound to the header
    signature   Ed25519 over a domain, the header and SHA-512 of what is sealed

The header is public: a relay needs none of it, but may read it. It tells who writes to whom, when,
in which round and how much. Whatever `accept` is fed, it returns a header or raises RefusedError;
the claimed length is compared with the limit before a byte of the body is read. A signature can be
checked without the sealed part, by its hash: so an envelope can be quoted (`quotes`).
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping
from dataclasses import astuple, dataclass

from cryptography.exceptions import InvalidSignature

from securefair.sites.post.refusals import Reason, RefusedError
from securefair.sites.post.streams import LAST_EPOCH
from securefair.sites.project.card import LAST_MOMENT, SIGNATURE_BYTES, Card, utc
from securefair.sites.project.identity import SUITE, Identity

ENVELOPE_VERSION = 2
SEAL_BYTES = 32 + 16  # ephemeral key and tag
LARGEST_COUNT = 2**53
"""No site makes so many envelopes or audit rows: what is larger is a lie, and not stored."""

_MAGIC = b"SFEV"
_LAYOUT = struct.Struct(">4sB32s32s32sQQIQQQ32sQ")
_SIGN_DOMAIN = b"securefair envelope 2\0"
_SEAL_DOMAIN = b"securefair seal 2\0"

HEADER_BYTES = _LAYOUT.size
OVERHEAD = HEADER_BYTES + SEAL_BYTES + SIGNATURE_BYTES
"""Bytes of an envelope besides its frame."""


@dataclass(frozen=True)
class Header:
    """The public part.

    Attributes:
        project: digest of the project file that both signed (32 bytes).
        sender, recipient: fingerprints of their cards (32 bytes each).
        epoch: of the stream between these two; a recovered store begins a higher one.
        sequence: counts the sender's envelopes of this epoch to this recipient, from 0.
        round: that the sender is in; for the relay's patience only.
        sent, expires: seconds since 1970.
        audit_count, audit_head: entries of the sender's audit log, and the hash over them.
        length: bytes of the sealed part.
    """

    project: bytes
    sender: bytes
    recipient: bytes
    epoch: int
    sequence: int
    round: int
    sent: int
    expires: int
    audit_count: int
    audit_head: bytes
    length: int

    def encode(self) -> bytes:
        """As it travels."""
        return _LAYOUT.pack(_MAGIC, ENVELOPE_VERSION, *astuple(self))

    @property
    def total(self) -> int:
        """Bytes of the whole envelope."""
        return HEADER_BYTES + self.length + SIGNATURE_BYTES


def seal(
    identity: Identity,
    recipient: Card,
    frame: bytes,
    *,
    project: bytes,
    epoch: int,
    sequence: int,
    round: int,
    sent: int,
    expires: int,
    audit_count: int,
    audit_head: bytes,
) -> bytes:
    """One frame as an envelope; every call gives other bytes."""
    header = Header(
        project=project,
        sender=identity.card.fingerprint,
        recipient=recipient.fingerprint,
        epoch=epoch,
        sequence=sequence,
        round=max(0, round),
        sent=sent,
        expires=expires,
        audit_count=audit_count,
        audit_head=audit_head,
        length=len(frame) + SEAL_BYTES,
    )
    start = header.encode()
    sealed = SUITE.encrypt(frame, recipient.sealing_key, info=_SEAL_DOMAIN + start)
    signature = identity.sign(statement(start, content_digest(sealed)))
    return b"".join((start, sealed, signature))


def read_header(start: bytes, *, limit: int) -> Header:
    """The header from an envelope's first bytes.

    Args:
        start: at least HEADER_BYTES of it.
        limit: most bytes of a whole envelope.

    Raises:
        RefusedError: it is none, of another version, or the envelope would be too large.
    """
    if len(start) < HEADER_BYTES or start[: len(_MAGIC)] != _MAGIC:
        raise RefusedError(Reason.MALFORMED, "this is no envelope", found=f"{len(start)} bytes")
    _, version, *fields = _LAYOUT.unpack_from(start)
    if version != ENVELOPE_VERSION:
        raise RefusedError(
            Reason.OTHER_VERSION,
            "an envelope of another version",
            found=version,
            expected=ENVELOPE_VERSION,
            hint="Install the same version of securefair everywhere",
        )
    header = Header(*fields)
    if header.total > limit or header.length < SEAL_BYTES:
        raise RefusedError(
            Reason.TOO_LARGE if header.total > limit else Reason.MALFORMED,
            "an envelope is too large" if header.total > limit else "an envelope is too short",
            found=f"{header.total} bytes",
            expected=f"{OVERHEAD} to {limit} bytes",
        )
    return header


def accept(
    envelope: bytes,
    *,
    own: bytes,
    project: bytes,
    cards: Mapping[bytes, Card],
    now: float,
    last: int,
    limit: int,
) -> Header:
    """Who sent this envelope, once everything but its place in the stream is proved.

    When it says that it was sent is not judged: replays are told by sequence, and a clock that was
    wrong must silence nobody.

    Args:
        envelope: as it arrived.
        own: fingerprint of this participant.
        project: digest of the project.
        cards: of the peers, by fingerprint.
        now: seconds since 1970.
        last: end of the project, seconds since 1970.
        limit: most bytes of a whole envelope.

    Raises:
        RefusedError: it is not for this participant, not of this project, not signed by a peer,
            altered, expired, or states what cannot be.
    """
    header = read_header(envelope[:HEADER_BYTES], limit=limit)
    if len(envelope) != header.total:
        raise RefusedError(
            Reason.MALFORMED,
            "an envelope is not as long as it says",
            found=f"{len(envelope)} bytes",
            expected=f"{header.total} bytes",
        )
    if header.project != project:
        raise RefusedError(
            Reason.OTHER_PROJECT,
            "an envelope of another project",
            found=header.project.hex()[:16],
            expected=project.hex()[:16],
            hint="Compare the digests that `securefair project check` prints",
        )
    if header.sender == own:
        raise RefusedError(Reason.REFLECTED, "an envelope of this participant came back")
    if header.recipient != own:
        raise RefusedError(
            Reason.WRONG_RECIPIENT,
            "an envelope for somebody else",
            found=header.recipient.hex()[:16],
            expected=own.hex()[:16],
        )
    card = cards.get(header.sender)
    if card is None:
        raise RefusedError(
            Reason.UNKNOWN_SENDER,
            "nobody of this project has that card",
            found=header.sender.hex()[:16],
        )
    view = memoryview(envelope)
    content = content_digest(view[HEADER_BYTES:-SIGNATURE_BYTES])
    try:
        card.signing_key.verify(
            bytes(view[-SIGNATURE_BYTES:]), statement(bytes(view[:HEADER_BYTES]), content)
        )
    except InvalidSignature:
        raise RefusedError(
            Reason.FORGED, f"an envelope was not signed by {card.name}, or was altered"
        ) from None
    _check_possible(header, card.name, last)
    if now >= header.expires:
        raise RefusedError(
            Reason.EXPIRED,
            f"an envelope of {card.name} has expired",
            sender=header.sender,
            found=utc(header.expires),
            expected=f"after this machine's clock, {utc(now)}",
            hint="Compare the clocks of both machines",
        )
    return header


def _check_possible(header: Header, name: str, last: int) -> None:
    """See that a signed header says nothing that no honest site says.

    Raises:
        RefusedError: it does; names what.
    """
    for where, found, most in (
        ("epoch", header.epoch, LAST_EPOCH),
        ("sequence", header.sequence, LARGEST_COUNT),
        ("audit_count", header.audit_count, LARGEST_COUNT),
        ("sent", header.sent, LAST_MOMENT),
        ("expires", header.expires, last),
    ):
        if found > most:
            raise RefusedError(
                Reason.IMPOSSIBLE,
                f"an envelope of {name} states what cannot be",
                sender=header.sender,
                where=where,
                found=found,
                expected=f"at most {most}",
            )


def frame_of(identity: Identity, header: Header, envelope: bytes) -> bytes:
    """What was sealed.

    Raises:
        RefusedError: it was not sealed for this participant under this header.
    """
    start = envelope[:HEADER_BYTES]
    sealed = envelope[HEADER_BYTES:-SIGNATURE_BYTES]
    frame = identity.open(sealed, _SEAL_DOMAIN + start)
    if frame is None:
        raise RefusedError(
            Reason.NOT_OPENABLE,
            "an envelope cannot be opened: it was sealed for another key or header",
            sender=header.sender,
        )
    return frame


def digest_of(envelope: bytes) -> bytes:
    """32 bytes that tell one envelope from another of the same place in the stream."""
    return hashlib.sha256(envelope).digest()


def content_digest(sealed: bytes | memoryview) -> bytes:
    """What a signature covers of the sealed part."""
    return hashlib.sha512(sealed).digest()


def statement(start: bytes, content: bytes) -> bytes:
    """What an envelope's signature is over.

    Args:
        start: the header as it travels.
        content: `content_digest` of what is sealed.
    """
    return _SIGN_DOMAIN + start + content
