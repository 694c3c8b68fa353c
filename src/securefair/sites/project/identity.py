"""A participant's identity: the private halves of its card's keys.

They sign and open; they are never sent and never print. At rest they lie in the keystore.
"""

from __future__ import annotations

import re
import unicodedata

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from securefair.errors import ConfigError, DataError
from securefair.sites.project.card import CARD_FORMAT, KEY_BYTES, NAME, Card, card_of

VALID_SECONDS = 2 * 365 * 86_400
"""How long a new card is valid."""

SUITE = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.CHACHA20_POLY1305)
"""RFC 9180, single shot: every sealing has an ephemeral key of its own, so no nonce is kept."""


class Identity:
    """The keys of one participant.

    Args:
        card: its public half.
        signing: Ed25519 private key.
        sealing: X25519 private key.

    Raises:
        DataError: the keys are not those of the card.
    """

    def __init__(self, card: Card, signing: Ed25519PrivateKey, sealing: X25519PrivateKey) -> None:
        publics = (
            signing.public_key().public_bytes_raw(),
            sealing.public_key().public_bytes_raw(),
        )
        if publics != (card.signing, card.sealing):
            raise DataError("these private keys belong to another card", where=card.name)
        self.card = card
        self._signing = signing
        self._sealing = sealing

    @classmethod
    def generate(cls, name: str, *, now: float, seconds: int = VALID_SECONDS) -> Identity:
        """New keys from the operating system's entropy, and their card.

        Args:
            name: of the participant.
            now: seconds since 1970; the card is valid from an hour before, as clocks differ.
            seconds: how long it is valid.

        Raises:
            ConfigError: the name cannot be used.
        """
        if NAME.fullmatch(name) is None:
            raise ConfigError(
                "a participant's name cannot be used",
                where="name",
                found=name[:80],
                expected="up to 64 letters A to Z without accents, digits, dots, dashes and "
                "underscores",
                hint=_plainly(name),
            )
        signing, sealing = Ed25519PrivateKey.generate(), X25519PrivateKey.generate()
        card = Card(
            format=CARD_FORMAT,
            name=name,
            signing=signing.public_key().public_bytes_raw(),
            sealing=sealing.public_key().public_bytes_raw(),
            valid_from=max(0, int(now) - 3600),
            valid_until=int(now) + seconds,
        )
        signed = msgspec.structs.replace(card, signature=signing.sign(card.statement))
        return cls(signed, signing, sealing)

    @classmethod
    def restore(cls, card: Card, secrets: bytes) -> Identity:
        """The identity that `secrets` was taken of.

        Raises:
            DataError: these are not the private keys of that card.
        """
        if len(secrets) != 2 * KEY_BYTES:
            raise DataError("these are no private keys", found=f"{len(secrets)} bytes")
        return cls(
            card,
            Ed25519PrivateKey.from_private_bytes(secrets[:KEY_BYTES]),
            X25519PrivateKey.from_private_bytes(secrets[KEY_BYTES:]),
        )

    def secrets(self) -> bytes:
        """Both private keys, for the keystore and nobody else."""
        return self._signing.private_bytes_raw() + self._sealing.private_bytes_raw()

    def __repr__(self) -> str:
        """Secrets never print."""
        return f"Identity({self.card.name}, redacted)"

    def sign(self, statement: bytes) -> bytes:
        """Ed25519 over a statement that begins with a domain of its own."""
        return self._signing.sign(statement)

    def open(self, sealed: bytes, info: bytes) -> bytes | None:
        """What was sealed for this participant under the same `info`; None if it was not."""
        try:
            return SUITE.decrypt(sealed, self._sealing, info=info)
        except (InvalidTag, ValueError):
            return None


def read_card(table: object, *, where: str) -> Card:
    """A card from a TOML document that has a [card] table.

    Raises:
        DataError: there is none, or it was altered.
    """
    card = table.get("card") if isinstance(table, dict) else None
    if not isinstance(card, dict):
        raise DataError("this file holds no card", where=where, expected="a [card] table")
    return card_of(card, where=where)


_GERMAN = str.maketrans(
    {"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "ß": "ss", " ": "-"}
)


def _plainly(name: str) -> str:
    """How a name may be spelt, so that it is the same on every keyboard and in every file."""
    plain = unicodedata.normalize("NFKD", name.translate(_GERMAN))
    spelt = re.sub(r"[^A-Za-z0-9._-]+", "", plain).strip("._-")[:64]
    return (
        f"Such as {spelt}: it names files on every site's machine"
        if NAME.fullmatch(spelt)
        else "Choose a short name"
    )
