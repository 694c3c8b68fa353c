"""A rehearsal: real site processes with real identities on this machine, killed and disturbed.

The hospitals of the packaged heart disease data run a project, each in a process of its own with
its own store. Meanwhile sites are killed (SIGKILL) and started again, and couriers fail. Afterwards
every decision, and every site's model, is compared with the same participants in one process.
"""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from string import ascii_lowercase, ascii_uppercase
from typing import Any

import msgspec
import numpy as np

from securefair.collaboration.kinds import REGISTERED, default_algorithm, kind_of, narrowed
from securefair.config import defaults, demo_config
from securefair.data import ParticipantData
from securefair.errors import ConfigError
from securefair.protocol.messages import PROTOCOL_VERSION
from securefair.sites.couriers.interface import CourierSettings
from securefair.sites.couriers.register import courier_of, rehearsed_couriers
from securefair.sites.operator.making import new_project
from securefair.sites.project.agreeing import rounds_of
from securefair.sites.project.identity import Identity
from securefair.sites.project.project import Project
from securefair.sites.project.terms import project_sections
from securefair.sites.rehearsal.elsewhere import check_kind, installed
from securefair.sites.rehearsal.expected import Expected, in_one_process, same
from securefair.sites.rehearsal.made_up import MadeUp, made_up
from securefair.sites.rehearsal.processes import Troupe
from securefair.sites.rehearsal.witness import Witness
from securefair.sites.site.folder import (
    DOOR,
    SampleFiles,
    SiteSettings,
    make_place,
)
from securefair.sites.site.samples import write_samples
from securefair.storage import KeystoreCost, Secret
from securefair.user.participants import load_participants

MAX_SITES = 32
MAX_FAULTS = 0.2
SHARED, TABLES = "shared", "tables"
SECONDS_A_ROUND = 600.0
CHEAP = KeystoreCost(log2_n=10)
"""Of keystores that exist for minutes and hold nothing of worth."""

FINE = 2.0**-18
"""Precision of a rehearsal's answers: with it decisions and models are comparable."""


class RehearsalResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a rehearsal went.

    Attributes:
        decisions_equal: every site asked and was answered as in one process, in every round, and
            its model is the same but for the error of encryption.
        rounds: that were asked for, of each site.
        kills: processes that were killed.
        lost_rounds: rounds without a record, over all sites, and records that were there before a
            kill and not after it.
        refused: envelopes that were refused, over all sites; repeats are not counted.
        seconds: of the sites, from the first start to the last end.
    """

    decisions_equal: bool
    rounds: int
    kills: int
    lost_rounds: int
    refused: int
    seconds: float

    @property
    def passed(self) -> bool:
        """Whether nothing was lost and every decision was the same."""
        return self.decisions_equal and self.lost_rounds == 0


def rehearse(
    folder: Path,
    *,
    courier: str,
    algorithm: str | None = None,
    outcome: str | None = None,
    sites: int,
    rounds: int,
    kills: int,
    faults: float,
    backend: str = defaults.BACKEND,
    beside: Path | None = None,
    limit: float = 3600.0,
) -> RehearsalResult:
    """Rehearse a collaboration of sites on this machine.

    Args:
        folder: empty; short enough for sockets. It holds the sites afterwards.
        courier: local, folder, or flare: a proof of concept of FLARE with a server and a client a
            site.
        algorithm: the kind of collaboration; None for the default of a configuration.
        outcome: what is predicted where that is no class, in made-up tables.
        sites: 2 to 32 hospitals, 26 with an outcome; from the fifth on, hospitals are divided.
        rounds: in all. Where the default takes fewer, the rest is of a kind with reputations; a
            kind that was asked for is rehearsed as often as that takes, with new identities.
        kills: how many processes are killed, spread over all.
        faults: rate of each kind of fault of the couriers, in [0, 0.2].
        backend: encryption engine.
        beside: interpreter with another version of securefair, see `Troupe`.
        limit: most seconds.

    Raises:
        ConfigError: an argument is out of range.
        SecureFairError: a site failed, or the time is over.
    """
    if courier not in rehearsed_couriers():
        raise ConfigError(
            "this courier cannot be rehearsed",
            where="courier",
            found=courier,
            expected=" or ".join(rehearsed_couriers()),
        )
    for where, found, low, high in (
        ("sites", sites, 2, MAX_SITES if outcome is None else len(ascii_lowercase)),
        ("rounds", rounds, 1, 10_000),
        ("kills", kills, 0, 10_000),
        ("faults", faults, 0, MAX_FAULTS),
    ):
        if not low <= found <= high:
            raise ConfigError("out of range", where=where, found=found, expected=f"{low} to {high}")
    spoken = PROTOCOL_VERSION
    if beside is not None:
        there = installed(beside)
        check_kind(there, algorithm or _kind(0))
        spoken = min(spoken, there.protocol)
    tables = None if outcome is None else made_up(folder / TABLES, outcome, sites)
    data = hospitals(sites) if tables is None else tables.data()
    until, results = time.monotonic() + limit, list[RehearsalResult]()
    left = rounds
    while left > 0:
        done, number = rounds - left, len(results)
        project, identities = project_between(
            data,
            algorithm or _kind(0 if tables else number),
            left,
            backend,
            rules=None if tables is None else tables.rules,
            protocol=spoken,
        )
        length = rounds_of(project.terms)  # two of a table, always
        share = kills * min(done + length, rounds) // rounds - kills * done // rounds
        place = folder / str(number)
        place.mkdir()
        shared = place / SHARED if courier_of(courier).shares else None
        if shared is not None:
            shared.mkdir()
        make_places(place, data, project, identities, courier, shared=shared, tables=tables)
        places = {own.name: place / own.name for own in data}
        expected = in_one_process(project, data, length, number)
        troupe = Troupe(place, project.names, number, faults, length, Witness(), beside=beside)
        with relay_of(courier, place, places):
            results.append(_play(troupe, data, expected, share, until))
        left -= length
    return RehearsalResult(
        decisions_equal=all(one.decisions_equal for one in results),
        rounds=rounds - left,
        kills=sum(one.kills for one in results),
        lost_rounds=sum(one.lost_rounds for one in results),
        refused=sum(one.refused for one in results),
        seconds=round(sum(one.seconds for one in results), 1),
    )


def relay_of(
    courier: str, folder: Path, sites: Mapping[str, Path]
) -> contextlib.AbstractContextManager[object]:
    """What a courier needs besides the sites, for a block."""
    beside = courier_of(courier).beside
    if beside is None:
        return contextlib.nullcontext()
    module, _, name = beside.partition(":")
    started: contextlib.AbstractContextManager[object] = getattr(import_module(module), name)(
        folder, sites
    )
    return started


def _play(
    troupe: Troupe,
    data: Sequence[ParticipantData],
    expected: Expected,
    kills: int,
    until: float,
) -> RehearsalResult:
    """One collaboration."""
    started = time.monotonic()
    troupe.play(kills, expected.envelopes, until)
    seconds = time.monotonic() - started
    written = {name: troupe.records(name) for name in troupe.names}
    return RehearsalResult(
        decisions_equal=all(
            [own.decisions for own in written[one.name]]
            == [own.decisions for own in expected.records[one.name]]
            and same(troupe.model(one.name), expected.hosts[one.name].model(), one.test)
            for one in data
        ),
        rounds=troupe.rounds,
        kills=troupe.kills,
        lost_rounds=sum(troupe.rounds - len(records) for records in written.values()) + troupe.lost,
        refused=troupe.refused(),
        seconds=seconds,
    )


def _kind(number: int) -> str:
    """What is rehearsed first, and what the rounds that are left are of."""
    if number == 0:
        return default_algorithm()
    return reputation_kind()


def reputation_kind() -> str:
    """A kind of collaboration of many rounds in which reputations decide."""
    return next(name for name in REGISTERED if kind_of(name).wording.reputations)


def hospitals(count: int) -> list[ParticipantData]:
    """Patients of so many hospitals; from the fifth on, hospitals are divided."""
    everyone = load_participants(demo_config(), 0)
    pieces = -(-count // len(everyone))
    if pieces > 1:
        everyone = [piece for own in everyone for piece in _divided(own, pieces)]
    return [
        ParticipantData(own.name.replace(" ", "-"), own.train, own.test) for own in everyone[:count]
    ]


def _divided(own: ParticipantData, pieces: int) -> Iterator[ParticipantData]:
    for at, suffix in enumerate(ascii_uppercase[:pieces]):
        parts = (own.train, own.test)
        train, test = (part.take(np.arange(at, len(part), pieces)) for part in parts)
        yield ParticipantData(f"{own.name} {suffix}", train, test)


def project_between(
    data: Sequence[ParticipantData],
    algorithm: str,
    rounds: int,
    backend: str,
    *,
    rules: Mapping[str, Any] | None = None,
    known: Mapping[str, Identity] | None = None,
    now: float | None = None,
    days: int = 7,
    round_seconds: float = SECONDS_A_ROUND,
    protocol: int = PROTOCOL_VERSION,
) -> tuple[Project, dict[str, Identity]]:
    """A project that all have signed, and their identities.

    Args:
        data: of the hospitals.
        algorithm: the kind of collaboration.
        rounds: that it takes, where its kind does not say so.
        backend: encryption engine.
        rules: of tables, a section [table]; None: samples are numbers.
        known: identities of hospitals that have one.
        now: seconds since 1970; None for this machine's.
        days: that the project may run.
        round_seconds: deadline of a round.
        protocol: version that all sites speak.
    """
    settings = project_sections(narrowed(demo_config(), algorithm))
    now = time.time() if now is None else now
    new = {own.name: Identity.generate(own.name, now=now) for own in data}
    identities = {name: (known or {}).get(name, one) for name, one in new.items()}
    if "rounds" in settings.get("training", {}):
        settings["training"]["rounds"] = rounds
    if "q" in settings.get("distillation", {}):
        fewest = min(len(own.train) for own in data)
        settings["distillation"]["q"] = min(settings["distillation"]["q"], fewest - 1)
    settings["encryption"]["backend"] = backend
    # Fine, so that noise of answers, which no two processes share, hides no difference.
    if "precision" in settings["encryption"]:
        settings["encryption"]["precision"] = FINE
    settings.pop("disclosure", None)
    if rules is not None:
        settings["table"] = dict(rules)
    project = new_project(
        "rehearsal",
        [identity.card for identity in identities.values()],
        settings,
        algorithm=algorithm,
        max_samples=max(len(own.train) for own in data),
        features=data[0].train.features.shape[1] if rules is None else None,
        classes=data[0].train.classes if rules is None else None,
        round_seconds=round_seconds,
        now=now,
        days=days,
        protocol=protocol,
    )
    for identity in identities.values():
        project = project.signed(identity)
    return project, identities


def make_places(
    folder: Path,
    data: Sequence[ParticipantData],
    project: Project,
    identities: dict[str, Identity],
    courier: str,
    *,
    shared: Path | None = None,
    tables: MadeUp | None = None,
) -> None:
    """Make the folders of all sites.

    Args:
        folder: that holds them, and the file of their passphrase.
        data: of the hospitals.
        project: signed by all.
        identities: by name.
        courier: of all.
        shared: folder of the courier, where it needs one.
        tables: files of the data; None: arrays are written.
    """
    passphrase = secrets.token_urlsafe(32)
    path = folder / "passphrase"
    path.touch(mode=0o600)
    path.write_text(passphrase, encoding="ascii")
    going = courier_of(courier).doors
    doors = {own.name: str(folder / own.name / DOOR) for own in data} if going else {}
    for own in data:
        if tables is None:
            files = write_samples(folder, own, own.name)
        else:
            train, test = map(str, tables.files(own.name))
            files = SampleFiles(data=train, test_data=test)
        settings = SiteSettings(
            name=own.name,
            data=files.data,
            test_data=files.test_data,
            courier=CourierSettings(
                kind=courier,
                folder=None if shared is None else str(shared),
                doors={peer: door for peer, door in doors.items() if peer != own.name},
            ),
        )
        make_place(
            folder / own.name,
            settings,
            project,
            identities[own.name],
            Secret(passphrase.encode()),
            cost=CHEAP,
        )
