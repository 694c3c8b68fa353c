"""Quotes: who has an envelope proves with a few bytes of it that its sender made it.

    header      of the envelope, as it travelled
    content     SHA-512 of what was sealed
    signature   the sender's, over both

A receipt quotes the newest envelope and the one before. So a site believes of its own store what
it signed itself, and no word of anybody else: without a quote "your store was lost" is a claim.
"""

from __future__ import annotations

from cryptography.exceptions import InvalidSignature

from securefair.sites.post.envelope import (
    HEADER_BYTES,
    LARGEST_COUNT,
    Header,
    content_digest,
    read_header,
    statement,
)
from securefair.sites.post.refusals import RefusedError
from securefair.sites.project.card import SIGNATURE_BYTES, Card

CONTENT_BYTES = 64
QUOTE_BYTES = HEADER_BYTES + CONTENT_BYTES + SIGNATURE_BYTES
NO_QUOTE = bytes(QUOTE_BYTES)
"""Stands where there is no envelope to quote."""


def quote_of(envelope: bytes) -> bytes:
    """What proves that this envelope was made."""
    view = memoryview(envelope)
    content = content_digest(view[HEADER_BYTES:-SIGNATURE_BYTES])
    return envelope[:HEADER_BYTES] + content + envelope[-SIGNATURE_BYTES:]


def header_of(quote: bytes) -> Header | None:
    """The header that is quoted; None for `NO_QUOTE`. Whether it was signed is not checked."""
    return None if quote in (b"", NO_QUOTE) else read_header(quote, limit=LARGEST_COUNT)


def quoted_header(quote: bytes, *, signer: Card, recipient: bytes, project: bytes) -> Header | None:
    """The header of an envelope that a card's owner signed, for this recipient and project.

    Args:
        quote: QUOTE_BYTES from a peer.
        signer: who should have made the envelope.
        recipient: fingerprint of whom it was for.
        project: digest of the project.

    Returns:
        None: it quotes nothing that the signer made for that recipient.
    """
    try:
        header = header_of(quote)
        if header is None or len(quote) != QUOTE_BYTES:
            return None
        start, content = quote[:HEADER_BYTES], quote[HEADER_BYTES:-SIGNATURE_BYTES]
        signer.signing_key.verify(quote[-SIGNATURE_BYTES:], statement(start, content))
    except (RefusedError, InvalidSignature):
        return None
    known = (header.sender, header.recipient, header.project)
    return header if known == (signer.fingerprint, recipient, project) else None
