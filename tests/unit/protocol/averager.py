"""One machine that averages, with its peers played by hand."""

import dataclasses

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
from securefair.protocol.jobs import (
    Adapt,
    Adapted,
    Imported,
    ImportPeer,
    PrepareAsk,
    Prepared,
    PrepareKeysAndFeatures,
    Questions,
)
from securefair.protocol.ledger import DisclosurePolicy
from securefair.protocol.machine import ParticipantMachine
from securefair.protocol.messages import (
    PROTOCOL_VERSION,
    Answer,
    Ask,
    Hello,
    Key,
    Keys,
    Offer,
)
from securefair.protocol.settings import MachineSettings, SumSettings

PEERS = ("bea", "cem", "dan", "eve")
NEIGHBOURS = PEERS[:3]
SETTINGS = MachineSettings(
    collaboration=bytes(32),
    forced_every=4,
    always_share=False,
    disclosure=DisclosurePolicy(
        release="alignment",
        classes=2,
        rows=1,
        teacher_parameters=100,
        fraction_per_version=None,
    ),
    round_seconds=10.0,
    sums=SumSettings(
        name="ann",
        senders={
            "ann": NEIGHBOURS,
            "bea": ("ann", "cem", "dan", "eve"),
            "cem": ("ann", "bea", "dan"),
            "dan": ("ann", "bea", "cem"),
        },
    ),
)
WILLING = dict.fromkeys(NEIGHBOURS, 1.0)


class Stage:
    """One machine in a round without alignments, in which its own step has been taken."""

    def __init__(
        self,
        probabilities=WILLING,
        *,
        min_senders=2,
        settled=True,
        introduced=PEERS,
        sums=SETTINGS.sums,
    ):
        sums = dataclasses.replace(sums, min_senders=min_senders)
        self.machine = ParticipantMachine("ann", PEERS, dataclasses.replace(SETTINGS, sums=sums))
        self.begin(0)
        self.done(PrepareKeysAndFeatures(), Prepared(Keys(0, b"own", b"sums"), None))
        keys = Keys(0, b"theirs", b"sums")
        for peer in introduced:
            self.hear(peer, Hello(PROTOCOL_VERSION, bytes(32)))
            self.hear(peer, keys)
            self.done(ImportPeer(peer, keys, None), Imported())
        self.round = 0
        self.settled = self.machine.handle(Expired(0))
        if settled:
            self.offered = self.done(Adapt(0, (), ()), Adapted(probabilities))

    def begin(self, number):
        self.round = number
        return self.machine.handle(Begin(number, dict.fromkeys(PEERS, 0.5), number))

    def hear(self, sender, message):
        return self.machine.handle(Received(sender, message))

    def done(self, job, result):
        return self.machine.handle(Done(job, result))

    def failed(self, job, error="broken"):
        return self.machine.handle(Failed(job, error, None))

    def expire(self):
        return self.machine.handle(Expired(self.round))

    def linked(self, *senders):
        """Everyone's offers; effects of the last."""
        for name in NEIGHBOURS:
            effects = self.hear(name, Offer(self.round, name in senders))
        return effects

    def asked(self, *senders, attempt=0):
        """Requests are made and sent."""
        requests = {name: f"{name} {attempt}".encode() for name in senders}
        return self.done(PrepareAsk(self.round, attempt, senders, summed=True), Questions(requests))

    def closed(self, *senders, attempt=0):
        for name in senders:
            effects = self.hear(name, Answer(self.round, attempt, f"part {name}".encode(), True))
        return effects

    def keys(self, *senders, attempt=0):
        for name in senders:
            effects = self.hear(name, Key(self.round, attempt, f"key {name}".encode()))
        return effects


def sent(effects, kind):
    return {
        e.peer: e.message for e in effects if isinstance(e, Send) and isinstance(e.message, kind)
    }


def jobs(effects):
    return [effect.job for effect in effects if isinstance(effect, Run)]


def over(effects):
    summaries = [effect.summary for effect in effects if isinstance(effect, RoundOver)]
    return summaries[0] if summaries else None


def blamed(effects, *declined):
    """The blame, after messages that decline."""
    *sent, blame = effects
    assert [one.message for one in sent] == list(declined)
    assert isinstance(blame, Blame)
    return blame


def gather(*senders, attempt=0, number=0, request=b"w"):
    return Ask(number, attempt, request, 0, senders)
