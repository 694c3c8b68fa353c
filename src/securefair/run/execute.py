"""A configuration in, records and a report out: the main job of program and library."""

from __future__ import annotations

from collections.abc import Sequence
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
from securefair.report import Progress
from securefair.run.callbacks import Callback, Telling, tell_models
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
    outcome = _run_all(run, progress, processes, out=out, resume=resume, callbacks=callbacks)
    if smaller is not None:
        inner = None if out is None else out / SMALLER
        begun = resume and inner is not None and is_unfinished(inner)
        outcome.smaller = _run_all(smaller, progress, processes, out=inner, resume=begun)
    return outcome


def _run_all(
    run: ResolvedRun,
    progress: Progress,
    processes: int,
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
        checkpoint = begun(out, toml_of(config), run.data, run.models, versions())
    parts = [part for seed in repetitions for part in parts_of(run, seed)]

    def told(part: Part) -> Progress:
        return progress if part.controls else Telling(progress, callbacks)

    try:
        with carrying_out(parts, told, checkpoint, processes) as every:
            for done in every:
                repetitions[done.seed].add(done)
    except SecureFairError:
        if checkpoint is not None and not checkpoint.resumed:
            checkpoint.remove()
        raise
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
    tell_models(callbacks, outcome.models)
    return outcome
