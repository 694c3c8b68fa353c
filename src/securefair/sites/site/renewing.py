"""Other patients in a running project, from the next round, or once the last is over.

Then nobody waits for anything that rests on the earlier ones. What was let out stays counted, and
what a later answer says is counted as any answer is: limits and totals are those of the whole
project. A patient who went gives nothing back. In the store one number says how many of the tables
in site.toml were taken up, so that the process may end at any moment.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from securefair.collaboration.host import Host
from securefair.data import ParticipantData
from securefair.data.places import marks_of, placed, staying
from securefair.errors import ConfigError
from securefair.sites.project.terms import Terms
from securefair.sites.site.folder import SiteSettings, read_settings
from securefair.sites.site.notes import note
from securefair.sites.site.samples import (
    began_with,
    check_same_samples,
    note_samples,
    own_samples,
)
from securefair.storage import Store, Transaction

RENEWALS = "site renewals"
"""Of the store: how many were taken up."""

RENEWED = "renewed"
"""What the audit log calls one."""


@dataclass(frozen=True, eq=False)
class Renewal:
    """Patients with whom a site goes on at the next boundary of rounds.

    Attributes:
        data: they.
        taken_up: writes that they are, in the transaction in which they are.
    """

    data: ParticipantData
    taken_up: Callable[[Transaction], None]


class Taken(msgspec.Struct, frozen=True, kw_only=True):
    """Renewals that were taken up.

    Attributes:
        number: how many.
        trained: marks of the training samples since the last one; the others are for testing. None
            where these have a table of their own, and before the first.
    """

    number: int = 0
    trained: tuple[bytes, ...] | None = None


def taken_in(tx: Transaction) -> Taken:
    """What was taken up so far."""
    data = tx.memory.get(RENEWALS)
    return Taken() if data is None else msgspec.msgpack.decode(data, type=Taken)


def settings_in(folder: Path, tx: Transaction) -> SiteSettings:
    """A site's settings with the samples that it has now.

    Raises:
        ConfigError: see `read_settings` and `SiteSettings.at`.
    """
    return read_settings(folder).at(taken_in(tx).number)


def samples_now(
    settings: SiteSettings, terms: Terms, seed: int, taken: Taken, *, by_rows: bool = False
) -> ParticipantData:
    """A site's samples: arguments and errors as `own_samples`, after what was taken up."""
    data = own_samples(settings.at(taken.number), terms, seed, by_rows=by_rows)
    if taken.trained is None:
        return data
    return placed(data, set(taken.trained), _key(seed))


def samples_begun(
    settings: SiteSettings, terms: Terms, seed: int, taken: Taken, store: Store
) -> ParticipantData:
    """The same, which must be those that a site began with, or went on with: see
    `check_same_samples`."""
    data = samples_now(settings, terms, seed, taken)
    if data.train.patients is not None and not began_with(store, data, settings.teacher):
        data = samples_now(settings, terms, seed, taken, by_rows=True)
    check_same_samples(store, data, settings.teacher)
    return data


def samples_next(
    settings: SiteSettings, terms: Terms, seed: int, number: int, now: ParticipantData
) -> ParticipantData:
    """What comes after so many renewals; who is in the samples of now stays in its part.

    Raises:
        ConfigError: missing values are filled in by all of them: those who stay are not known.
        DataError: as `own_samples` and `staying`.
    """
    if terms.config.table is not None and terms.config.table.fill:
        raise ConfigError(
            "with other patients other values would be filled in: those who stay are not known",
            where="table.fill",
            found=True,
            expected="false, from the start of the project",
        )
    data = own_samples(settings.at(number + 1), terms, seed)
    return staying(now, data, _key(seed))


def awaited(
    settings: SiteSettings, terms: Terms, seed: int, taken: Taken, host: Host
) -> Renewal | None:
    """What is to be taken up next; None for nothing.

    Args:
        settings: of the site's folder.
        terms: what was agreed.
        seed: of what is held out.
        taken: what was taken up.
        host: the participant, which may refuse patients.

    Raises:
        DataError: a file is missing or does not keep to the rules, or the host refused.
    """
    if taken.number >= len(settings.renewals):
        return None
    data = samples_next(settings, terms, seed, taken.number, host.data)
    host.check_renewal(data)
    trained = None if data.test_rows is None else tuple(marks_of(data.train, _key(seed)))
    then = Taken(number=taken.number + 1, trained=trained)

    def taken_up(tx: Transaction) -> None:
        tx.memory.put(RENEWALS, msgspec.msgpack.encode(then))
        note_samples(tx, data, settings.teacher)
        note(tx, RENEWED, peer=data.name, number=then.number)

    return Renewal(data, taken_up)


def _key(seed: int) -> bytes:
    return seed.to_bytes(16, "big")
