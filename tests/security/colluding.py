"""Honest hospitals as those meet them who work together: machines and hosts, asked by hand.

Whoever works together sends any messages it likes under its own names, to every honest hospital
others if it likes. An answer is known to them once they have the key of every honest sender's share
of that very sum: its sender gave it, or so many gave a part of it that these and their own are
enough. What they then know of an honest hospital's fits is linear algebra.
"""

from collections import defaultdict, deque

import msgspec
import numpy as np

from securefair.collaboration.transfer.exchange import TransferRequest
from securefair.errors import SecureFairError
from securefair.protocol.effects import (
    Begin,
    Blame,
    Done,
    Expired,
    Failed,
    Received,
    RoundOver,
    Run,
    Send,
)
from securefair.protocol.messages import (
    PROTOCOL_VERSION,
    SALT_BYTES,
    Answer,
    Ask,
    Hello,
    Key,
    Keys,
    Parts,
    Recover,
    Reveal,
)


class Honest:
    """One hospital that keeps to the protocol.

    Args:
        host: it, with its machine.
        publics: keys for masks of everybody, by name.
    """

    def __init__(self, host, publics):
        self.host, self.machine, self.publics = host, host.machine, publics
        self.blamed, self.given = [], set()

    def begin(self, round):
        self.host.begin(round)
        coins = dict.fromkeys(self.machine.memory.peers, 0.0)
        self._do(self.machine.handle(Begin(round, coins, round)))
        if round == 0:
            for name in self.machine.memory.peers:
                hello = Hello(PROTOCOL_VERSION, self.machine.settings.collaboration, None)
                self.tell(name, hello)
                if self.machine.settings.needs_keys:
                    self.tell(name, Keys(0, self.publics[name], b""))
        while self.machine.memory.state.name != "IDLE":  # nobody answers it
            self._do(self.machine.handle(Expired(round)))

    def tell(self, sender, message):
        """What it sends back."""
        sent = self._do(self.machine.handle(Received(sender, message)))
        return [one for peer, one in sent if peer == sender]

    def _do(self, effects):
        sent = []
        for effect in effects:
            match effect:
                case Send(peer, message):
                    sent.append((peer, message))
                case Blame():
                    self.blamed.append(effect.reason)
                case Run(job):
                    try:
                        ended = Done(job, self.host.run(job))
                    except SecureFairError as error:
                        ended = Failed(job, str(error), None, getattr(error, "senders", ()))
                    sent += self._do(self.machine.handle(ended))
        return sent


class Town:
    """Machines and hosts of one collaboration, whose messages arrive in the order they were sent.

    Args:
        people: hosts, by name.
        change: what arrives of a message, by its sender, recipient and content; None: nothing.

    Attributes:
        asked: (student, round) of all questions.
        blamed: (who, whom).
    """

    def __init__(self, people, change=lambda *arrived: arrived[2]):
        self.people, self.change = people, change
        self.asked, self.blamed = set(), set()
        self._posted, self._over = deque(), {}

    def play(self, round):
        """Summaries of one round, by name."""
        self._over = {}
        for name, own in self.people.items():
            own.begin(round)
            coins = dict.fromkeys(own.machine.memory.peers, 0.0)
            self._hear(name, Begin(round, coins, round))
        self._deliver()
        while len(self._over) < len(self.people):
            for name in self.people:
                if name not in self._over:
                    self._hear(name, Expired(round))
            self._deliver()
        return self._over

    def _deliver(self):
        while self._posted:
            sender, recipient, message = self._posted.popleft()
            arrived = self.change(sender, recipient, message)
            if arrived is not None:
                self._hear(recipient, Received(sender, arrived))

    def _hear(self, name, heard):
        own = self.people[name]
        for effect in own.machine.handle(heard):
            match effect:
                case Send(peer, message):
                    if isinstance(message, Ask):
                        self.asked.add((name, message.round))
                    self._posted.append((name, peer, message))
                case Run(job):
                    try:
                        ended = Done(job, own.run(job))
                    except SecureFairError as error:
                        culprit = getattr(error, "culprit", None)
                        ended = Failed(job, str(error), culprit, getattr(error, "senders", ()))
                    self._hear(name, ended)
                case Blame(peer=peer):
                    self.blamed.add((name, peer))
                case RoundOver(summary=summary):
                    self._over[name] = summary


def question(number=0):
    """A request whose ciphertexts nobody looks at."""
    return msgspec.msgpack.encode(TransferRequest(5, b"", b"", b"%d" % number))


class Together:
    """Hospitals that work together, and what they opened.

    Args:
        names: theirs.
        honest: all others, by name.
    """

    def __init__(self, names, honest):
        self.names, self.honest = names, honest
        self.shares, self.keys = defaultdict(dict), defaultdict(set)
        self.salts = defaultdict(dict)
        self.parts = defaultdict(lambda: defaultdict(set))
        self.fits, self.sums = {}, []

    def ask(self, teacher, student, round, attempt, senders, request):
        """Ask for a share of a sum."""
        honest = self.honest[teacher]
        asked = Ask(round, attempt, request, 0, senders)
        for reply in honest.tell(student, asked):
            if isinstance(reply, Answer):
                what = student, round, attempt, senders, request
                now = teacher, honest.host.version
                if reply.summed:
                    fit = self.fits.setdefault(reply.payload, now)  # equal bytes, the same fit
                    self.shares[what][teacher] = fit
                    self.salts[what][teacher] = reply.payload[-SALT_BYTES:]
                elif teacher not in self.shares[what]:
                    self.shares[what][teacher] = now
                    self.sums.append([now])

    def reveal(self, teacher, student, round, attempt):
        """Ask for the key of the share that was made last; note a sum that this opens."""
        replies = self.honest[teacher].tell(student, Reveal(round, attempt))
        if not any(isinstance(reply, Key) for reply in replies):
            return
        for what in self._with_share_of(teacher, student, round, attempt):
            self.keys[what].add(teacher)
            self._open(what)

    def recover(self, teacher, student, round, attempt, lost):
        """Ask for parts of the keys of others; note a sum that this opens."""
        held = self._with_share_of(teacher, student, round, attempt)
        known = self.salts[held[0]] if held else {}
        salts = tuple(known.get(name, bytes(SALT_BYTES)) for name in lost)
        replies = self.honest[teacher].tell(student, Recover(round, attempt, lost, salts))
        if not any(isinstance(reply, Parts) for reply in replies):
            return
        for what in held:
            for name in lost:
                self.parts[what][name].add(teacher)
            self._open(what)

    def _with_share_of(self, teacher, student, round, attempt):
        asked = student, round, attempt
        return [what for what, made in self.shares.items() if what[:3] == asked and teacher in made]

    def _open(self, what):
        """Every share and its key: given, or from parts of enough of the others and their own."""
        needed, shares = set(what[3]) - set(self.names), self.shares[what]
        if not needed or not needed <= set(shares):
            return
        sums = next(iter(self.honest.values())).machine.settings.sums
        spare = sums.spare(what[0], what[3])
        for name in needed - self.keys[what]:
            helping = len(self.parts[what][name]) + len(what[3]) - len(needed)
            if not spare or helping < len(what[3]) - spare:
                return
        self.sums.append([shares[name] for name in sorted(needed)])

    def known_of(self):
        """By honest hospital: how many functions of its fits alone follow from all sums."""
        fits = sorted({fit for one in self.sums for fit in one})
        rows = np.array([[float(fit in one) for fit in fits] for one in self.sums])
        if not self.sums:
            return dict.fromkeys(self.honest, 0)
        rank = np.linalg.matrix_rank(rows)
        known = {}
        for name in self.honest:
            others = rows[:, [fit[0] != name for fit in fits]]
            rest = np.linalg.matrix_rank(others) if others.size else 0
            known[name] = int(rank - rest)
        return known
