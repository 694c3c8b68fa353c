"""A configuration in, records and a report out: the main job of program and library."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import msgspec

from securefair.collaboration.kept import ModelOrigin
from securefair.collaboration.kinds import toml_of
from securefair.collaboration.privacy import caveats_of
from securefair.collaboration.resolved import ResolvedRun
from securefair.data.findings import by_site
from securefair.data.table import class_names
from securefair.errors import SecureFairError
from securefair.model.outcomes import outcome_of
from securefair.prediction.versions import versions
from securefair.records import RoundRecord
from securefair.report import Progress
from securefair.run.callbacks import Callback, tell_models
from securefair.run.checkpoint import Checkpoint, is_unfinished
from securefair.run.folder import SMALLER
from securefair.run.kept import kept_models
from securefair.run.parts import Part, parts_of
from securefair.run.processes import carrying_out
from securefair.run.results import Outcome, Repetition, conclude


def run_resolved(
    run: ResolvedRun,
    progress: Progress,
    *,
    out: Path | None = None,
    resume: bool = False,
    callbacks: Sequence[Callback] = (),
    processes: int = 1,
) -> Outcome:
    """Run every algorithm on every seed, and once more where smaller participants are asked for.

    Args:
        run: what to run.
        progress: hears of every round.
        out: folder of the results, where a checkpoint is kept meanwhile; None keeps none.
        resume: take up the checkpoint that is there, and give what the run would have given.
        callbacks: hear of every round in which participants learn from each other, but for those
            that an earlier process has finished.
        processes: that share the algorithms and seeds; 1: all in this one. Results are the same.

    Raises:
        SecureFairError: data cannot be read, settings contradict each other, the plan is
            impossible, or training diverged. A checkpoint that was begun here is removed again.
        KeyboardInterrupt: the checkpoint stays.
        ChildProcessError: one of the processes was ended; the checkpoint stays.
    """
    smaller, run = run.smaller(), run.load()
    run.tables.forget()
    begun = [_Begun.of(run, out, resume=resume)]
    if smaller is not None:
        inner = None if out is None else out / SMALLER
        taken_up = resume and inner is not None and is_unfinished(inner)
        begun.append(_Begun.of(smaller, inner, resume=taken_up))

    def heard(part: Part, record: RoundRecord) -> None:
        if not part.controls and not part.run.small:
            for callback in callbacks:
                callback.on_round(record)

    try:
        parts = [part for one in begun for part in one.parts]
        with carrying_out(parts, progress, heard, processes) as every:
            outcome, *once_more = [one.outcome(every, callbacks) for one in begun]
    except SecureFairError:
        for one in reversed(begun):  # a folder in a folder first
            one.drop()
        raise
    outcome.smaller = next(iter(once_more), None)
    return outcome


@dataclass(frozen=True, eq=False)
class _Begun:
    """A run whose data are loaded.

    Attributes:
        checkpoint: where its rounds are written down; None: in memory only.
        parts: in the order of one process.
    """

    run: ResolvedRun
    checkpoint: Checkpoint | None
    parts: Sequence[Part]

    @classmethod
    def of(cls, run: ResolvedRun, out: Path | None, *, resume: bool) -> _Begun:
        """Ready to be computed; see `run_resolved`."""
        checkpoint = None
        if out is not None:
            begun = Checkpoint.resume if resume else Checkpoint.begin
            checkpoint = begun(out, toml_of(run.config), run.data, run.models, versions())
        parts = [part for seed in run.data for part in parts_of(run, seed, checkpoint)]
        return cls(run, checkpoint, parts)

    def drop(self) -> None:
        """Nothing will come of it: what was begun here goes."""
        if self.checkpoint is not None and not self.checkpoint.resumed:
            self.checkpoint.remove()

    def outcome(self, every: Iterator[Repetition], callbacks: Sequence[Callback]) -> Outcome:
        """What it leaves behind.

        Args:
            every: what parts leave behind, those of this run next.
            callbacks: hear of the models that are kept.
        """
        run, config = self.run, self.run.config
        repetitions = {seed: Repetition(seed, data) for seed, data in run.data.items()}
        for done in islice(every, len(self.parts)):
            repetitions[done.seed].add(done)
        caveats = caveats_of(ranges_told=config.tells_ranges, seeds=len(config.run.seeds))
        outcome = conclude(config.run, list(repetitions.values()), caveats=caveats)
        first = repetitions[config.run.seeds[0]]
        samples = first.data[0].train
        strata = outcome_of(samples).strata
        classes = strata or run.classes or class_names(run.rules, samples.classes)
        outcome.result = msgspec.structs.replace(
            outcome.result, classes=list(classes), findings=by_site(run.findings)
        )
        outcome.models = kept_models(
            ModelOrigin.of(config), run.own_rules, first, outcome.result, versions()
        )
        if not run.small:
            tell_models(callbacks, outcome.models)
        return outcome
