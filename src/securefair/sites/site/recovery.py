"""What an operator decides: to recover a site whose store was lost or turned back, to block one, or
to give keys another passphrase.

A recovered site keeps its model and its records, and nothing else: its streams begin a new epoch,
its keys as a student are made anew, and its ledger counts as full, since nobody knows what it let
out after the backup. What private mechanisms may have cost patients since is counted as well. It
learns from then on, and answers nobody.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

import msgspec
from msgspec.structs import replace

from securefair.collaboration.host import KEPT
from securefair.collaboration.private import checked_target, limit_of
from securefair.errors import ConfigError, StorageError
from securefair.protocol.ledger import EVERY_NUMBER, EVERY_OFFER, Account
from securefair.protocol.saved_state import SavedState
from securefair.sites.post.peers import PeerState, read_peer, write_peer
from securefair.sites.post.streams import LAST_EPOCH, stream_of
from securefair.sites.project.agreeing import rounds_of
from securefair.sites.project.card import utc
from securefair.sites.site.folder import (
    KEYS,
    OVER,
    STORE,
    STUDENT_KEYS,
    project_of,
    read_settings,
)
from securefair.sites.site.format import check_format
from securefair.sites.site.keeping import BLOB, MACHINE
from securefair.sites.site.notices import is_farewell
from securefair.sites.site.records import (
    HOST,
    RECOVERED,
    SiteState,
    keep_state,
    state_in,
    stored_records,
)
from securefair.sites.site.remains import Remains, remains_of
from securefair.sites.site.renewing import taken_in
from securefair.sites.site.samples import own_samples
from securefair.storage import Guarantee, Keystore, Secret, Store, Transaction
from securefair.storage.copying import put_aside
from securefair.storage.files import DamagedError
from securefair.storage.generation import accept_older

DAMAGED = "damaged"
"""What the name of a store that was put aside ends with."""

RECOVERIES = "recoveries"
MOST_RENEWALS = 3
"""Of a site's keys, more than it has records of rounds: the first, one of the round that it is in,
and one to be sure. Each has an epoch of its own, and there is one a round at most."""


class Recovered(msgspec.Struct, frozen=True, kw_only=True):
    """What is left of a site that was recovered.

    Attributes:
        epoch: of its streams, seconds since 1970.
        round: the last with a record; -1 for none.
        keys: epoch of its new keys; None where an earlier version recovered it.
    """

    epoch: int
    round: int
    keys: int | None = None

    @property
    def key_epoch(self) -> int:
        """Of its new keys: minutes since 1970, or more where that is not above all earlier ones."""
        return self.epoch // 60 if self.keys is None else self.keys

    def after(self, now: float, round: int, renewals: int) -> Recovered:
        """What is left when it is recovered once more, after a round, and so many renewals of its
        keys at most.

        A clock that was ahead at the last time may have been set back since.
        """
        keys = max(int(now) // 60, self.key_epoch + renewals + MOST_RENEWALS)
        return Recovered(epoch=int(now), round=round, keys=keys)

    def saved_state(self, peers: tuple[str, ...]) -> SavedState:
        """What its machine begins with."""
        return SavedState(
            round=self.round,
            teacher_version=max(0, self.round),
            accounts={
                peer: Account(samples=1, total=EVERY_NUMBER, offers=EVERY_OFFER) for peer in peers
            },
        )


@dataclass(frozen=True)
class Recovery:
    """What recovering a site came to.

    Attributes:
        left: of the site.
        damaged: where its store lies, which was damaged, with model and records; None: it was not.
        blocked: peers that it blocks as it did before.
        unread: what its store did not say any more: see `Remains`.
    """

    left: Recovered
    damaged: Path | None
    blocked: tuple[str, ...]
    unread: tuple[str, ...]


def recover(folder: Path, passphrase: Secret, now: float) -> Recovery:
    """Begin a new epoch with all peers, in a folder whose store was lost, damaged or put back.

    Whom a damaged store blocks stays blocked, and a site that left stays away, as far as that can
    still be read.

    Raises:
        SecureFairError: the folder or keystore cannot be used, the site runs, or this machine's
            clock is not within the project's time.
    """
    settings, project = read_settings(folder), project_of(folder)
    project.check_time(now)
    keys = Keystore.open(folder / KEYS, passphrase)
    peers = tuple(name for name in project.names if name != settings.name)
    terms = project.terms.config.privacy
    rounds, ends, promised = rounds_of(project.terms), project.terms.valid_until, None

    def tried(tx: Transaction) -> None:
        check_format(tx, str(folder))
        taken_in(tx)
        recover_store(tx, peers, now, rounds, ends)

    remains = remains_of(folder / STORE, peers)  # before a store is made where one was
    damaged = _put_damaged_aside(folder / STORE, tried)
    with Store.open(folder / STORE) as store, store.transaction() as tx:
        if damaged is not None:
            _carry_over(tx, remains, now)
        if terms is not None:
            own = own_samples(settings.at(taken_in(tx).number), project.terms, seed=0)
            limit = limit_of(terms, checked_target(own, terms)[1])
            promised = {settings.name: (limit, _counted(keys))}
        left = recover_store(tx, peers, now, rounds, ends, promised)
        accept_older(tx, keys)
        blocked = tuple(peer for peer in peers if read_peer(tx, peer).blocked)
        keys.delete(STUDENT_KEYS)  # before the commit: no recovered site has keys of before
    keys.close()
    (folder / OVER).unlink(missing_ok=True)  # it may have been through with all rounds
    return Recovery(left, damaged, blocked, remains.unread)


def _carry_over(tx: Transaction, remains: Remains, now: float) -> None:
    """Into the store that takes the place of a damaged one."""
    for name, data in remains.kept.items():
        tx.memory.put(name, data)
    for peer in remains.blocked:
        block_in(tx, peer, now)


def _put_damaged_aside(place: Path, tried: Callable[[Transaction], None]) -> Path | None:
    """Leave a store in which a recovery comes to its end, or none; where the damaged one lies."""
    try:
        with Store.open(place) as store:
            store.check_whole()
            with store.view() as tx:  # drops what is changed
                tried(tx)
    except DamagedError:
        return put_aside(place, DAMAGED)
    return None


def _counted(keys: Keystore) -> int:
    """One recovery more. Where keys are, as a backup of the store forgets the earlier ones."""
    before = int(keys.get(RECOVERIES).reveal()) if RECOVERIES in keys.names() else 0
    keys.put(RECOVERIES, Secret(str(before + 1).encode()), replace=True)
    return before + 1


def recover_store(
    tx: Transaction,
    peers: Sequence[str],
    now: float,
    rounds: int,
    ends: int,
    promised: Mapping[str, tuple[Guarantee, int]] | None = None,
) -> Recovered:
    """Begin a new epoch with all peers: model and records stay, and the ledger counts as full.

    A backup may be older than a recovery by a clock that was ahead. Then peers have shown that, and
    the new epoch is above theirs. A peer may move its own pair to any epoch, where this site then
    signs: what no recovery within the project begins counts for that pair alone.

    Args:
        tx: of the site's store.
        peers: all others.
        now: seconds since 1970.
        rounds: of the project.
        ends: when the project does, seconds since 1970.
        promised: by the budget's name, the most that all mechanisms may cost patients, and how
            often so much may have been spent: before this recovery, and before each earlier one.
    """
    records = stored_records(tx)
    last = records[-1].round if records else -1
    before, renewals = recovered_in(tx) or Recovered(epoch=0, round=-1), max(0, last)
    shown = (read_peer(tx, peer).proved for peer in peers)
    proved = max((epoch for epoch in shown if epoch <= ends), default=0)
    if proved > before.epoch:  # nobody knows how often it has made keys since
        before, renewals = Recovered(epoch=proved, round=-1), MOST_RENEWALS * rounds
    left = before.after(max(now, proved + 1), last, renewals)
    known = state_in(tx).peers
    for peer in peers:
        known = known.leaves(peer) if _said_farewell(tx, peer) else known
        _begin_epoch(tx, peer, left.epoch)
    pieces = [name for name in tx.memory.names(HOST) if not name.startswith(HOST + KEPT)]
    for name in (MACHINE, *tx.memory.names(BLOB), *pieces):
        tx.memory.delete(name)
    keep_state(tx, SiteState(peers=known.recovered()))
    for budget, (limit, often) in (promised or {}).items():
        for number in range(1, often + 1):  # the backup may be older than an earlier recovery
            tx.privacy.lose(budget, f"recovery {number}", limit)
    tx.memory.put(RECOVERED, msgspec.msgpack.encode(left))
    tx.audit.append("recovered", {"epoch": left.epoch, "round": left.round}, at=utc(now))
    return left


def recovered_in(tx: Transaction) -> Recovered | None:
    """What is left of a site, if it was recovered."""
    data = tx.memory.get(RECOVERED)
    return None if data is None else msgspec.msgpack.decode(data, type=Recovered)


def block(folder: Path, peer: str, now: float, *, blocked: bool = True) -> None:
    """Take nothing of a peer any more, or take it again. The site learns of it at its next start.

    What the peer said before, and was not handled yet, is thrown away: somebody else may have said
    it. So the pair begins anew once the peer is taken again. If it had left by itself, it stays
    away: it never comes back. Versions up to 0.2.0 kept whom they blocked among those that left;
    such a one is taken from there as well, and a deadline shows whether it is away.

    Raises:
        SecureFairError: nobody has that name, the site runs, or the pair has no epoch left: by what
            that peer can show of it the site would stop at once.
    """
    settings, project = read_settings(folder), project_of(folder)
    if peer == settings.name:
        raise ConfigError("a site does not block itself", where="peer", found=peer)
    project.card(peer)
    with Store.open(folder / STORE, create=False) as store, store.transaction() as tx:
        if blocked:
            block_in(tx, peer, now)
        else:
            take_back_in(tx, peer, now)


def block_in(tx: Transaction, peer: str, now: float) -> None:
    """See `block`."""
    known, state = read_peer(tx, peer), state_in(tx)
    waiting = list(tx.inbox.pending(stream_of(peer, known.epoch)))
    if _said_farewell(tx, peer):
        state = replace(state, peers=state.peers.leaves(peer))
    if not known.blocked:
        state = replace(state, peers=state.peers.shuts(peer))
    keep_state(tx, state)
    write_peer(tx, peer, known.plus(blocked=True))
    for item in waiting:
        tx.inbox.done(item)
    tx.audit.append("blocked", {"peer": peer, "thrown_away": len(waiting)}, at=utc(now))


def take_back_in(tx: Transaction, peer: str, now: float) -> None:
    """See `block`."""
    known = read_peer(tx, peer)
    if known.epoch >= LAST_EPOCH:
        raise ConfigError(
            "claimed all epochs of its pair, and stays blocked",
            where="peer",
            found=peer,
            hint="It joins under a new card in another project.",
        )
    state = state_in(tx)
    peers = state.peers.takes_back(peer, blocked=known.blocked)
    keep_state(tx, replace(state, peers=peers))
    write_peer(tx, peer, known.plus(blocked=False))
    _begin_epoch(tx, peer, known.epoch + 1)
    tx.audit.append("unblocked", {"peer": peer}, at=utc(now))


def change_passphrase(
    path: Path, passphrase: Secret, replacement: Callable[[], Secret], now: float
) -> Path:
    """Encrypt a keystore under another passphrase; a copy of the old file keeps the old one.

    Args:
        path: of the keystore, or of the site whose it is; a link stays one.
        passphrase: that opens it.
        replacement: gives the new one, once the old one was right.
        now: for the audit trail of a site.

    Returns:
        The file of the keystore.

    Raises:
        StorageError: there is no keystore, it belongs to another user, the passphrase is wrong, the
            new one is none or the same one, the site runs, or the disk is full; then the file is as
            it was. Only where the folder cannot be synced, the new file is in its place already: it
            opens with the new passphrase, and a loss of power may bring the old one back.
    """
    file = Path(os.path.realpath(path / KEYS if path.is_dir() else path))
    _refuse_others_file(file)
    with ExitStack() as opened:
        site = None
        if file.name == KEYS and (file.parent / STORE).is_dir():
            # A site that runs has its keystore open, and could not read it any more.
            site = opened.enter_context(Store.open(file.parent / STORE))
        keys = opened.enter_context(closing(Keystore.open(file, passphrase)))
        new = replacement()
        if new == passphrase:
            raise StorageError("the new passphrase is the old one", where=str(file))
        if site is not None:
            # Before the change: a row without a change is harmless, a change without a row is not.
            with site.transaction() as tx:
                tx.audit.append("passphrase to be changed", {}, at=utc(now))
        keys.change_passphrase(new)
    return file


def _refuse_others_file(file: Path) -> None:
    """The new file would belong to whoever writes it, and its old owner could not read it."""
    if file.exists() and file.stat().st_uid != os.geteuid():
        raise StorageError(
            "this keystore belongs to another user",
            where=str(file),
            found=f"user {file.stat().st_uid}",
            expected=f"user {os.geteuid()}",
            hint="Run this as its owner",
        )


def _said_farewell(tx: Transaction, peer: str) -> bool:
    """Whether a farewell lies unread: it is thrown away, and who left would be waited for."""
    waiting = tx.inbox.pending(stream_of(peer, read_peer(tx, peer).epoch))
    return any(is_farewell(item.payload) for item in waiting)


def _begin_epoch(tx: Transaction, peer: str, epoch: int) -> None:
    known = read_peer(tx, peer)
    stream = stream_of(peer, known.epoch)
    tx.outbox.forget(stream)
    tx.inbox.forget(stream)
    following = max(epoch, known.epoch + 1, known.proved + 1)
    # A peer that has claimed the last epoch leaves none to begin: it has shut itself out.
    fresh = PeerState(
        epoch=min(following, LAST_EPOCH), blocked=known.blocked or following > LAST_EPOCH
    )
    write_peer(tx, peer, fresh)
