"""A participant's public card: who it is, by which keys, for how long; signed by itself.

A signature by oneself proves only that the card was not altered. That it belongs to the hospital is
what two people find out who read its fingerprint to each other over the telephone.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Mapping

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey

from securefair.errors import DataError

CARD_FORMAT = 1
KEY_BYTES = 32
SIGNATURE_BYTES = 64
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""Names travel in file names, logs and other programs' configurations."""

LAST_MOMENT = 253_402_300_799
"""End of the year 9999: no date of a card or an envelope is later."""

_CARD_DOMAIN = b"securefair card 1\0"
_DIGITS = 60  # of a fingerprint that is read aloud: 199 bits


class Card(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What everybody may know of a participant.

    Attributes:
        format: of cards.
        name: letters, digits, dots, dashes and underscores; no secret.
        signing: Ed25519 public key (32 bytes).
        sealing: X25519 public key (32 bytes).
        valid_from, valid_until: seconds since 1970, UTC; from the first to before the second.
        signature: of all this, by `signing`.
    """

    format: int
    name: str
    signing: bytes
    sealing: bytes
    valid_from: int
    valid_until: int
    signature: bytes = b""

    @property
    def statement(self) -> bytes:
        """What the signature is over: a domain and the fields, in one encoding only."""
        return _CARD_DOMAIN + msgspec.msgpack.encode(
            (
                self.format,
                self.name,
                self.signing,
                self.sealing,
                self.valid_from,
                self.valid_until,
            )
        )

    @property
    def fingerprint(self) -> bytes:
        """32 bytes that stand for the card."""
        return hashlib.sha256(self.statement).digest()

    @property
    def spoken(self) -> str:
        """The fingerprint as twelve groups of five digits, to be read aloud."""
        return spoken(self.fingerprint)

    @property
    def signing_key(self) -> Ed25519PublicKey:
        """What checks this participant's signatures."""
        return Ed25519PublicKey.from_public_bytes(self.signing)

    @property
    def sealing_key(self) -> X25519PublicKey:
        """What messages to this participant are sealed with."""
        return X25519PublicKey.from_public_bytes(self.sealing)

    def check(self) -> None:
        """See that the card is well-formed and unaltered.

        Raises:
            DataError: it is not; says how.
        """
        problems: tuple[tuple[bool, str, object, object], ...] = (
            (self.format == CARD_FORMAT, "format", self.format, CARD_FORMAT),
            (
                NAME.fullmatch(self.name) is not None,
                "name",
                self.name[:80],
                "up to 64 letters A to Z, digits, dots, dashes and underscores",
            ),
            (len(self.signing) == KEY_BYTES, "signing", len(self.signing), KEY_BYTES),
            (len(self.sealing) == KEY_BYTES, "sealing", len(self.sealing), KEY_BYTES),
            (
                0 <= self.valid_from < self.valid_until <= LAST_MOMENT,
                "valid_until",
                self.valid_until,
                "after valid_from",
            ),
        )
        for holds, where, found, expected in problems:
            if not holds:
                raise DataError(
                    "this is not a card", where=f"card.{where}", found=found, expected=expected
                )
        try:
            self.signing_key.verify(self.signature, self.statement)
        except InvalidSignature:
            raise DataError(
                "the card was altered: its signature does not fit",
                where=f"card of {self.name}",
                hint="Ask for the card again",
            ) from None

    def check_time(self, now: float) -> None:
        """See that the card is valid at `now`, in seconds since 1970.

        Raises:
            DataError: not yet, or no longer.
        """
        if now < self.valid_from:
            raise DataError(
                "the card is not valid yet",
                where=f"card of {self.name}",
                found=f"clock {utc(now)}",
                expected=f"{utc(self.valid_from)} or later",
                hint="Check this machine's clock",
            )
        if now >= self.valid_until:
            raise DataError(
                "the card has expired",
                where=f"card of {self.name}",
                found=f"clock {utc(now)}",
                expected=f"before {utc(self.valid_until)}",
                hint="Check this machine's clock; else make a new identity and sign the project "
                "again",
            )

    def table(self) -> dict[str, object]:
        """The card as keys and values of a TOML file."""
        return {
            "format": self.format,
            "name": self.name,
            "signing": text_of(self.signing),
            "sealing": text_of(self.sealing),
            "valid_from": self.valid_from,
            "valid_until": self.valid_until,
            "signature": text_of(self.signature),
        }


def card_of(table: Mapping[str, object], *, where: str) -> Card:
    """The card that `Card.table` wrote, checked.

    Raises:
        DataError: it is none, or was altered.
    """
    try:
        plain = msgspec.convert(
            {
                key: bytes_of(value) if key in ("signing", "sealing", "signature") else value
                for key, value in table.items()
            },
            Card,
        )
    except (msgspec.ValidationError, ValueError) as error:
        raise DataError("this is not a card", where=where, found=str(error)) from error
    plain.check()
    return plain


def spoken(fingerprint: bytes) -> str:
    """A fingerprint as twelve groups of five digits."""
    digits = str(int.from_bytes(fingerprint, "big") % 10**_DIGITS).zfill(_DIGITS)
    return " ".join(digits[at : at + 5] for at in range(0, _DIGITS, 5))


def text_of(data: bytes) -> str:
    """Bytes as base64 text."""
    return base64.b64encode(data).decode("ascii")


def bytes_of(text: object) -> bytes:
    """Base64 text as bytes.

    Raises:
        ValueError: it is no base64 text.
    """
    if not isinstance(text, str):
        raise ValueError("base64 text is expected")
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from error


def utc(seconds: float) -> str:
    """A moment as people write it; the last one that a calendar has for what lies beyond."""
    import datetime

    within = int(min(max(seconds, 0), LAST_MOMENT))
    moment = datetime.datetime.fromtimestamp(within, tz=datetime.UTC)
    return moment.strftime("%Y-%m-%d %H:%M UTC")
