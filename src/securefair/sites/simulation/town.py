"""The sites of one process: their stores, the courier between them, and the clock that they share.

Everything that is due happens before time passes, so a run is the same on every machine. A round
is played to its end for everybody, then the next one may begin: whoever sees everybody looks at
them in between.

With a folder every site has its store there, keys included. Whoever opens a town in that folder
again goes on where the process before it ended, at whatever input that was.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import msgspec

from securefair.collaboration.agreement import Agreement
from securefair.collaboration.host import Host, Stored
from securefair.collaboration.observer import SiteRecord
from securefair.errors import BackendUnavailableError, LocalProtocolError, SecureFairError
from securefair.protocol.effects import Blame, Failed
from securefair.protocol.jobs import PrepareKeysAndFeatures
from securefair.protocol.states import RoundState
from securefair.sites.couriers.memory import Delivery, Link, MemoryCourier
from securefair.sites.simulation.post import SimulatedPost
from securefair.sites.site.hosting import stored_host
from securefair.sites.site.records import RECORD
from securefair.sites.site.schedule import Timetable
from securefair.sites.site.site import Site
from securefair.storage import Secret, Store, Transaction
from securefair.worth.sharing import coin

Make = Callable[[str, Stored | None], Host]
"""One participant by its name, from what an earlier process left; None: it need not remember."""

UNBOUNDED = 1 << 30
"""Rounds of a simulated site: whoever plays it says when it is over."""

A_MOMENT = 1e-6
"""Seconds: past a deadline, whatever rounding does."""

_KEYS, _PROBLEMS = "simulated keys", "simulated problems"


class Town:
    """All sites of one collaboration.

    Args:
        names: of everyone, in the order of the collaboration.
        make: makes everyone.
        agreement: what they agreed on.
        seed: of sharing coins and of the courier's faults.
        folder: of their stores; None: in memory.
        link: of the courier between all pairs; instantaneous by default.
        links: particular directions, by (sender, receiver).

    Raises:
        StorageError: a store cannot be used.
        SecureFairError: a participant cannot be made.
    """

    def __init__(
        self,
        names: Sequence[str],
        make: Make,
        agreement: Agreement,
        *,
        seed: int,
        folder: Path | None = None,
        link: Link | None = None,
        links: Mapping[tuple[str, str], Link] | None = None,
    ) -> None:
        self.names = tuple(names)
        self.courier = MemoryCourier(names, link=link, links=links, rng=random.Random(seed))
        self.hosts: dict[str, Host] = {}
        self.posts: dict[str, SimulatedPost] = {}
        self._stores: dict[str, Store] = {}
        self._sites: dict[str, Site] = {}
        self._awake: dict[str, None] = {}
        self._rounds = 0
        self._failures: list[tuple[str, Failed]] = []
        self._problems: dict[str, list[str]] = {}
        try:
            for at, name in enumerate(names):
                self._open(name, None if folder is None else folder / f"{at:03d}", make, agreement)
            for name in names:
                self._settle_in(name, agreement, seed)
        except BaseException:
            self.close()
            raise

    @property
    def problems(self) -> list[str]:
        """Whom sites blamed for what, and what they could not do, site by site."""
        return [problem for name in self.names for problem in self._problems[name]]

    def play(self, round: int) -> dict[str, SiteRecord]:
        """Play one round to its end for everybody; what each noted of it.

        Raises:
            LocalProtocolError: nothing is under way and no deadline is left, yet the round has not
                ended: a bug.
            SecureFairError: a participant could not prepare its own keys, or its own step failed.
        """
        self._rounds, self._failures = round + 1, []
        self._awake = dict.fromkeys(self.names)
        self._settle()
        while playing := [name for name in self.names if not self._has_ended(name, round)]:
            self._let_time_pass(playing)
            self._settle()
        self._check_own_work(round)
        return self.records(round)

    def records(self, round: int) -> dict[str, SiteRecord]:
        """What every site noted of a round that is over.

        Raises:
            SecureFairError: a participant's own step failed.
        """
        found = {}
        for name, store in self._stores.items():
            with store.view() as tx:
                data = tx.memory.get(f"{RECORD}{round:06d}")
            if data is None:
                raise LocalProtocolError("a round is not over", where=name, found=round)
            found[name] = msgspec.json.decode(data, type=SiteRecord)
            if error := found[name].step_error:
                raise SecureFairError(error, where=f"{name}, round {round}")
        return found

    def close(self) -> None:
        """Close all stores; those in memory are gone."""
        for store in self._stores.values():
            store.close()

    # --- beginning ---

    def _open(self, name: str, folder: Path | None, make: Make, agreement: Agreement) -> None:
        if folder is None:
            self._stores[name] = Store.in_memory()
            self.hosts[name] = make(name, None)
            return
        store = self._stores[name] = Store.open(folder, durable=False)
        with store.view() as tx:
            data = tx.memory.get(_KEYS)
        keys = None if data is None else Secret(bytearray(data))
        left = stored_host(store, agreement.met_by(name), keys, keep=partial(_keep, store))
        host = self.hosts[name] = make(name, replace(left, budget=None))
        if keys is not None:
            return
        try:
            _keep(store, host.export_keys())
        except BackendUnavailableError:  # its engine keeps its keys to itself: nobody can go on
            store.close()
            shutil.rmtree(folder)
            self._open(name, None, make, agreement)

    def _settle_in(self, name: str, agreement: Agreement, seed: int) -> None:
        store = self._stores[name]
        with store.view() as tx:
            data = tx.memory.get(_PROBLEMS)
        self._problems[name] = [] if data is None else msgspec.json.decode(data, type=list[str])
        met = agreement.met_by(name)
        post = self.posts[name] = SimulatedPost(met, store, partial(self._carry, name))
        self._sites[name] = Site(
            self.hosts[name],
            post,
            store,
            agreement.limits,
            Timetable(
                rounds=UNBOUNDED,
                coins=lambda number, peer: coin(seed, number, name, peer),
                wall=lambda: self.courier.now,
                monotonic=lambda: self.courier.now,
            ),
            partial(self._note, name),
        )
        post.announce()  # what the process before this one did not deliver

    def _carry(self, sender: str, receiver: str, sequence: int, frame: bytes) -> None:
        self.courier.send(sender, receiver, frame, sequence)

    def _note(self, name: str, tx: Transaction, event: Blame | Failed) -> None:
        problems = self._problems[name]
        if isinstance(event, Blame):
            problems.append(f"{name} blames {event.peer}: {event.reason}")
        else:
            problems.append(f"{name}: {event.error}")
            self._failures.append((name, event))
        if self._stores[name].lasts:
            tx.memory.put(_PROBLEMS, msgspec.json.encode(problems))

    # --- playing ---

    def _has_ended(self, name: str, round: int) -> bool:
        memory = self.hosts[name].machine.memory
        return memory.round >= round and memory.state is RoundState.IDLE

    def _settle(self) -> None:
        """Everything that happens before time passes."""
        courier = self.courier
        while True:
            while self._awake:
                name = next(iter(self._awake))
                del self._awake[name]
                self._take_turns(name)
            if courier.next_time is None or courier.next_time > courier.now:
                return
            self._deliver(courier.deliver_next())

    def _take_turns(self, name: str) -> None:
        try:
            while self._sites[name].turn(rounds=self._rounds):
                pass
        except LocalProtocolError:
            raise  # a bug
        except SecureFairError as error:
            raise error.about(f"{name}, round {self._rounds - 1}") from error

    def _let_time_pass(self, playing: Sequence[str]) -> None:
        """To the next delivery, or the earliest deadline if that comes first."""
        left = [left for name in playing if (left := self._sites[name].left) > 0]
        due = self.courier.now + min(left) + A_MOMENT if left else None
        arrival = self.courier.next_time
        if arrival is not None and (due is None or arrival <= due):
            self._deliver(self.courier.deliver_next())
        elif due is None:
            raise LocalProtocolError("the round is stuck: nothing under way and no deadline left")
        else:
            self.courier.advance(due)
            self._awake |= dict.fromkeys(playing)

    def _deliver(self, delivery: Delivery | None) -> None:
        if delivery is None:
            return
        if self.posts[delivery.receiver].take(delivery.sender, delivery.sequence, delivery.frame):
            self.posts[delivery.sender].confirm(delivery.receiver, delivery.sequence)
            self._awake[delivery.receiver] = None
        else:
            self.courier.again(delivery)

    def _check_own_work(self, round: int) -> None:
        """Stop where a participant failed by its own fault; peers' faults are only recorded."""
        for name, failed in self._failures:
            if isinstance(failed.job, PrepareKeysAndFeatures):
                raise SecureFairError(failed.error, where=f"{name}, round {round}")


def _keep(store: Store, keys: Secret) -> None:
    with store.transaction() as tx:
        tx.memory.put(_KEYS, bytes(keys.reveal()))
