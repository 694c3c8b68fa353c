"""A site's folder: its settings, its project, its keys and its store.

FOLDER/            mode 0700
  site.toml        name, data and courier
  project.toml     signed by everybody
  keys             keystore: identity, keys as a student, private seed
  store/           everything that the site remembers
  door             socket of its couriers, while it runs
  over             there once the rounds are over
  results/         own model and report, once the rounds are over
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, get_args

import msgspec

from securefair.collaboration.host import Role
from securefair.collaboration.told import ToldFile
from securefair.config import defaults
from securefair.config.writing import plain_toml
from securefair.errors import ConfigError, DataError, StorageError
from securefair.report.files import no_empty_folder
from securefair.sites.couriers.interface import CourierSettings
from securefair.sites.couriers.register import courier_of
from securefair.sites.post.door import check_path
from securefair.sites.project.agreeing import check_agreement, kind_in
from securefair.sites.project.identity import Identity
from securefair.sites.project.project import Project, load_project
from securefair.storage import Keystore, KeystoreCost, Secret, Store
from securefair.storage.files import private_folder, write_private
from securefair.storage.keystore import check_keystore

IDENTITY, STUDENT_KEYS, SEED = "identity", "student keys", "private seed"
"""Entries of the keystore."""

SITE, PROJECT, KEYS, STORE, DOOR = "site.toml", "project.toml", "keys", "store", "door"
ERASED = "erased.json"
RESULTS, OVER = "results", "over"


class SampleFiles(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """Samples with which a site goes on; see `SiteSettings`."""

    data: str
    test_data: str | None = None


class SiteSettings(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """site.toml; what is not said is not written, so that an earlier version reads it.

    Attributes:
        name: of this participant.
        data: its samples, .csv, .parquet or .npz.
        test_data: to test on; without it a part of `data` is held out.
        teacher: what answers peers instead of a fit, as `participants.teacher`; None: a fit does.
        role: both, or only teacher or student, where the kind of collaboration has them.
        courier: how parcels reach the peers.
        columns: rules of columns that others need not have, as `participants.columns`.
        device: what computes on ciphertexts here, as `encryption.device`.
        tick_seconds: messages leave at multiples of so many seconds; 0: at once.
        told: file in which this hospital notes what it tells in descriptions, in all its projects.
        again: it agrees to tell what differs from an earlier description.
        renewals: samples with which it went on later, or will at the next round (`renewing`).
    """

    name: str
    data: str
    test_data: str | None = None
    teacher: str | None = None
    role: Role = "both"
    courier: CourierSettings
    columns: tuple[dict[str, Any], ...] = ()
    device: str = defaults.PROCESSOR
    tick_seconds: Annotated[int, msgspec.Meta(ge=0, le=3600)] = 0
    told: str | None = None
    again: bool = False
    renewals: tuple[SampleFiles, ...] = ()

    @property
    def ledger(self) -> ToldFile | None:
        """Of descriptions."""
        return None if self.told is None else ToldFile(Path(self.told), self.name, again=self.again)

    def at(self, renewal: int) -> SiteSettings:
        """With the samples after so many renewals; 0: those of the beginning.

        Raises:
            ConfigError: the file does not name them any more.
        """
        if renewal > len(self.renewals):
            raise ConfigError(
                "the samples that this site went on with are not named any more",
                where=f"{SITE}, renewals",
                found=f"{len(self.renewals)} renewals",
                expected=f"at least {renewal}",
            )
        if renewal == 0:
            return self
        files = self.renewals[renewal - 1]
        return msgspec.structs.replace(self, data=files.data, test_data=files.test_data)

    def with_next(self, renewal: int, files: SampleFiles) -> SiteSettings:
        """With what comes after so many renewals; one that still waits is replaced."""
        return msgspec.structs.replace(self, renewals=(*self.renewals[:renewal], files))


def read_settings(folder: Path) -> SiteSettings:
    """The settings of a site's folder.

    Raises:
        ConfigError: there is no site, it was erased, or the file cannot be used.
    """
    path = folder / SITE
    if (folder / ERASED).exists():
        raise ConfigError(
            "this site was erased",
            where=str(folder),
            hint=f"{folder / ERASED} says when; `securefair site init` makes another",
        )
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        settings = msgspec.convert(table, SiteSettings)
    except FileNotFoundError:
        raise ConfigError(
            "there is no site in this folder",
            where=str(folder),
            hint="`securefair site init` makes one; so does `securefair site join`, once everybody "
            "has signed",
        ) from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise ConfigError(
            "the site's settings cannot be used",
            where=str(path),
            found=str(error),
            hint="Put a copy of the file back; where there is none, `securefair site init` into "
            "another folder writes it anew",
        ) from error
    if any("\0" in one for one in _paths(settings)):
        raise ConfigError("no path has a NUL character", where=str(path))
    courier_of(settings.courier.kind)
    return settings


def _paths(settings: SiteSettings) -> Iterator[str]:
    """All that it names files and folders by."""
    courier = settings.courier
    named: tuple[SiteSettings | SampleFiles, ...] = (settings, *settings.renewals)
    for files in named:
        yield from (files.data, files.test_data or "")
    yield from (settings.teacher or "", settings.told or "", courier.folder or "")
    yield from courier.doors.values()


def write_settings(folder: Path, settings: SiteSettings) -> None:
    """Replace the settings of a site's folder."""
    write_private(folder / SITE, plain_toml(_without_none(msgspec.to_builtins(settings))).encode())


def check_site_keys(folder: Path) -> None:
    """See that a site's keys lie where they should, before anybody types a passphrase for them.

    Raises:
        StorageError: something else does, or nothing.
    """
    check_keystore(
        folder / KEYS,
        expected="the keys of this site",
        hint="Put its newest copy back; where there is none, `securefair site init` with "
        "the same identity into another folder, then `securefair site recover` there",
    )


def make_place(
    folder: Path,
    settings: SiteSettings,
    project: Project,
    identity: Identity,
    passphrase: Secret,
    *,
    cost: KeystoreCost | None = None,
) -> None:
    """Make a site's folder; everything is checked before the first byte is written.

    Args:
        folder: empty or missing.
        settings: of the site.
        project: signed by all.
        identity: whose card is in the project.
        passphrase: of the new keystore.
        cost: of the keystore.

    Raises:
        ConfigError: the project is not agreed on, or has another card of this name; or the folder's
            path is too long for a socket.
        StorageError: the folder holds something, or cannot be written.
    """
    project.check_signatures()
    check_agreement(project)
    if project.card(settings.name) != identity.card:
        raise ConfigError(
            "the project has another card of this name",
            where="cards",
            found=project.card(settings.name).spoken,
            expected=identity.card.spoken,
        )
    check_new_folder(folder)
    check_path(folder.absolute() / DOOR)
    with no_empty_folder(folder):
        private_folder(folder, create=True)
        secrets = {IDENTITY: Secret(bytearray(identity.secrets())), SEED: Secret.random(32)}
        Keystore.create(folder / KEYS, passphrase, cost=cost, secrets=secrets).close()
    Store.open(folder / STORE).close()
    write_private(folder / PROJECT, project.to_toml().encode())
    write_settings(folder, settings)


def check_new_folder(folder: Path) -> None:
    """Refuse to write into a folder that holds something.

    Raises:
        StorageError: it does, or is none.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise StorageError(
            "this folder is not empty" if folder.is_dir() else "this is no folder",
            where=str(folder),
            hint=f"There is a site in it, which goes on with: securefair site start {folder}"
            if (folder / SITE).is_file()
            else "Name a new folder",
        )


def identity_of(keys: Keystore, project: Project, name: str) -> Identity:
    """The identity in a site's keystore.

    Raises:
        DataError: its keys are of another card than the project's.
    """
    return Identity.restore(project.card(name), keys.get(IDENTITY).reveal())


def project_of(folder: Path) -> Project:
    """The project of a site's folder.

    Raises:
        ConfigError, DataError: it cannot be read, or was changed since it was signed.
    """
    project = load_project(folder / PROJECT)
    project.check_signatures()
    return project


def check_data_file(path: Path) -> None:
    """See that a file of samples is there.

    Raises:
        DataError: it is not.
    """
    if not path.is_file():
        raise DataError("the file of samples is missing", where=str(path), passing=True)


def _without_none(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_none(one) for key, one in value.items() if one is not None}
    return value


def checked_role(text: str, project: Project) -> Role:
    """A role that a project's kind of collaboration has.

    Raises:
        ConfigError: it has none of this name.
    """
    for role in get_args(Role):
        if text == role:
            kind_in(project.terms).check_role(role)
            found: Role = role
            return found
    raise ConfigError(
        "there is no such role", where="--role", found=text, expected=", ".join(get_args(Role))
    )
