"""A rehearsal: real site processes with real identities on this machine, killed and disturbed.

The hospitals of the packaged heart disease data run a project of a few rounds, each in a process of
its own with its own store. Meanwhile sites are killed (SIGKILL) and started again, and couriers
fail. Afterwards every decision is compared with the same run in one process.
"""

from __future__ import annotations

import random
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import numpy as np

from securefair.collaboration.distillation.run import start_run
from securefair.config import demo_config
from securefair.data import ParticipantData, Samples
from securefair.deployment.agreeing import check_agreement, disclosure_of, model_of
from securefair.deployment.identity import Identity
from securefair.deployment.making import new_project
from securefair.deployment.place import (
    DOOR,
    STORE,
    CourierSettings,
    SiteSettings,
    make_place,
)
from securefair.deployment.project import Project
from securefair.deployment.records import SiteRecord
from securefair.deployment.site import stored_records
from securefair.deployment.standing import refusals
from securefair.errors import ConfigError, SecureFairError
from securefair.records import RoundRecord
from securefair.storage import Access, Cost, Secret, Store
from securefair.user.participants import load_participants

SEED = 0
MAX_SITES = 8
MAX_FAULTS = 0.2
SECONDS_A_ROUND = 600.0
CHEAP = Cost(log2_n=10)
"""Of keystores that exist for minutes and hold nothing of worth."""

_LOOK_EVERY = 0.1


class RehearsalResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a rehearsal went.

    Attributes:
        decisions_equal: every site asked and was answered as in one process, in every round.
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


@dataclass(eq=False)
class _Troupe:
    """The processes of all sites."""

    folder: Path
    names: tuple[str, ...]
    faults: float
    running: dict[str, subprocess.Popen[str]] = field(default_factory=dict)
    kills: int = 0
    lost: int = 0

    def start(self, name: str) -> None:
        arguments = (self.folder / name, self.folder / "passphrase", SEED, self.faults)
        self.running[name] = subprocess.Popen(
            [sys.executable, "-m", "securefair.deployment.rehearsing", *map(str, arguments)],
            stderr=subprocess.PIPE,
            text=True,
        )

    def kill(self, name: str) -> None:
        before = self.finished(name)
        process = self.running.pop(name)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        self.kills += 1
        self.lost += max(0, before - self.finished(name))
        self.start(name)

    def check(self) -> None:
        """Take leave of the sites that are over.

        Raises:
            SecureFairError: one ended otherwise.
        """
        for name, process in list(self.running.items()):
            code = process.poll()
            if code is None:
                continue
            _, said = process.communicate()
            del self.running[name]
            if code:
                lines = said.strip().splitlines()
                raise SecureFairError(
                    "a site of the rehearsal failed",
                    where=name,
                    found=lines[-1] if lines else f"exit code {code}",
                )

    def records(self, name: str) -> list[SiteRecord]:
        place = self.folder / name / STORE
        if not (place / "store.sqlite").exists():
            return []
        with Store.open(place, access=Access.READ) as store, store.view() as tx:
            return stored_records(tx)

    def finished(self, name: str) -> int:
        return len(self.records(name))

    def refused(self, name: str) -> int:
        with (
            Store.open(self.folder / name / STORE, access=Access.READ) as store,
            store.view() as tx,
        ):
            counts = refusals(tx)
        return sum(count for what, count in counts.items() if not what.startswith("repeated"))

    def stop(self) -> None:
        for process in self.running.values():
            process.kill()
            process.communicate()


def rehearse(
    folder: Path,
    *,
    sites: int = 4,
    rounds: int = 6,
    kills: int = 5,
    faults: float = 0.03,
    backend: str = "rns",
    limit: float = 3600.0,
) -> RehearsalResult:
    """Rehearse a collaboration of sites on this machine, with the local courier.

    Args:
        folder: empty; short enough for sockets. It holds the sites afterwards.
        sites: 2 to 8 hospitals; from the fifth on, hospitals are halved.
        rounds: of the project.
        kills: how many processes are killed, at random moments.
        faults: rate of each kind of fault of the couriers, in [0, 0.2].
        backend: encryption engine.
        limit: most seconds.

    Raises:
        ConfigError: an argument is out of range.
        SecureFairError: a site failed, or the time is over.
    """
    for where, found, low, high in (
        ("sites", sites, 2, MAX_SITES),
        ("rounds", rounds, 1, 10_000),
        ("kills", kills, 0, 10_000),
        ("faults", faults, 0, MAX_FAULTS),
    ):
        if not low <= found <= high:
            raise ConfigError("out of range", where=where, found=found, expected=f"{low} to {high}")
    data = _hospitals(sites)
    project, identities = _project(data, rounds, backend)
    expected = _in_one_process(project, data)
    troupe = _Troupe(folder, project.names, faults)
    _make_places(folder, data, project, identities)
    started = time.monotonic()
    try:
        for name in troupe.names:
            troupe.start(name)
        _watch(troupe, rounds, kills, started + limit)
    finally:
        troupe.stop()
    seconds = time.monotonic() - started
    written = {name: troupe.records(name) for name in troupe.names}
    missing = sum(rounds - len(records) for records in written.values())
    return RehearsalResult(
        decisions_equal=_equal(written, expected, troupe.names),
        rounds=rounds,
        kills=troupe.kills,
        lost_rounds=missing + troupe.lost,
        refused=sum(troupe.refused(name) for name in troupe.names),
        seconds=round(seconds, 1),
    )


def _watch(troupe: _Troupe, rounds: int, kills: int, until: float) -> None:
    """Kill sites as the rounds go by, until all are over."""
    draw = random.Random(secrets.randbits(32))
    total = rounds * len(troupe.names)
    while troupe.running:
        if time.monotonic() > until:
            raise SecureFairError("the rehearsal takes too long", found=f"{troupe.kills} kills")
        time.sleep(_LOOK_EVERY * draw.random())
        troupe.check()
        progress = sum(troupe.finished(name) for name in troupe.names)
        # In the first half of the rounds: the last of them may be over in a moment.
        if troupe.kills < kills and 2 * progress * kills >= troupe.kills * total:
            unfinished = [name for name in troupe.running if troupe.finished(name) < rounds]
            if unfinished:
                time.sleep(_LOOK_EVERY * draw.random())
                troupe.kill(draw.choice(unfinished))


def _hospitals(count: int) -> list[ParticipantData]:
    everyone = load_participants(demo_config(), SEED)
    if count > len(everyone):
        everyone = [half for own in everyone for half in _halves(own)]
    return [
        ParticipantData(own.name.replace(" ", "-"), own.train, own.test) for own in everyone[:count]
    ]


def _halves(own: ParticipantData) -> Iterator[ParticipantData]:
    for at, suffix in enumerate("AB"):
        parts = (own.train, own.test)
        train, test = (
            Samples(part.features[at::2], part.labels[at::2], part.classes) for part in parts
        )
        yield ParticipantData(f"{own.name} {suffix}", train, test)


def _project(
    data: Sequence[ParticipantData], rounds: int, backend: str
) -> tuple[Project, dict[str, Identity]]:
    now = time.time()
    identities = {own.name: Identity.generate(own.name, now=now) for own in data}
    config = demo_config()
    settings = config.model_dump(
        mode="json",
        exclude_none=True,
        include={"model", "training", "distillation", "fairness", "encryption"},
    )
    settings["training"]["rounds"] = rounds
    settings["encryption"]["backend"] = backend
    project = new_project(
        "rehearsal",
        [identity.card for identity in identities.values()],
        settings,
        algorithm="cycle",
        max_samples=max(len(own.train) for own in data),
        features=data[0].train.features.shape[1],
        classes=data[0].train.classes,
        round_seconds=SECONDS_A_ROUND,
        now=now,
        days=7,
    )
    for identity in identities.values():
        project = project.signed(identity)
    return project, identities


def _in_one_process(project: Project, data: Sequence[ParticipantData]) -> list[RoundRecord]:
    config = project.terms.config
    run = start_run(
        "cycle",
        data,
        check_agreement(project),
        [model_of(config)] * len(data),
        seed=SEED,
        backend=config.encryption.backend,
        disclosure=disclosure_of(project.terms),
        audit=False,
    )
    return list(run.rounds(config.training.rounds))


def _make_places(
    folder: Path,
    data: Sequence[ParticipantData],
    project: Project,
    identities: dict[str, Identity],
) -> None:
    passphrase = secrets.token_urlsafe(32)
    path = folder / "passphrase"
    path.touch(mode=0o600)
    path.write_text(passphrase, encoding="ascii")
    doors = {own.name: str(folder / own.name / DOOR) for own in data}
    for own in data:
        for part, samples in (("train", own.train), ("test", own.test)):
            np.savez(
                folder / f"{own.name}.{part}.npz", features=samples.features, labels=samples.labels
            )
        settings = SiteSettings(
            name=own.name,
            data=str(folder / f"{own.name}.train.npz"),
            test_data=str(folder / f"{own.name}.test.npz"),
            courier=CourierSettings(
                kind="local", doors={peer: door for peer, door in doors.items() if peer != own.name}
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


def _equal(
    found: dict[str, list[SiteRecord]], expected: Sequence[RoundRecord], names: Sequence[str]
) -> bool:
    """Whether every site asked whom it asked in one process, and was answered by the same."""
    for at, name in enumerate(names):
        theirs = [
            (
                record.round,
                tuple(n for n, yes in zip(names, record.asked[at], strict=True) if yes),
                tuple(n for n, yes in zip(names, record.answered[at], strict=True) if yes),
            )
            for record in expected
        ]
        if [(own.round, own.asked, own.opened) for own in found[name]] != theirs:
            return False
    return True
