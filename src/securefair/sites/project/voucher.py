"""Vouchers: somebody whom all know signs cards, so that not every pair of hospitals telephones.

An association compares each hospital's fingerprint once, and every hospital compares the
association's: 2 N calls instead of N (N - 1) / 2. A voucher says that a card is of the hospital
of that name, and nothing else: it admits to no project, and every site still signs. Whoever takes
vouchers believes the association that much: with its keys, somebody may pass for a hospital.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path

from cryptography.exceptions import InvalidSignature

from securefair.config.writing import plain_toml
from securefair.errors import ConfigError, DataError
from securefair.sites.project.card import Card, bytes_of, text_of
from securefair.sites.project.identity import Identity
from securefair.storage.files import read_regular, replace_file

_DOMAIN = b"securefair voucher 1\0"
_MOST_BYTES = 4096


def voucher_file(folder: Path, card: Card, by: Card) -> Path:
    """Where the voucher of one for another's card lies."""
    return folder / f"{card.name}.{by.name}.voucher"


def write_voucher(folder: Path, card: Card, by: Identity, now: float) -> Path:
    """Vouch for a card whose fingerprint was compared; returns the file.

    Args:
        folder: where the card lies.
        card: to vouch for.
        by: who vouches.
        now: seconds since 1970.

    Raises:
        ConfigError: the card is its own.
        DataError: a card is not valid now.
        OSError: the folder cannot be written.
    """
    if card == by.card:
        raise ConfigError("nobody vouches for itself", where="card", found=card.name)
    for one in (card, by.card):
        one.check_time(now)
    signature = by.sign(_statement(card, by.card))
    table = {"card": card.fingerprint.hex(), "by": by.card.name, "signature": text_of(signature)}
    file = voucher_file(folder, card, by.card)
    replace_file(file, plain_toml(table).encode(), mode=0o666)
    return file


def is_vouched(folder: Path, card: Card, by: Card, now: float) -> bool:
    """Whether somebody has vouched for this very card, in a file of a folder that others write to.

    Args:
        folder: that the voucher lies in.
        card: of the hospital.
        by: card of who vouches, whose fingerprint was compared.
        now: seconds since 1970.

    Returns:
        False where there is no voucher.

    Raises:
        DataError: there is one that is false or cannot be read, or who vouches has a card that is
            not valid now.
    """
    by.check_time(now)
    file = voucher_file(folder, card, by)
    try:
        table = tomllib.loads(read_regular(file, _MOST_BYTES).decode())
        by.signing_key.verify(bytes_of(table.get("signature")), _statement(card, by))
    except FileNotFoundError:
        return False
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise DataError("a voucher cannot be read", where=str(file), found=str(error)) from error
    except (InvalidSignature, ValueError):
        raise DataError(
            f"{by.name} has not vouched for this card",
            where=str(file),
            found=str(table.get("card"))[:16],
            expected=card.fingerprint.hex()[:16],
            hint="It may be of an earlier card. Compare fingerprints by telephone, or ask for "
            "another voucher",
        ) from None
    return True


def unvouched(folder: Path, cards: Iterable[Card], by: Card, now: float) -> tuple[str, ...]:
    """Names of those for whose card nobody vouches.

    Raises:
        DataError: see `is_vouched`.
    """
    return tuple(
        card.name for card in cards if card != by and not is_vouched(folder, card, by, now)
    )


def _statement(card: Card, by: Card) -> bytes:
    return _DOMAIN + by.fingerprint + card.fingerprint
