"""What must hold before a site starts: a line for each thing that was found in order."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import closing, nullcontext
from pathlib import Path

import numpy as np

from securefair.collaboration.agreement import Agreement
from securefair.collaboration.private import checked_target
from securefair.data import ParticipantData, Samples
from securefair.data.findings import Finding, place_of, said_of
from securefair.errors import StorageError
from securefair.report.wording import further_line, sensitivity_of
from securefair.sites.couriers.register import courier_of
from securefair.sites.post.peers import read_peer, refusals
from securefair.sites.post.proof import RECOVER
from securefair.sites.project.agreeing import (
    check_agreement,
    classes_of,
    disclosure_of,
    kind_in,
    rounds_of,
)
from securefair.sites.project.card import utc
from securefair.sites.project.project import Project
from securefair.sites.site.folder import (
    KEYS,
    SEED,
    STORE,
    identity_of,
    project_of,
    read_settings,
)
from securefair.sites.site.format import check_format
from securefair.sites.site.hosting import stored_host
from securefair.sites.site.records import peers_of, state_in, stored_records
from securefair.sites.site.renewing import Taken, samples_begun, samples_next, taken_in
from securefair.sites.site.samples import SHOWN_BY_CHECK, own_findings, unquoted
from securefair.sites.site.starting import check_stays, weights_seed
from securefair.storage import Access, Keystore, Secret, Store
from securefair.storage.generation import check_newest

ROOM = 4
"""Times the largest upload of all peers together that must be free on the disk."""


def check_site(folder: Path, passphrase: Secret, *, quoting: bool = True) -> Iterator[str]:
    """Check a site's folder.

    Args:
        folder: of the site.
        passphrase: of its keystore.
        quoting: whether lines and errors may quote cells of the own table, as no log may.

    Raises:
        SecureFairError: something is not in order; one sentence says what.
    """
    settings, project = read_settings(folder), project_of(folder)
    yield f"project {project.terms.project.name}: signed by {', '.join(project.names)}"
    now = time.time()
    project.check_time(now)
    yield f"clock: {utc(now)}, project until {utc(project.terms.valid_until)}"
    agreement = check_agreement(project)
    wording, rounds = kind_in(project.terms).wording, rounds_of(project.terms)
    yield f"plan: {wording.title}, rounds: {rounds}; {agreement.summary}"
    most = disclosure_of(project.terms)
    yield f"disclosure: at most {most.student_total} numbers to one, {most.teacher_total} to all"
    with closing(Keystore.open(folder / KEYS, passphrase)) as keys:
        identity_of(keys, project, settings.name)
        taken = _read_store(folder, project, settings.name, keys)
        seed = weights_seed(keys.get(SEED))
    yield f"keys: of {settings.name}"
    with nullcontext() if quoting else unquoted():
        with Store.open(folder / STORE, access=Access.READ) as store:
            data = samples_begun(settings, project.terms, seed, taken, store)
        if settings.renewals[taken.number :]:  # which a start reads as well
            samples_next(settings, project.terms, seed, taken.number, data)
        settings = settings.at(taken.number)
        kind_in(project.terms).check_own(agreement, data)
        if settings.ledger is not None:
            kind_in(project.terms).check_told(agreement, data, settings.ledger)
    yield f"data: {len(data.train)} training and {len(data.test)} test samples"
    if settings.columns:
        names = [str(one["name"]) for one in settings.columns]
        yield further_line(settings.name, names)
    for one in own_findings(settings.name, settings.data, project.terms, settings.columns):
        if one.severity != "note":
            yield f"WARNING: {said_of(one) if quoting else _unquoted(one)}"
    said = sensitivity_of(classes_of(project.terms), table=False)
    if said:
        yield f"scores: {said}"
    yield from _warnings(project, agreement, data)
    private = project.terms.config.privacy
    if private is not None:
        patients, target = checked_target(data, private)
        yield (
            f"privacy: a private fit answers, epsilon {target.epsilon:g} and delta "
            f"{target.delta:g} for each of {patients.count} patients"
        )
    Store.open(folder / STORE, create=False).close()  # brings it up to date
    needed = ROOM * agreement.limits.largest_frame * len(project.names)
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise StorageError(
            "there is too little room on the disk",
            where=str(folder),
            found=f"{free / 1e6:.0f} MB",
            expected=f"{needed / 1e6:.0f} MB",
            passing=True,
        )
    yield f"disk: {free / 1e9:.1f} GB free"
    courier = courier_of(settings.courier.kind)
    yield f"courier: {courier.check(settings.courier, folder, settings.name)}"


def _unquoted(finding: Finding) -> str:
    """Where something was found and of what kind, whose message may quote cells."""
    what = finding.kind.replace("_", " ")
    return f"{place_of(finding) or 'the table'}: {what}; {SHOWN_BY_CHECK}"


def _read_store(folder: Path, project: Project, name: str, keys: Keystore) -> Taken:
    """Read all that a start reads, so that a damaged or older store is told before it."""
    with Store.open(folder / STORE, access=Access.READ) as store:
        store.check_whole()
        with store.view() as tx:
            check_format(tx, str(folder))
            check_stays(tx, folder)
            check_newest(tx, keys, where=str(store.folder), hint=RECOVER)
            peers = peers_of(tx, project, name)
            for peer in peers:
                read_peer(tx, peer)
            refusals(tx)
            state_in(tx)
            stored_records(tx)
            taken = taken_in(tx)
        stored_host(store, peers, None)
    return taken


def _warnings(project: Project, agreement: Agreement, own: ParticipantData) -> Iterator[str]:
    """What may surprise; peers are taken to bring as many samples as they may."""
    everyone = [own if name == own.name else _largest(name, own, project) for name in project.names]
    forecast = kind_in(project.terms).forecast(agreement, everyone)
    for warning in forecast.warnings:
        yield f"WARNING: {warning}"


def _largest(name: str, own: ParticipantData, project: Project) -> ParticipantData:
    """A peer with as many samples as it may bring, and nothing in them."""
    count = project.terms.project.max_samples
    known = own.train.values
    samples = Samples(
        np.broadcast_to(np.zeros(()), (count, *own.train.common.features.shape[1:])),
        np.arange(count) % own.train.classes,
        own.train.classes,
        outcome=own.train.outcome,
        values=None if known is None else known[np.arange(count) % len(known)],
    )
    return ParticipantData(name, samples, samples)
