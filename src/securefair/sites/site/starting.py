"""A site's folder and a passphrase -> a site that is ready to run, wherever its process ended."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from securefair.ckks import one_for_blas
from securefair.collaboration.agreement import Agreement
from securefair.collaboration.host import Host
from securefair.data import ParticipantData
from securefair.errors import ConfigError
from securefair.sites.couriers.register import courier_of
from securefair.sites.post.clock import SteadyClock
from securefair.sites.post.door import Door
from securefair.sites.post.port import Spoil, unspoilt
from securefair.sites.post.post import Post
from securefair.sites.post.proof import RECOVER
from securefair.sites.post.settling import Correspondence
from securefair.sites.project.agreeing import check_agreement, fewest_peers, rounds_of
from securefair.sites.project.project import Project
from securefair.sites.site.folder import (
    DOOR,
    KEYS,
    OVER,
    SEED,
    STORE,
    SiteSettings,
    identity_of,
    project_of,
    read_settings,
)
from securefair.sites.site.format import check_format, note_format
from securefair.sites.site.hosting import host_of
from securefair.sites.site.records import LEFT, note_neighbours, note_peers
from securefair.sites.site.renewing import awaited, samples_begun, taken_in
from securefair.sites.site.samples import unquoted
from securefair.sites.site.schedule import Timetable
from securefair.sites.site.site import Site
from securefair.storage import Keystore, Secret, Store, Transaction
from securefair.storage.generation import Generation, advance
from securefair.worth.sharing import coin, private_coin

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
class OpenPost:
    """A site's store, keys and post, without its samples: what a farewell needs.

    Its settings name the samples of its start.
    """

    settings: SiteSettings
    project: Project
    agreement: Agreement
    seed: int
    store: Store
    keys: Keystore
    post: Post
    clock: SteadyClock
    rehearsal: Rehearsal | None

    @property
    def finished(self) -> bool:
        """Whether the last round is over here: nobody says so who does not run it."""
        return False


@dataclass(frozen=True, kw_only=True)
class OpenSite(OpenPost):
    """A site with everything that it needs to run."""

    site: Site
    host: Host

    @property
    def own(self) -> ParticipantData:
        """Its samples now."""
        return self.host.data

    @property
    def finished(self) -> bool:
        """See `OpenPost`."""
        return self.site.finished


@contextlib.contextmanager
def open_site(
    folder: Path,
    passphrase: Secret,
    *,
    rehearsal: Rehearsal | None = None,
    at_any_time: bool = False,
) -> Iterator[OpenSite]:
    """Open a site where its process ended, or for the first time.

    Args, Raises:
        As `open_post`; also where its samples cannot be used.
    """
    with open_post(folder, passphrase, rehearsal=rehearsal, at_any_time=at_any_time) as opened:
        yield with_samples(opened)


@contextlib.contextmanager
def open_post(
    folder: Path,
    passphrase: Secret,
    *,
    rehearsal: Rehearsal | None = None,
    at_any_time: bool = False,
) -> Iterator[OpenPost]:
    """Open a site's store, keys and post; its samples are not looked at.

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
    with (
        one_for_blas(),
        Store.open(folder / STORE, create=False, durable=durable) as store,
        contextlib.ExitStack() as left,
    ):
        with store.transaction() as tx:
            check_format(tx, str(folder))
            note_format(tx)
            check_stays(tx, folder)
            met = agreement.met_by(settings.name)
            note_peers(tx, met)
            note_neighbours(tx, agreement.sum_settings(settings.name))
        keys = left.enter_context(contextlib.closing(Keystore.open(folder / KEYS, passphrase)))
        advance(store, keys, hint=RECOVER)
        identity = identity_of(keys, project, settings.name)
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
        yield OpenPost(
            settings=settings,
            project=project,
            agreement=agreement,
            seed=weights_seed(keys.get(SEED)) if rehearsal is None else rehearsal.seed,
            store=store,
            keys=keys,
            post=post,
            clock=clock,
            rehearsal=rehearsal,
        )


def with_samples(opened: OpenPost) -> OpenSite:
    """The same with the participant, over its samples.

    Raises:
        SecureFairError: the samples cannot be used, or are not those that it began with; quotes
            none of their cells.
    """
    settings, project, agreement = opened.settings, opened.project, opened.agreement
    store, keys, post, seed = opened.store, opened.keys, opened.post, opened.seed
    with store.view() as tx:
        taken = taken_in(tx)
    with unquoted():
        data = samples_begun(settings, project.terms, seed, taken, store)
        host = host_of(data, project, agreement, store, keys, seed, settings)
        renewal = awaited(settings, project.terms, seed, taken, host)
    clock, rehearsal = opened.clock, opened.rehearsal
    schedule = Timetable(
        rounds=rounds_of(project.terms),
        coins=_coins(settings.name, keys.get(SEED), rehearsal),
        wall=clock,  # else one set past the project's end would let every deadline count
        monotonic=time.monotonic if rehearsal is None else rehearsal.monotonic,
        fewest=fewest_peers(project, len(post.peers)),
        ends=project.terms.valid_until,
        linger=project.terms.project.round_seconds,
        receipts=RECEIPTS + settings.tick_seconds,
    )
    return OpenSite(
        settings=settings.at(taken.number),
        project=project,
        agreement=agreement,
        seed=seed,
        store=store,
        keys=keys,
        post=post,
        clock=clock,
        rehearsal=rehearsal,
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
def carried(folder: Path, opened: OpenPost, spoil: Spoil = unspoilt) -> Iterator[Door]:
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
        if opened.finished:
            (folder / OVER).touch(mode=0o600)  # for a relay's courier, when the door is gone
    finally:
        stop.set()
        opened.post.announce()
        door.close()


def check_stays(tx: Transaction, folder: Path) -> None:
    """See that this site has not left its project.

    Raises:
        ConfigError: it has.
    """
    left = tx.memory.get(LEFT)
    if left is not None:
        raise ConfigError(
            "this site has left the project",
            where=str(folder),
            found=left.decode(errors="replace"),
            hint="`securefair site erase` destroys what is left of it",
        )


def weights_seed(private: Secret) -> int:
    """Of first weights, mini-batches and the split: 32 bits that no peer is told."""
    digest = blake2b(key=private.reveal(), digest_size=4, person=b"sf-first-weights").digest()
    return int.from_bytes(digest, "big")


def _coins(name: str, private: Secret, rehearsal: Rehearsal | None) -> Callable[[int, str], float]:
    if rehearsal is not None:
        common = rehearsal.seed
        return lambda number, peer: coin(common, number, name, peer)
    secret = private.reveal()
    return lambda number, peer: private_coin(secret, number, peer)
