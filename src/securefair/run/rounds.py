"""One algorithm on one seed, from where it stands to its end, with a checkpoint after each round.

Everything that is run in rounds comes through here: `securefair run`, `sf.collaborate` and the
experiments of the papers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Protocol

from securefair.model.stored import Function, is_stored, to_bytes
from securefair.records import RoundRecord
from securefair.run.entry import Entry, RunState
from securefair.run.resumable import ResumableRun


class BeginRun(Protocol):
    """Makes a run as it is before its first round."""

    def __call__(self, *, trained: bool) -> ResumableRun:
        """`trained` False leaves out what a snapshot replaces."""
        ...


def run_rounds(
    begin: BeginRun,
    entry: Entry,
    total: int,
    heard: Callable[[RoundRecord], None],
    *,
    keeps_models: bool = True,
) -> ResumableRun | None:
    """Run what is left of so many rounds.

    Args:
        begin: the run.
        entry: what is known of it already; says all of it afterwards.
        total: rounds, those of earlier processes included.
        heard: is told of every round that is run here, when its checkpoint is written.
        keeps_models: whether a finished entry holds everyone's model and the last snapshot; where
            only records count these are large and of no use.

    Returns:
        The run at its end; None where an earlier process has finished it.
    """
    earlier = entry.state
    if earlier is not None and earlier.finished:
        return None
    started = time.perf_counter()

    def state(run: ResumableRun, *, finished: bool) -> RunState:
        keeps = keeps_models or not finished
        return RunState(
            rounds=len(entry.rounds),
            exchanges=len(entry.exchanges),
            seconds=time.perf_counter() - started + (earlier.seconds if earlier else 0.0),
            snapshot=run.saved_state() if keeps else None,
            finished=finished,
            facts=run.facts() if finished else None,
            interrupted=earlier.interrupted + 1 if earlier else 0,
            models=_stored(run.models()) if finished and keeps else {},
        )

    run = begun(begin, entry)
    for record in run.rounds(total):
        entry.append([record], run.exchanges[len(entry.exchanges) :])
        if entry.path is not None:
            entry.save(state(run, finished=False))
        heard(record)
    entry.save(state(run, finished=True))
    return run


def _stored(models: Mapping[str, Function]) -> dict[str, bytes]:
    """Everyone's model as bytes; none where some only predict: whoever wants them begins again."""
    if not all(map(is_stored, models.values())):
        return {}
    return {name: to_bytes(model) for name, model in models.items()}


def begun(begin: BeginRun, entry: Entry) -> ResumableRun:
    """The run as the entry's state has it, or before its first round."""
    state = entry.state
    run = begin(trained=state is None)
    if state is not None and state.snapshot is not None:
        run.restore(state.snapshot, state.rounds, entry.exchanges)
    return run
