"""A site runs in the foreground, and writes its results: at its end, or whenever it is asked to."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from securefair.collaboration.host import Role
from securefair.collaboration.observer import SiteRecord
from securefair.errors import SecureFairError
from securefair.report.files import filled_or_empty
from securefair.report.presence import PeerLife
from securefair.sites.project.agreeing import kind_in, rounds_of
from securefair.sites.project.card import utc
from securefair.sites.site.export import Results, write_results
from securefair.sites.site.folder import RESULTS, check_new_folder
from securefair.sites.site.health import Heart, LineDue, health_of
from securefair.sites.site.records import (
    learned_from,
    rounds_away,
    rounds_over,
    stored_records,
)
from securefair.sites.site.renewing import settings_in
from securefair.sites.site.samples import groups_by
from securefair.sites.site.starting import carried, open_site
from securefair.sites.site.stopping import Stop
from securefair.storage import Secret


def run_site(
    folder: Path, passphrase: Secret, say: Callable[[str, Mapping[str, object]], None], stop: Stop
) -> tuple[int, Results]:
    """Run a site in earnest, in the foreground, until its rounds are over or it is stopped.

    Args:
        folder: of the site.
        passphrase: of its keystore.
        say: writes a line of the log, a sentence and its facts; no patient, model or released
            number is in one. As waiting for peers begins and ends, and at least once an hour,
            unless something is being computed.
        stop: is looked at before every turn, and ends a wait; what is computed is ended first.

    Returns:
        Rounds of the project, and the site's own results.

    Raises:
        SecureFairError: it cannot begin or go on; says why in one sentence.
        KeyboardInterrupt: it was asked to stop.
    """
    with open_site(folder, passphrase) as opened, carried(folder, opened) as door:
        stop.wakes(opened.post.announce)
        rounds = rounds_of(opened.project.terms)
        with opened.store.view() as tx:
            over = rounds_over(stored_records(tx))
        name = opened.settings.name
        say(f"{name}: {over} of {rounds} rounds are over", {"rounds_over": over, "rounds": rounds})
        early: list[bool] = []  # results were written before the end
        heart, due = Heart(folder), LineDue(opened.site.state.since, time.monotonic())

        def beat() -> None:
            stop.check()
            working = bool(opened.site.machine.memory.running)
            courier = door.unvisited, opened.post.ways.hindrance
            heart.beat(time.time(), *courier, working=working)
            site = opened.site
            if site.finished and site.state.since and not early:  # it may wait for long
                early.append(True)
                heart.beat(time.time(), *courier, working=True)
                with contextlib.suppress(SecureFairError, OSError):  # the end tells it
                    written()
            if due(site.state.since, time.monotonic(), courier[1]):
                with opened.store.view() as tx:
                    about = (opened.project, opened.settings)
                    health = health_of(folder, tx, *about, runs=True, now=time.time())
                say(f"{utc(time.time())}: {health.summary}", msgspec.structs.asdict(health))

        def written() -> Results:
            with opened.store.view() as tx:
                data = settings_in(folder, tx).data
            return write_results(
                folder / RESULTS,
                opened.project,
                opened.own,
                opened.store,
                seed=opened.seed,
                data=data,
                columns=opened.settings.columns,
                role=opened.settings.role,
                agreement=opened.agreement,
            )

        def round_over(round: int) -> None:
            text = f"{utc(time.time())}: round {round + 1} of {rounds} is over"
            say(text, {"rounds_over": round + 1, "rounds": rounds})

        opened.site.run(round_over, beat)
        with opened.store.view() as tx:
            records = stored_records(tx)
        kind, role = kind_in(opened.project.terms), opened.settings.role
        for line, facts in ending_of(records, role, learns=kind.learns):
            say(line, facts)
        return rounds, written()


def ending_of(
    records: Sequence[SiteRecord], role: Role, *, learns: bool
) -> Iterator[tuple[str, Mapping[str, object]]]:
    """What an operator must not overlook at the end, lines of the log.

    A site that only teaches waits for nobody: whom it had not heard of as its round ended may have
    asked it later, and nothing was to come.

    Args:
        records: of its rounds.
        role: of the site.
        learns: whether its model is to rest on peers.
    """
    if role == "teacher":
        return
    for peer, away in rounds_away(records).items():
        line = f"{peer} was {PeerLife.AWAY} in {away} of {len(records)} rounds"
        yield line, {"peer": peer, "away": away}
    if not learned_from(records):
        alone = ": the model is of this site's patients alone" if learns else ""
        yield f"NOTHING CAME FROM ANY PEER{alone}", {}


def export_site(folder: Path, passphrase: Secret, out: Path, *, by: Sequence[str] = ()) -> Results:
    """Write a stopped site's model and report into a new folder.

    Groups of its patients, by columns of its table, are for scores of peers' models.

    Raises:
        StorageError: the folder holds something, the site runs, or no round is over.
        SecureFairError: the site's folder cannot be read.
    """
    check_new_folder(out)
    with open_site(folder, passphrase, at_any_time=True) as opened:
        check_new_folder(out)  # still: what fails below takes all with it that is in the folder
        with filled_or_empty(out):
            return write_results(
                out,
                opened.project,
                opened.own,
                opened.store,
                seed=opened.seed,
                data=opened.settings.data,
                columns=opened.settings.columns,
                role=opened.settings.role,
                agreement=opened.agreement,
                groups=groups_by(opened.own, by, opened.settings),
            )
