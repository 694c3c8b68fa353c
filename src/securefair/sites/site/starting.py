"""A site's folder and a passphrase -> a site that is ready to run, wherever its process ended."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import msgspec

from securefair.collaboration.agreement import Agreement
from securefair.collaboration.host import Host
from securefair.data import ParticipantData
from securefair.errors import ConfigError, SecureFairError
from securefair.report.presence import PeerLife
from securefair.sites.couriers.register import courier_of
from securefair.sites.post.clock import SteadyClock
from securefair.sites.post.door import Door
from securefair.sites.post.port import Spoil, unspoilt
from securefair.sites.post.post import Post
from securefair.sites.post.proof import RECOVER
from securefair.sites.post.settling import Correspondence
from securefair.sites.project.agreeing import check_agreement, fewest_peers, rounds_of
from securefair.sites.project.card import utc
from securefair.sites.project.project import Project
from securefair.sites.site.export import Results, write_results
from securefair.sites.site.folder import (
    DOOR,
    KEYS,
    OVER,
    RESULTS,
    SEED,
    STORE,
    SiteSettings,
    check_new_folder,
    identity_of,
    project_of,
    read_settings,
)
from securefair.sites.site.format import check_format
from securefair.sites.site.health import Heart, LineDue, health_of
from securefair.sites.site.hosting import host_of
from securefair.sites.site.records import (
    learned_from,
    note_peers,
    rounds_away,
    rounds_over,
    stored_records,
)
from securefair.sites.site.renewing import awaited, samples_now, settings_in, taken_in
from securefair.sites.site.samples import check_same_samples, groups_by
from securefair.sites.site.schedule import Timetable
from securefair.sites.site.site import LEFT, Site
from securefair.storage import Keystore, Secret, Store, Transaction, running_process
from securefair.storage.generation import Generation, advance
from securefair.worth.sharing import coin, private_coin

STOPS_WITHIN = 60.0
RECEIPTS = 20.0
"""Seconds that a site waits for the last receipts, after its last message may leave."""


@dataclass(frozen=True, kw_only=True)
class Rehearsal:
    """What a rehearsal hands to its sites, and no site in earnest takes: a common seed.

    Attributes:
        seed: of first weights and coins, so that the run can be compared with a simulation.
        spoil: what happens to hand-overs.
        wall: clock of the machine.
        monotonic: seconds that nobody can set.
        durable: see `Store.open`.
    """

    seed: int
    spoil: Spoil = unspoilt
    wall: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic
    durable: bool = True


@dataclass(frozen=True, kw_only=True)
class OpenSite:
    """A site with everything that it needs to run; its settings name the samples of its start."""

    settings: SiteSettings
    project: Project
    agreement: Agreement
    seed: int
    store: Store
    post: Post
    site: Site
    host: Host

    @property
    def own(self) -> ParticipantData:
        """Its samples now."""
        return self.host.data


@contextlib.contextmanager
def open_site(
    folder: Path,
    passphrase: Secret,
    *,
    rehearsal: Rehearsal | None = None,
    at_any_time: bool = False,
) -> Iterator[OpenSite]:
    """Open a site where its process ended, or for the first time.

    Args:
        folder: of the site.
        passphrase: of its keystore.
        rehearsal: None in earnest.
        at_any_time: also after the project's end, or a card's: for what needs no peer.

    Raises:
        SecureFairError: something cannot be used; says what in one sentence.
    """
    settings, project = read_settings(folder), project_of(folder)
    wall, monotonic, durable = time.time, time.monotonic, True
    if rehearsal is not None:
        wall, monotonic, durable = rehearsal.wall, rehearsal.monotonic, rehearsal.durable
    if not at_any_time:
        project.check_time(wall())
    agreement = check_agreement(project)
    with Store.open(folder / STORE, durable=durable) as store, contextlib.ExitStack() as left:
        with store.transaction() as tx:
            check_format(tx, str(folder))
            _check_stays(tx, folder)
            met = agreement.met_by(settings.name)
            note_peers(tx, met)
        keys = left.enter_context(contextlib.closing(Keystore.open(folder / KEYS, passphrase)))
        advance(store, keys, hint=RECOVER)
        identity = identity_of(keys, project, settings.name)
        private = keys.get(SEED)
        seed = _weights_seed(private) if rehearsal is None else rehearsal.seed
        with store.view() as tx:
            taken = taken_in(tx)
        data = samples_now(settings, project.terms, seed, taken)
        check_same_samples(store, data, settings.teacher)
        host = host_of(data, project, agreement, store, keys, seed, settings)
        renewal = awaited(settings, project.terms, seed, taken, host)
        clock = SteadyClock(wall, monotonic)
        post = Post(
            Correspondence(
                identity=identity,
                project=project.digest,
                cards={name: project.card(name) for name in met},
                expires=project.terms.valid_until,
                largest_frame=agreement.limits.largest_frame + 1,
            ),
            store,
            clock,
            shifted=lambda: clock.shifted,
            tick=0 if rehearsal is not None else settings.tick_seconds,
        )
        schedule = Timetable(
            rounds=rounds_of(project.terms),
            coins=_coins(settings.name, private, rehearsal),
            wall=wall,
            monotonic=monotonic,
            fewest=fewest_peers(project, len(met)),
            ends=project.terms.valid_until,
            linger=project.terms.project.round_seconds,
            receipts=RECEIPTS + settings.tick_seconds,
        )
        yield OpenSite(
            settings=settings.at(taken.number),
            project=project,
            agreement=agreement,
            seed=seed,
            store=store,
            post=post,
            site=Site(
                host,
                post,
                store,
                agreement.limits,
                schedule,
                renewal=renewal,
                generation=Generation(keys),
            ),
            host=host,
        )


@contextlib.contextmanager
def carried(folder: Path, opened: OpenSite, spoil: Spoil = unspoilt) -> Iterator[Door]:
    """The site's door and couriers, open for a block.

    Raises:
        ConfigError, OSError: the door or the shared folder cannot be opened.
    """
    stop = threading.Event()
    settings = opened.settings.courier
    courier = courier_of(settings.kind)
    door = Door(folder / DOOR, courier.at_door(opened.post, spoil))
    try:
        courier.start(settings, opened.post, stop, spoil=spoil)
        yield door
        if opened.site.finished:
            (folder / OVER).touch(mode=0o600)  # for a relay's courier, when the door is gone
    finally:
        stop.set()
        opened.post.announce()
        door.close()


def run_site(
    folder: Path, passphrase: Secret, say: Callable[[str, Mapping[str, object]], None]
) -> tuple[int, Results]:
    """Run a site in earnest, in the foreground, until its rounds are over or it is stopped.

    Args:
        folder: of the site.
        passphrase: of its keystore.
        say: writes a line of the log, a sentence and its facts; no patient, model or released
            number is in one. As waiting for peers begins and ends, and at least once an hour,
            unless something is being computed.

    Returns:
        Rounds of the project, and the site's own results.

    Raises:
        SecureFairError: it cannot begin or go on; says why in one sentence.
    """

    asked: list[int] = []  # to stop

    def leave(number: int, frame: object) -> None:
        del frame
        asked.append(number)
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, leave)
    with open_site(folder, passphrase) as opened, carried(folder, opened) as door:
        rounds = rounds_of(opened.project.terms)
        with opened.store.view() as tx:
            over = rounds_over(stored_records(tx))
        name = opened.settings.name
        say(f"{name}: {over} of {rounds} rounds are over", {"rounds_over": over, "rounds": rounds})
        early: list[bool] = []  # results were written before the end
        heart, due = Heart(folder), LineDue(opened.site.state.since, time.monotonic())

        def beat() -> None:
            if asked:  # what a handler raises in a destructor or callback is lost
                raise KeyboardInterrupt
            working = bool(opened.site.machine.memory.running)
            heart.beat(working=working, now=time.time(), unvisited=door.unvisited)
            site = opened.site
            if site.finished and site.state.since and not early:  # it may wait for long
                early.append(True)
                heart.beat(working=True, now=time.time(), unvisited=door.unvisited)
                with contextlib.suppress(SecureFairError, OSError):  # the end tells it
                    written()
            if due(site.state.since, time.monotonic()):
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
        for peer, away in rounds_away(records).items():
            say(
                f"{peer} was {PeerLife.AWAY} in {away} of {len(records)} rounds",
                {"peer": peer, "away": away},
            )
        if not learned_from(records):
            say("NOTHING CAME FROM ANY PEER: the model is of this site's patients alone", {})
        return rounds, written()


def export_site(folder: Path, passphrase: Secret, out: Path, *, by: Sequence[str] = ()) -> Results:
    """Write a stopped site's model and report into a new folder.

    Groups of its patients, by columns of its table, are for scores of peers' models.

    Raises:
        StorageError: the folder holds something, the site runs, or no round is over.
        SecureFairError: the site's folder cannot be read.
    """
    check_new_folder(out)
    with open_site(folder, passphrase, at_any_time=True) as opened:
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


def stop_site(folder: Path, seconds: float = STOPS_WITHIN) -> bool:
    """End a running site, and wait for that; whether there was one.

    What comes next takes the store, or copies it.

    Args:
        folder: of the site.
        seconds: for which it is waited: a site that computes ends after that.

    Raises:
        SecureFairError: there is no site in this folder, or it runs still.
    """
    read_settings(folder)
    owner = running_process(folder / STORE)
    if owner is None:
        return False
    with contextlib.suppress(ProcessLookupError):
        os.kill(owner, signal.SIGTERM)
    until = time.monotonic() + seconds
    while running_process(folder / STORE) == owner:
        if time.monotonic() > until:
            raise SecureFairError(
                "the site was asked to stop, and computes still",
                where=str(folder),
                hint="Wait, and stop it again; leave its folder alone until then",
            )
        time.sleep(0.05)
    return True


def _check_stays(tx: Transaction, folder: Path) -> None:
    left = tx.memory.get(LEFT)
    if left is not None:
        raise ConfigError(
            "this site has left the project",
            where=str(folder),
            found=left.decode(),
            hint="`securefair site erase` destroys what is left of it",
        )


def _weights_seed(private: Secret) -> int:
    """Of first weights, mini-batches and the split: 32 bits that no peer is told."""
    digest = blake2b(key=private.reveal(), digest_size=4, person=b"sf-first-weights").digest()
    return int.from_bytes(digest, "big")


def _coins(name: str, private: Secret, rehearsal: Rehearsal | None) -> Callable[[int, str], float]:
    if rehearsal is not None:
        common = rehearsal.seed
        return lambda number, peer: coin(common, number, name, peer)
    secret = private.reveal()
    return lambda number, peer: private_coin(secret, number, peer)
