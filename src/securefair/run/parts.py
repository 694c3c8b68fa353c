"""One algorithm on one seed: what a run consists of, and what each part leaves behind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from securefair.collaboration.controls import Control
from securefair.collaboration.host import FittedToAll
from securefair.collaboration.kept import has_estimates, kept_estimates
from securefair.collaboration.kinds import AnyKind
from securefair.data import ParticipantData, TableSpec
from securefair.model.stored import from_bytes
from securefair.prediction.effects import ColumnEstimate
from securefair.records import RoundRecord
from securefair.report import Progress
from securefair.run.checkpoint import Checkpoint
from securefair.run.entry import Entry
from securefair.run.results import Repetition
from securefair.run.rounds import ReferenceRun, RunInRounds, run_rounds
from securefair.sites.simulation.starting import simulated

if TYPE_CHECKING:
    from securefair.model.heads import Head


@dataclass(frozen=True, eq=False, kw_only=True)
class Part:
    """One algorithm on one seed.

    Attributes:
        what: a kind of collaboration, or the control of one.
        rounds: from its first to its last.
        data: of everyone.
        agreement: of a collaboration.
        renewed: who asks its peers anew later, in order.
        models: that everyone starts from, by name; None: as the configuration says.
        rules: of tables, by participant; empty where samples are numbers.
        kept: whether its models are those that participants keep.
        repeated: whether the run has other seeds.
        keeps_heads: whether everyone's last model is wanted as it trains.
        small: whether it is of the run with fewer samples.
        checkpoint: where every round is written down; None: in memory only.
    """

    name: str
    what: AnyKind | Control
    rounds: int
    seed: int
    data: Sequence[ParticipantData]
    agreement: Any = None
    renewed: Sequence[str] = ()
    models: Mapping[str, Head] | None = None
    rules: Mapping[str, TableSpec] = field(default_factory=dict)
    kept: bool = False
    repeated: bool = False
    keeps_heads: bool = False
    small: bool = False
    checkpoint: Checkpoint | None = None

    @property
    def controls(self) -> bool:
        """Whether nobody learns from anybody else in it, or not as in a collaboration."""
        return isinstance(self.what, Control)

    @property
    def loads(self) -> tuple[str, ...]:
        """See `Kind.loads`."""
        return self.what.loads

    @property
    def shared(self) -> int | None:
        """Equal for parts that go on with what another of them has fitted; None: with nothing."""
        if isinstance(self.what, Control) and self.what.shares:
            return id(self.what.members)
        return None

    @property
    def length(self) -> tuple[int, int, bool, int]:
        """Larger where it takes longer, as far as is known before; no time, only an order.

        Controls are fits that take a second, but for those that train networks once a fold; then
        rounds tell, whether estimates are made, and the samples.
        """
        trainings = self.what.trainings if isinstance(self.what, Control) else 1
        return trainings, self.rounds, self.kept, sum(len(one.train) for one in self.data)

    def begin(self, entry: Entry, closing: ExitStack) -> RunInRounds:
        """As its stores have it, or before its first round; they are closed with `closing`."""
        what, seed = self.what, self.seed
        if isinstance(what, Control):
            return ReferenceRun(what.algorithm, what.members, seed)
        run = simulated(
            what,
            self.agreement,
            self.data,
            seed=seed,
            models=self.models,
            folder=entry.stores,
            renewed=self.renewed,
        )
        closing.callback(run.close)
        if entry.state is not None and entry.state.seen is not None:
            run.go_on(entry.state.seen, entry.state.rounds, entry.exchanges)
        return run

    def end(self, entry: Entry, closing: ExitStack) -> RunInRounds:
        """As it was when an earlier process had finished it."""
        run = self.begin(entry, closing)
        if isinstance(self.what, Control):
            list(run.rounds(self.rounds))
        return run

    def estimated(self, run: RunInRounds) -> dict[str, list[ColumnEstimate]]:
        """What is told of coefficients: by whom models are kept, where columns have names."""
        rules, people = self.rules, self.data
        if not self.kept or not has_estimates(rules.get(people[0].name), people[0]):
            return {}
        found = run.estimates()
        return {
            one.name: kept_estimates(rules.get(one.name), one, partial(found.get, one.name))
            for one in people
        }

    def refitted(self, run: RunInRounds) -> Mapping[str, FittedToAll]:
        """Models that are kept, fitted anew to all of everyone's own samples."""
        return run.fitted_to_all() if self.kept else {}

    def stamped(self, record: RoundRecord) -> RoundRecord:
        """A record of it, which says its seed where the run has others."""
        return msgspec.structs.replace(record, seed=self.seed) if self.repeated else record

    def begins_anew(self, entry: Entry) -> bool:
        """Whether an earlier process has left nothing that could be gone on with."""
        if isinstance(self.what, Control) or entry.state is None or entry.state.finished:
            return False
        lost = entry.stores is None or not any(entry.stores.glob("*"))
        return lost or bool(self.renewed)  # which no store knows of


Heard = Callable[[Part, RoundRecord], None]
"""Is told of every round of a part, in the order of one process."""


def carry_out(part: Part, progress: Progress, heard: Heard) -> Repetition:
    """Run one algorithm to its end, from where the checkpoint says it stands.

    Args:
        part: what to run.
        progress: shows every round that is run here.
        heard: is told of them.

    Returns:
        What this algorithm made of this seed; no data.
    """
    name = part.name
    done = Repetition(part.seed, [])
    checkpoint = part.checkpoint
    entry = Entry(None) if checkpoint is None else checkpoint.entry(part.seed, name)
    if part.begins_anew(entry):
        entry.restart()
    shown = progress.start(
        name,
        part.rounds,
        part.seed if part.repeated else None,
        done=len(entry.rounds),
        small=part.small,
    )

    def advance(record: RoundRecord) -> None:
        record = part.stamped(record)
        shown.advance(record)
        heard(part, record)

    with ExitStack() as closing:
        run: RunInRounds | None = None
        if entry.state is None or not entry.state.finished:
            run = part.begin(entry, closing)
            run_rounds(
                run,
                entry,
                part.rounds,
                advance,
                estimated=partial(part.estimated, run),
                refitted=partial(part.refitted, run),
            )
        if part.keeps_heads and not part.controls:
            done.heads[name] = (run or part.end(entry, closing)).heads()
        if entry.state is not None and not entry.state.models:  # they only predict
            done.models[name] = (run or part.end(entry, closing)).models()
    shown.finish()
    if not part.keeps_heads:
        entry.drop_stores()
    last = entry.state
    if last is None:
        raise LookupError("a finished algorithm has a state")
    done.rounds[name] = list(map(part.stamped, entry.rounds))
    done.exchanges[name] = entry.exchanges
    done.seconds[name] = last.seconds
    done.estimates[name] = last.estimates
    done.refitted[name] = {
        owner: FittedToAll(from_bytes(data, where=f"{name}, {owner}"), temperature)
        for owner, (data, temperature) in last.refitted.items()
    }
    done.interrupted = last.interrupted
    if last.facts is not None:
        done.runs[name] = last.facts
    if last.models:
        done.models[name] = {
            owner: from_bytes(data, where=f"{name}, {owner}") for owner, data in last.models.items()
        }
    return done
