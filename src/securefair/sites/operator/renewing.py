"""A hospital's patients change while its project runs: what its operator does."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from securefair.sites.project.agreeing import kind_in
from securefair.sites.site.folder import SampleFiles, read_settings, write_settings
from securefair.sites.site.hosting import has_begun
from securefair.sites.site.renewing import samples_next, taken_in
from securefair.sites.site.samples import forget_samples, own_samples
from securefair.sites.site.starting import OpenPost, OpenSite, open_post, with_samples
from securefair.storage import Secret


@dataclass(frozen=True)
class Renewed:
    """Patients with whom a site will go on.

    Attributes:
        train, test: how many.
        after: the last round that earlier ones take part in, counted from 1; 0 for none.
    """

    train: int
    test: int
    after: int


def renew(folder: Path, passphrase: Secret, files: SampleFiles) -> Renewed:
    """Let a site go on with other patients, from the next round or once the last one is over.

    Nothing changes before the site is started again. Called again before that takes effect, the
    new ones take the place of those that waited; before the site has begun, of those of `init`.

    Args:
        folder: of the site, which must not run.
        passphrase: of its keystore.
        files: of the samples, by absolute paths.

    Raises:
        SecureFairError: the site cannot be opened, the samples do not keep to what was agreed,
            too few patients changed (`privacy.membership`), or this kind goes on with no others.
    """
    with open_post(folder, passphrase) as opened:
        if not has_begun(opened.store, opened.keys):
            return _begin_with(opened, folder, files)
        return renew_opened(with_samples(opened), folder, files)


def _begin_with(opened: OpenPost, folder: Path, files: SampleFiles) -> Renewed:
    """Nothing rests on those of before: they are not looked at, and no change is counted."""
    settings = replace(
        read_settings(folder), data=files.data, test_data=files.test_data, renewals=()
    )
    kind, terms = kind_in(opened.project.terms), opened.project.terms
    found = own_samples(settings, terms, opened.seed)
    kind.check_own(opened.agreement, found)
    if settings.ledger is not None:
        kind.check_told(opened.agreement, found, settings.ledger)
    with opened.store.transaction() as tx:
        forget_samples(tx)
    write_settings(folder, settings)
    return Renewed(len(found.train), len(found.test), 0)


def renew_opened(opened: OpenSite, folder: Path, files: SampleFiles) -> Renewed:
    """The same for a site that is open."""
    with opened.store.view() as tx:
        number = taken_in(tx).number
    settings = read_settings(folder).with_next(number, files)
    found = samples_next(settings, opened.project.terms, opened.seed, number, opened.own)
    opened.host.check_renewal(found)
    write_settings(folder, settings)
    return Renewed(len(found.train), len(found.test), opened.site.machine.memory.round + 1)
