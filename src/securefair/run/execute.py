"""A configuration in, records and a report out: the main job of program and library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import msgspec

from securefair.collaboration.controls import Control, ceiling_of
from securefair.collaboration.host import FittedToAll
from securefair.collaboration.kept import has_estimates, kept_estimates
from securefair.collaboration.kinds import AnyKind
from securefair.collaboration.privacy import caveats_of
from securefair.collaboration.resolved import ResolvedRun, smaller_config
from securefair.config import RunConfig
from securefair.data.findings import by_site
from securefair.data.table import class_names
from securefair.errors import SecureFairError
from securefair.model.outcomes import outcome_of
from securefair.model.stored import from_bytes
from securefair.prediction.effects import ColumnEstimate
from securefair.prediction.versions import versions
from securefair.records import CEILING, STANDALONE, RoundRecord
from securefair.report import Progress
from securefair.run.callbacks import Callback, tell_models
from securefair.run.checkpoint import FOLDER as UNFINISHED
from securefair.run.checkpoint import Checkpoint, is_unfinished
from securefair.run.entry import Entry
from securefair.run.folder import SMALLER, write_run
from securefair.run.kept import kept_models
from securefair.run.results import Outcome, Repetition, conclude
from securefair.run.rounds import ReferenceRun, RunInRounds, run_rounds
from securefair.sites.simulation.starting import simulated


def run_resolved(
    run: ResolvedRun,
    progress: Progress,
    *,
    out: Path | None = None,
    resume: bool = False,
    callbacks: Sequence[Callback] = (),
) -> Outcome:
    """Run every algorithm on every seed, and once more where smaller participants are asked for.

    Args:
        run: what to run.
        progress: hears of every round.
        out: folder of the results, where a checkpoint is kept meanwhile; None keeps none.
        resume: take up the checkpoint that is there, and give what the run would have given.
        callbacks: hear of every round in which participants learn from each other, but for those
            that an earlier process has finished.

    Raises:
        SecureFairError: data cannot be read, settings contradict each other, the plan is
            impossible, or training diverged. A checkpoint that was begun here is removed again.
        KeyboardInterrupt: the checkpoint stays.
    """
    smaller, run = run.smaller(), run.load()
    run.tables.forget()
    outcome = _run_all(run, progress, out=out, resume=resume, callbacks=callbacks)
    if smaller is not None:
        inner = None if out is None else out / SMALLER
        begun = resume and inner is not None and is_unfinished(inner)
        outcome.smaller = _run_all(smaller, progress, out=inner, resume=begun)
    return outcome


def _run_all(
    run: ResolvedRun,
    progress: Progress,
    *,
    out: Path | None,
    resume: bool,
    callbacks: Sequence[Callback] = (),
) -> Outcome:
    """See `run_resolved`; data are loaded."""
    config = run.config
    repetitions = {seed: Repetition(seed, data) for seed, data in run.data.items()}
    checkpoint = None
    if out is not None:
        begun = Checkpoint.resume if resume else Checkpoint.begin
        checkpoint = begun(out, config, run.data, run.models, versions())
    try:
        for seed, repetition in repetitions.items():
            for part in _parts(run, seed):
                _run_part(part, repetition, progress, checkpoint, callbacks)
    except SecureFairError:
        if checkpoint is not None and not checkpoint.resumed:
            checkpoint.remove()
        raise
    outcome = conclude(config.run, list(repetitions.values()), caveats=caveats_of(config))
    first = repetitions[config.run.seeds[0]]
    samples = first.data[0].train
    strata = outcome_of(samples).strata
    classes = strata or run.classes or class_names(run.rules, samples.classes)
    outcome.result = msgspec.structs.replace(
        outcome.result, classes=list(classes), findings=by_site(run.findings)
    )
    outcome.models = kept_models(run, first, outcome.result, versions())
    tell_models(callbacks, outcome.models)
    return outcome


def write_outcome(outcome: Outcome, config: RunConfig, out: Path) -> None:
    """Write every file of a run, each atomically; a checkpoint of it is then removed.

    Args:
        outcome: outcome of `run_resolved`.
        config: that it was given, with the rules of tables spelt out (`user.tables.resolve`):
            tables may have changed since.
        out: folder of the results.

    Raises:
        OSError: the folder cannot be written.
    """
    smaller = smaller_config(config)
    if outcome.smaller is not None and smaller is not None:
        write_outcome(outcome.smaller, smaller, out / SMALLER)
    write_run(outcome, config, out, versions=versions())
    if is_unfinished(out):
        Checkpoint(out / UNFINISHED, resumed=False).remove()


@dataclass(frozen=True, eq=False, kw_only=True)
class _Part:
    """One algorithm on one seed.

    Attributes:
        what: a kind of collaboration, or the control of one.
        repeated: whether the run has other seeds.
    """

    name: str
    what: AnyKind | Control
    run: ResolvedRun
    seed: int
    repeated: bool

    @property
    def rounds(self) -> int:
        if isinstance(self.what, Control):
            return self.what.rounds
        return self.what.rounds(self.run.config)

    def begin(self, entry: Entry, closing: ExitStack) -> RunInRounds:
        """As its stores have it, or before its first round; they are closed with `closing`."""
        what, seed = self.what, self.seed
        if isinstance(what, Control):
            return ReferenceRun(what.algorithm, what.members, seed)
        run = simulated(
            what,
            self.run.config,
            self.run.agreements[seed][what.name],
            self.run.data[seed],
            seed=seed,
            models=self.run.models,
            folder=entry.stores,
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
        asked, rules_of = self.run.config.run, self.run.rules_of
        people = self.run.data[self.seed]
        told = self.name == asked.main and self.seed == asked.seeds[0]
        if not told or not has_estimates(rules_of(people[0].name), people[0]):
            return {}
        found = run.estimates()
        return {
            one.name: kept_estimates(rules_of(one.name), one, partial(found.get, one.name))
            for one in people
        }

    def refitted(self, run: RunInRounds) -> Mapping[str, FittedToAll]:
        """Models that are kept, fitted anew to all of everyone's own samples."""
        asked = self.run.config.run
        kept = self.name == asked.main and self.seed == asked.seeds[0]
        return run.fitted_to_all() if kept else {}

    def begins_anew(self, entry: Entry) -> bool:
        """Whether an earlier process has left nothing that could be gone on with."""
        if isinstance(self.what, Control) or entry.state is None or entry.state.finished:
            return False
        lost = entry.stores is None or not any(entry.stores.glob("*"))
        return lost or bool(self.run.config.renewals)  # which no store knows of


def _parts(run: ResolvedRun, seed: int) -> list[_Part]:
    """The algorithms of a run in their order; where there are gains, with all controls."""
    config, kinds, data = run.config, run.kinds, run.data[seed]
    names = list(config.run.algorithms)
    controls = dict(run.controlling.controls(config, data, models=run.models))
    if kinds:
        first = names.index(STANDALONE)
        names[first : first + 1] = list(controls)
    if config.run.ceiling:
        names.append(CEILING)
        controls[CEILING] = ceiling_of(config, data)
    return [
        _Part(
            name=name,
            what=kinds[name] if name in kinds else controls[name],
            run=run,
            seed=seed,
            repeated=len(config.run.seeds) > 1,
        )
        for name in names
    ]


def _run_part(
    part: _Part,
    repetition: Repetition,
    progress: Progress,
    checkpoint: Checkpoint | None,
    callbacks: Sequence[Callback],
) -> None:
    """Run one algorithm to its end, from where the checkpoint says it stands."""
    name = part.name
    entry = Entry(None) if checkpoint is None else checkpoint.entry(part.seed, name)
    if part.begins_anew(entry):
        entry.restart()
    progress.start(name, part.rounds, part.seed if part.repeated else None, done=len(entry.rounds))

    def heard(record: RoundRecord) -> None:
        progress.advance(record)
        if not isinstance(part.what, Control):
            for callback in callbacks:
                callback.on_round(record)

    with ExitStack() as closing:
        run: RunInRounds | None = None
        if entry.state is None or not entry.state.finished:
            run = part.begin(entry, closing)
            run_rounds(
                run,
                entry,
                part.rounds,
                heard,
                estimated=partial(part.estimated, run),
                refitted=partial(part.refitted, run),
            )
        if part.run.keeps_heads and not isinstance(part.what, Control):
            repetition.heads[name] = (run or part.end(entry, closing)).heads()
        if entry.state is not None and not entry.state.models:  # they only predict
            repetition.models[name] = (run or part.end(entry, closing)).models()
    progress.finish()
    if not part.run.keeps_heads:
        entry.drop_stores()
    last = entry.state
    if last is None:
        raise LookupError("a finished algorithm has a state")
    repetition.rounds[name], repetition.exchanges[name] = entry.rounds, entry.exchanges
    repetition.seconds[name] = last.seconds
    repetition.estimates[name] = last.estimates
    repetition.refitted[name] = {
        owner: FittedToAll(from_bytes(data, where=f"{name}, {owner}"), temperature)
        for owner, (data, temperature) in last.refitted.items()
    }
    repetition.interrupted += last.interrupted
    if last.facts is not None:
        repetition.runs[name] = last.facts
    if last.models:
        repetition.models[name] = {
            owner: from_bytes(data, where=f"{name}, {owner}") for owner, data in last.models.items()
        }
