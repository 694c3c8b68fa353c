"""A site's folder and a passphrase -> a site that is ready to run, wherever its process ended."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from securefair.collaboration.distillation.setup import Collaboration
from securefair.data import ParticipantData
from securefair.deployment.agreeing import check_agreement, disclosure_of, model_of
from securefair.deployment.card import utc
from securefair.deployment.couriers.folder import start_folder
from securefair.deployment.couriers.local import start_local
from securefair.deployment.door import Door
from securefair.deployment.host import DistillingHost
from securefair.deployment.place import (
    DOOR,
    KEYS,
    SEED,
    STORE,
    STUDENT_KEYS,
    SiteSettings,
    identity_of,
    project_of,
    read_settings,
)
from securefair.deployment.port import Spoil, unspoilt
from securefair.deployment.post import Correspondence, Post
from securefair.deployment.project import Project
from securefair.deployment.recovery import recovered_in
from securefair.deployment.samples import own_samples
from securefair.deployment.site import BLOB, MACHINE, Schedule, Site
from securefair.fairness.sharing import coin, private_coin
from securefair.protocol.stored import decode_memory
from securefair.protocol.turn import Memory
from securefair.storage import Keystore, Secret, Store, running_process


@dataclass(frozen=True, kw_only=True)
class Rehearsal:
    """What a rehearsal hands to its sites, and no site in earnest takes: a common seed.

    Attributes:
        seed: of first weights and coins, so that the run can be compared with a simulation.
        spoil: what happens to hand-overs.
        linger: seconds to wait for the others after the last round.
    """

    seed: int
    spoil: Spoil = unspoilt
    linger: float = 20.0


@dataclass(frozen=True, kw_only=True)
class OpenSite:
    """A site with everything that it needs to run."""

    settings: SiteSettings
    project: Project
    collaboration: Collaboration
    store: Store
    post: Post
    site: Site
    host: DistillingHost


@contextlib.contextmanager
def open_site(
    folder: Path, passphrase: Secret, *, rehearsal: Rehearsal | None = None
) -> Iterator[OpenSite]:
    """Open a site where its process ended, or for the first time.

    Args:
        folder: of the site.
        passphrase: of its keystore.
        rehearsal: None in earnest.

    Raises:
        SecureFairError: something cannot be used; says what in one sentence.
    """
    settings, project = read_settings(folder), project_of(folder)
    project.check_time(time.time())
    collaboration = check_agreement(project)
    with Store.open(folder / STORE) as store:
        keys = Keystore.open(folder / KEYS, passphrase)
        identity = identity_of(keys, project, settings.name)
        private = keys.get(SEED)
        seed = _weights_seed(private) if rehearsal is None else rehearsal.seed
        data = own_samples(settings, project.terms, seed)
        host = _host(data, project, collaboration, store, keys, seed)
        keys.close()
        post = Post(
            Correspondence(
                identity=identity,
                project=project.digest,
                cards={card.name: card for card in project.cards if card.name != settings.name},
                expires=project.terms.valid_until,
                largest_frame=collaboration.limits.largest_frame + 1,
            ),
            store,
            time.time,
        )
        schedule = Schedule(
            rounds=project.terms.config.training.rounds,
            coins=_coins(settings.name, private, rehearsal),
            linger=collaboration.round_seconds if rehearsal is None else rehearsal.linger,
        )
        identities = {card.name: card.fingerprint.hex() for card in project.cards}
        yield OpenSite(
            settings=settings,
            project=project,
            collaboration=collaboration,
            store=store,
            post=post,
            site=Site(host, post, store, collaboration.limits, schedule, identities),
            host=host,
        )


@contextlib.contextmanager
def carried(folder: Path, opened: OpenSite, spoil: Spoil = unspoilt) -> Iterator[None]:
    """The site's door and couriers, open for a block.

    Raises:
        ConfigError, OSError: the door or the shared folder cannot be opened.
    """
    stop = threading.Event()
    door = Door(folder / DOOR, opened.post)
    courier = opened.settings.courier
    try:
        if courier.kind == "local":
            doors = {name: Path(path) for name, path in courier.doors.items()}
            start_local(opened.post, doors, stop, spoil=spoil)
        elif courier.kind == "folder" and courier.folder is not None:
            start_folder(opened.post, Path(courier.folder), stop)
        yield
    finally:
        stop.set()
        opened.post.announce()
        door.close()


def run_site(folder: Path, passphrase: Secret, say: Callable[[str], None]) -> int:
    """Run a site in earnest, in the foreground, until its rounds are over or it is stopped.

    Args:
        folder: of the site.
        passphrase: of its keystore.
        say: writes a line of the log; no patient, model or released number is in one.

    Returns:
        Rounds of the project.

    Raises:
        SecureFairError: it cannot begin or go on; says why in one sentence.
    """

    def leave(number: int, frame: object) -> None:
        del number, frame
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, leave)
    with open_site(folder, passphrase) as opened, carried(folder, opened):
        rounds = opened.project.terms.config.training.rounds
        over = opened.site.machine.memory.round
        say(f"{opened.settings.name}: round {max(0, over)} of {rounds}")
        opened.site.run(lambda round: say(f"{utc(time.time())}: round {round} is over"))
        return rounds


def stop_site(folder: Path) -> bool:
    """Ask a running site to end; whether there was one.

    Raises:
        SecureFairError: there is no site in this folder.
    """
    read_settings(folder)
    owner = running_process(folder / STORE)
    if owner is None:
        return False
    os.kill(owner, signal.SIGTERM)
    return True


def _host(
    data: ParticipantData,
    project: Project,
    collaboration: Collaboration,
    store: Store,
    keys: Keystore,
    seed: int,
) -> DistillingHost:
    memory, stored = _remembered(store)
    with store.view() as tx:
        left = recovered_in(tx)
    peers = tuple(name for name in project.names if name != data.name)
    known = STUDENT_KEYS in keys.names()
    host = DistillingHost(
        data,
        collaboration,
        model_of(project.terms.config),
        seed=seed,
        backend=project.terms.config.encryption.backend,
        disclosure=disclosure_of(project.terms),
        keys=keys.get(STUDENT_KEYS) if known else None,
        stored=stored,
        memory=memory,
        saved_state=(
            None
            if left is None
            else left.saved_state(peers, always_share=collaboration.always_share)
        ),
        key_epoch=0 if left is None else left.key_epoch,
    )
    if not known:
        keys.put(STUDENT_KEYS, host.participant.export_keys())
    return host


def _remembered(store: Store) -> tuple[Memory | None, dict[str, bytes]]:
    with store.view() as tx:

        def load(digest: bytes) -> bytes:
            found = tx.memory.get(BLOB + digest.hex())
            if found is None:
                raise KeyError(digest.hex())
            return found

        data = tx.memory.get(MACHINE)
        pieces = {name: tx.memory.get(name) for name in tx.memory.names("host ")}
        memory = None if data is None else decode_memory(data, load)
        return memory, {name: piece for name, piece in pieces.items() if piece is not None}


def _weights_seed(private: Secret) -> int:
    """Of first weights and mini-batches: nobody else can compute them."""
    digest = blake2b(key=private.reveal(), digest_size=4, person=b"sf-first-weights").digest()
    return int.from_bytes(digest, "big")


def _coins(name: str, private: Secret, rehearsal: Rehearsal | None) -> Callable[[int, str], float]:
    if rehearsal is not None:
        common = rehearsal.seed
        return lambda number, peer: coin(common, number, name, peer)
    secret = private.reveal()
    return lambda number, peer: private_coin(secret, number, peer)
