"""What the operators of a year do to their sites, and what came of it."""

from __future__ import annotations

import shutil

from securefair.data import ParticipantData
from securefair.errors import SecureFairError
from securefair.protocol.states import RoundState
from securefair.sites.operator.lifecycle import say_farewell, upgrade
from securefair.sites.operator.renewing import renew_opened
from securefair.sites.project.agreeing import fewest_peers, rounds_of
from securefair.sites.rehearsal.elsewhere import (
    installed,
    memory_in,
)
from securefair.sites.rehearsal.ended import answered_by, rounds_with, word_of
from securefair.sites.rehearsal.nights import DAY, Nights
from securefair.sites.rehearsal.upgraded import UpgradeMade, asked_in
from securefair.sites.site.recovery import block, recover
from securefair.sites.site.samples import write_samples


class Year(Nights):
    """The sites of one project, and whoever runs them."""

    def leave(self, name: str) -> None:
        """`site leave`."""
        self.note(f"{name}: site leave")
        say_farewell(self.opened(name), self.clock.began + self.clock.now)
        self._carry()
        self.stop(name)
        self.gone.add(name)

    def lose_keys(self, name: str) -> None:
        """A keystore is gone: the others block whoever may have it."""
        self.stop(name)
        self.gone.add(name)
        for other in self.names:
            self._block(other, name)

    def lie(self, name: str) -> None:
        """A site lies from now on."""
        self.liars.add(name)
        if name in self._running:
            self.stop(name)

    def block_liar(self, name: str) -> None:
        """What each operator reads of a peer that lies is enough to block it.

        Raises:
            SecureFairError: the status of a site does not name it.
        """
        self.stop(name)
        self.gone.add(name)
        for other in self.names:
            said = self.said_of(other, name)
            if not said:
                raise SecureFairError("the status of a site names no liar", where=other, found=name)
            self._block(other, name)

    def _block(self, name: str, peer: str) -> None:
        self.note(f"{name}: site block {peer}")
        if name in self._running:
            self.stop(name)
        block(self.place / name, peer, self.clock.began + self.clock.now)

    def upgrade(self, name: str) -> UpgradeMade:
        """A site of the release before: `site stop`, install, `site upgrade`, `site start`."""
        self.note(f"{name}: site stop, install, site upgrade, site start")
        if name in self._running:
            self.stop(name)
        there = installed(self.elsewhere.pop(name))
        upgrade(self.place / name)
        memory = memory_in(self.place / name)
        self.start(name)
        return UpgradeMade(
            site=name,
            day=round(self.clock.now / DAY),
            version=there.version,
            rounds=len(self.records(name)),
            open_round=None if memory is None or memory.state is RoundState.IDLE else memory.round,
            asked=() if memory is None else tuple(sorted(asked_in(memory))),
        )

    def replace_machine(self, name: str) -> None:
        """A site's whole folder goes to another machine, and is deleted on the old one."""
        self.note(f"{name}: site stop, move its folder and data, site start")
        if name in self._running:
            self.stop(name)
        here, there = self.place / name, self.place / f"{name} moved"
        shutil.copytree(here, there)
        shutil.rmtree(here)
        there.rename(here)

    def renew(self, name: str, own: ParticipantData) -> None:
        """`site renew`: other patients, from the next round or once the last is over."""
        self.note(f"{name}: site stop, site renew, site start")
        if name in self._running:
            self.stop(name)
        files = write_samples(self.place, own, f"{name} {self.clock.now / DAY:.0f}")
        with self._opened(name) as opened:
            renew_opened(opened, self.place / name, files)

    def back_up(self, name: str) -> None:
        """A stopped site's whole folder is copied."""
        if name in self._running:
            self.stop(name)
        shutil.copytree(self.place / name, self.place / f"{name} backup")

    def put_back(self, name: str) -> None:
        """The copy takes the folder's place; `site recover` before the site is started again."""
        self.note(f"{name}: put a backup back, site recover, site start")
        if name in self._running:
            self.stop(name)
        shutil.rmtree(self.place / name)
        (self.place / f"{name} backup").rename(self.place / name)
        recover(self.place / name, self.secret, self.clock.began + self.clock.now)
        self.start(name)

    def answered(self) -> int:
        """Rounds that enough sites ended, each with answers or models of enough peers."""
        return rounds_with(answered_by, map(self.records, self.names), self._fewest)

    def finished(self) -> int:
        """Rounds that enough sites ended, each with word of enough peers: also of those that
        declined, or were not asked, because of what they are worth to each other."""
        return rounds_with(word_of, map(self.records, self.names), self._fewest)

    def missed(self) -> int:
        """Rounds of single sites: who stayed to the end ended one with word of too few peers, or
        skipped it."""
        rounds, stayed = range(rounds_of(self.project.terms)), map(self.records, self.names)
        ended = [
            {n for n, one in own.items() if len(word_of(one)) >= self._fewest} for own in stayed
        ]
        return sum(number not in own for own in ended for number in rounds)

    def spent_twice(self) -> int:
        """What ledgers counted again for the same peer and round."""
        return self.payments.twice

    @property
    def _fewest(self) -> int:
        return fewest_peers(self.project, len(self.project.names) - 1)
