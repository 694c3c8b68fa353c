"""Receipts: what a site says of an envelope that was handed to it.

Signed, since a relay between the two is not believed: a forged "taken" would lose a message for
ever. Fresh, by a nonce of the sender's, so that an old one cannot be played again.
"""

from __future__ import annotations

import enum
import struct
from dataclasses import astuple, dataclass, replace

from cryptography.exceptions import InvalidSignature

from securefair.sites.post.envelope import LARGEST_COUNT
from securefair.sites.post.quotes import QUOTE_BYTES
from securefair.sites.post.refusals import Reason, RefusedError
from securefair.sites.post.streams import LAST_EPOCH
from securefair.sites.project.card import SIGNATURE_BYTES, Card
from securefair.sites.project.identity import Identity

NONCE_BYTES = 16

_LAYOUT = struct.Struct(f">4s16s32s32s32sBQQ{QUOTE_BYTES}s{QUOTE_BYTES}s")
_MAGIC = b"SFR2"
_DOMAIN = b"securefair receipt 2\0"

RECEIPT_BYTES = _LAYOUT.size + SIGNATURE_BYTES


class Fate(enum.IntEnum):
    """What became of the envelope."""

    TAKEN = 0  # now or before: it is stored, or was handled
    WAITS = 1  # an earlier one is missing
    REFUSED = 2  # the receiver's audit log says why
    TURNED_BACK = 3  # the sender's store was turned back, as the receiver sees it


@dataclass(frozen=True)
class Receipt:
    """What a peer says.

    Attributes:
        nonce: of this attempt (16 bytes).
        project: digest of the project.
        by, to: fingerprints of who received and of who had sent.
        fate: of the envelope.
        epoch: of the pair, as the receiver sees it.
        expected: the sequence that it expects next.
        newest, before: quotes of the two newest envelopes that it has taken in this epoch, so that
            a sender finds out, by its own signature, if its store or its audit log is not what it
            was. The one before says so of an envelope that comes again.
    """

    nonce: bytes
    project: bytes
    by: bytes
    to: bytes
    fate: Fate
    epoch: int
    expected: int
    newest: bytes
    before: bytes

    def encode(self, identity: Identity) -> bytes:
        """Signed, as it travels."""
        content = _LAYOUT.pack(_MAGIC, *astuple(self))
        return content + identity.sign(_DOMAIN + content)


def read_receipt(
    data: bytes, *, nonce: bytes, project: bytes, own: bytes, peer: Card
) -> Receipt | None:
    """A peer's receipt for the attempt of this nonce; None if it is anything else.

    Raises:
        RefusedError: the peer has signed what cannot be.
    """
    if len(data) != RECEIPT_BYTES:
        return None
    content, signature = data[: _LAYOUT.size], data[_LAYOUT.size :]
    magic, *fields = _LAYOUT.unpack(content)
    receipt = Receipt(*fields)
    if (magic, receipt.nonce, receipt.project) != (_MAGIC, nonce, project):
        return None
    if (receipt.by, receipt.to) != (peer.fingerprint, own) or receipt.fate not in set(Fate):
        return None
    try:
        peer.signing_key.verify(signature, _DOMAIN + content)
    except InvalidSignature:
        return None
    for where, found, most in (
        ("epoch", receipt.epoch, LAST_EPOCH),
        ("expected", receipt.expected, LARGEST_COUNT),
    ):
        if found > most:
            raise RefusedError(
                Reason.IMPOSSIBLE,
                f"a receipt of {peer.name} states what cannot be",
                sender=peer.fingerprint,
                where=where,
                found=found,
                expected=f"at most {most}",
            )
    return replace(receipt, fate=Fate(receipt.fate))
