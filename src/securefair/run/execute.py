"""A configuration in, records and a report out: the main job of program and library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import msgspec

from securefair.collaboration.controls import Control, ceiling_of
from securefair.collaboration.interface import PublicFacts
from securefair.collaboration.kept import table_rules
from securefair.collaboration.kinds import AnyKind, kind_of_controls
from securefair.config import RunConfig
from securefair.config.privacy import PrivacySection
from securefair.data import ParticipantData, TableSpec
from securefair.data.table import class_names
from securefair.errors import PlanError, SecureFairError
from securefair.model.heads import Head
from securefair.model.stored import from_bytes
from securefair.prediction.versions import versions
from securefair.records import CEILING, STANDALONE, RoundRecord
from securefair.report import Progress
from securefair.run.callbacks import Callback, tell_models
from securefair.run.checkpoint import FOLDER as UNFINISHED
from securefair.run.checkpoint import Checkpoint, is_unfinished
from securefair.run.entry import Entry
from securefair.run.folder import SMALLER, write_run
from securefair.run.kept import kept_models
from securefair.run.resolved import ResolvedRun, smaller_config
from securefair.run.results import Outcome, Repetition, conclude
from securefair.run.resumable import ReferenceRun, ResumableRun
from securefair.run.rounds import begun, run_rounds
from securefair.sites.simulation.starting import simulated
from securefair.user.participants import load_participants


@dataclass(frozen=True, eq=False, kw_only=True)
class Task:
    """What is to be run, with everything that a configuration only names.

    Attributes:
        config: with the rules of tables spelt out.
        kinds: of its algorithms, in its order.
        data: of everyone, by seed.
        models: that everyone starts from, by name; None: as the configuration says.
        keeps_heads: whether the outcome is to hold everyone's last model as it trains.
        rules: of tables that the configuration does not know of.
        classes: names of classes that it does not know of.
    """

    config: RunConfig
    kinds: Mapping[str, AnyKind]
    data: Mapping[int, list[ParticipantData]]
    models: Mapping[str, Head] | None = None
    keeps_heads: bool = False
    rules: TableSpec | None = None
    classes: Sequence[str] | None = None

    def check_plans(self) -> None:
        """Find out before a long run, not in it, for whom it is impossible.

        Raises:
            ConfigError, PlanError: names the participant where there is one.
            DataError: patients should be named by a column, and are not.
        """
        for seed, data in self.data.items():
            if self.config.privacy is not None and self.kinds:
                _check_promises(self.config.privacy, data)
            for kind in self.kinds.values():
                kind.check_plans(self.config, data, seed=seed)

    @classmethod
    def of(cls, run: ResolvedRun, *, outlines: bool = False) -> Task:
        """A resolved configuration with its data, as it is now.

        Args:
            run: what was resolved.
            outlines: as of `load_participants`: for whoever only plans.

        Raises:
            SecureFairError: data cannot be read, used or divided so.
        """
        config = run.config
        data = {
            seed: load_participants(config, seed, run.tables, outlines=outlines)
            for seed in config.run.seeds
        }
        return cls(config=config, kinds=run.kinds, data=data)


def _check_promises(terms: PrivacySection, data: Sequence[ParticipantData]) -> None:
    """Find out whose patients are too few for what is promised to them."""
    from securefair.collaboration.private import checked_target  # trains, so it takes torch

    for own in data:
        checked_target(own, terms)


def run_experiment(
    config: RunConfig,
    progress: Progress,
    *,
    out: Path | None = None,
    resume: bool = False,
    callbacks: Sequence[Callback] = (),
) -> Outcome:
    """Resolve a configuration and run it; see `run_resolved`.

    Raises:
        SecureFairError: as `run_resolved`, or the configuration cannot be resolved.
    """
    run = ResolvedRun.of(config)
    return run_resolved(run, progress, out=out, resume=resume, callbacks=callbacks)


def run_resolved(
    run: ResolvedRun,
    progress: Progress,
    *,
    out: Path | None = None,
    resume: bool = False,
    callbacks: Sequence[Callback] = (),
) -> Outcome:
    """Run every algorithm of a configuration on every seed; see `run_task`.

    Raises:
        SecureFairError: as `run_task`, or data cannot be read.
    """
    also, task = smaller_task(run), Task.of(run)
    run.tables.forget()
    outcome = run_task(task, progress, out=out, resume=resume, callbacks=callbacks)
    if also is not None:
        inner = None if out is None else out / SMALLER
        begun = resume and inner is not None and is_unfinished(inner)
        outcome.smaller = run_task(also, progress, out=inner, resume=begun)
    return outcome


def smaller_task(run: ResolvedRun, *, outlines: bool = False) -> Task | None:
    """What is run once more, for small participants; None where nothing is.

    Raises:
        ConfigError, PlanError: it is impossible with so few samples.
        SecureFairError: data cannot be read, used or divided so.
    """
    smaller = run.smaller()
    if smaller is None:
        return None
    task = Task.of(smaller, outlines=outlines)
    try:
        task.check_plans()
    except PlanError as error:
        raise PlanError(
            error.problem,
            where=f"run.smaller = {run.config.run.smaller}: {error.where}",
            found=error.found,
            expected=error.expected,
            hint=error.hint,
        ) from error
    return task


def run_task(
    task: Task,
    progress: Progress,
    *,
    out: Path | None = None,
    resume: bool = False,
    callbacks: Sequence[Callback] = (),
) -> Outcome:
    """Run every algorithm on every seed.

    Args:
        task: what to run.
        progress: hears of every round.
        out: folder of the results, where a checkpoint is kept meanwhile; None keeps none.
        resume: take up the checkpoint that is there, and give what the run would have given.
        callbacks: hear of every round in which participants learn from each other, but for those
            that an earlier process has finished.

    Raises:
        SecureFairError: settings contradict each other, the plan is impossible, or training
            diverged. A checkpoint that was begun here is removed again.
        KeyboardInterrupt: the checkpoint stays.
    """
    config = task.config
    repetitions = {seed: Repetition(data) for seed, data in task.data.items()}
    task.check_plans()
    checkpoint = None
    if out is not None:
        begun = Checkpoint.resume if resume else Checkpoint.begin
        checkpoint = begun(out, config, task.data, task.models, versions())
    try:
        for seed, repetition in repetitions.items():
            for part in _parts(task, seed):
                _run_part(part, repetition, progress, checkpoint, callbacks)
    except SecureFairError:
        if checkpoint is not None and not checkpoint.resumed:
            checkpoint.remove()
        raise
    outcome = conclude(config, list(repetitions.values()))
    own = repetitions[config.run.seeds[0]].data[0].train
    names = task.classes or class_names(task.rules or table_rules(config), own.classes)
    outcome.result = msgspec.structs.replace(outcome.result, classes=list(names))
    outcome.models = kept_models(
        config,
        repetitions[config.run.seeds[0]],
        versions(),
        rules=task.rules,
        classes=task.classes,
        verdict=outcome.result.algorithms[config.run.main].verdict,
    )
    tell_models(callbacks, outcome.models)
    return outcome


def write_outcome(outcome: Outcome, config: RunConfig, out: Path) -> None:
    """Write every file of a run, each atomically; a checkpoint of it is then removed.

    Args:
        outcome: of `run_experiment`.
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
    task: Task
    seed: int
    repeated: bool

    @property
    def rounds(self) -> int:
        if isinstance(self.what, Control):
            return self.what.rounds
        return self.what.rounds(self.task.config)

    def begin(self, entry: Entry, closing: ExitStack, *, trained: bool) -> ResumableRun:
        """As its stores have it, or before its first round; they are closed with `closing`."""
        del trained  # a control takes a single round
        what, task, seed = self.what, self.task, self.seed
        if isinstance(what, Control):
            return ReferenceRun(what.algorithm, what.members, seed)
        config, data = task.config, task.data[seed]
        agreement = what.agree(config, PublicFacts.of(data), seed=seed)
        run = simulated(
            what, config, agreement, data, seed=seed, models=task.models, folder=entry.stores
        )
        closing.callback(run.close)
        return run

    def begins_anew(self, entry: Entry) -> bool:
        """Whether an earlier process has left nothing that could be gone on with."""
        if isinstance(self.what, Control) or entry.state is None or entry.state.finished:
            return False
        lost = entry.stores is None or not any(entry.stores.glob("*"))
        return lost or bool(self.task.config.renewals)  # which no store knows of


def _parts(task: Task, seed: int) -> list[_Part]:
    """The algorithms of a run in their order; where there are gains, with all controls."""
    config, kinds, names = task.config, task.kinds, list(task.config.run.algorithms)
    controls = dict(kind_of_controls(config).controls(config, task.data[seed], models=task.models))
    if kinds:
        first = names.index(STANDALONE)
        names[first : first + 1] = list(controls)
    if config.run.ceiling:
        names.append(CEILING)
        controls[CEILING] = ceiling_of(config, task.data[seed])
    return [
        _Part(
            name=name,
            what=kinds[name] if name in kinds else controls[name],
            task=task,
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
        begin = partial(part.begin, entry, closing)
        run = run_rounds(begin, entry, part.rounds, heard)
        if part.task.keeps_heads and not isinstance(part.what, Control):
            repetition.heads[name] = (run or begun(begin, entry)).heads()
        if entry.state is not None and not entry.state.models:  # they only predict
            repetition.models[name] = (run or begun(begin, entry)).models()
    progress.finish()
    if not part.task.keeps_heads:
        entry.drop_stores()
    last = entry.state
    if last is None:
        raise LookupError("a finished algorithm has a state")
    repetition.rounds[name], repetition.exchanges[name] = entry.rounds, entry.exchanges
    repetition.seconds[name] = last.seconds
    repetition.interrupted += last.interrupted
    if last.facts is not None:
        repetition.runs[name] = last.facts
    if last.models:
        repetition.models[name] = {
            owner: from_bytes(data, where=f"{name}, {owner}") for owner, data in last.models.items()
        }
