"""Run an experiment: every contender on every seed; finished runs are kept, rounds resumable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from securefair.algorithms.cohort import Cohort
from securefair.errors import ConfigError
from securefair.papers.checkpoint import load_state, save_state
from securefair.papers.experiment import (
    Contender,
    Experiment,
    Fields,
    Finished,
    Row,
    Size,
)
from securefair.papers.reference import printed, printed_rows
from securefair.records import RoundRecord
from securefair.report import Progress, read_json, read_json_lines, write_json, write_json_lines

FINGERPRINT = "experiment.json"


class Fingerprint(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a folder of runs belongs to: results of another experiment are never mixed in."""

    experiment: str
    size: str
    seeds: int
    device: str = "cpu"  # results differ in their last digits, and a state belongs to its device


def run_experiment(
    experiment: Experiment,
    size: Size,
    *,
    seeds: int,
    data: Path | None,
    papers: Path | None,
    out: Path,
    resume: bool,
    progress: Progress,
    runs: Path | None = None,
    device: str = "cpu",
) -> list[Row]:
    """All rows of the comparison; see `finished_runs` and `compared_rows`.

    Raises:
        ConfigError: the folder holds another experiment, or runs although `resume` is off.
        DataError: data are missing, or a checkpoint is damaged.
    """
    finished = finished_runs(
        experiment,
        size,
        seeds=seeds,
        data=data,
        out=out,
        resume=resume,
        progress=progress,
        runs=runs,
        device=device,
    )
    return compared_rows(experiment, size, finished, seeds=seeds, data=data, papers=papers)


def finished_runs(
    experiment: Experiment,
    size: Size,
    *,
    seeds: int,
    data: Path | None,
    out: Path,
    resume: bool,
    progress: Progress,
    runs: Path | None = None,
    device: str = "cpu",
) -> list[Finished]:
    """Every contender with every seed, seeds of one contender next to each other.

    Every round leaves a checkpoint; with `resume` a run goes on from there, to the same result as
    without the interruption.

    Args:
        runs: a folder of finished runs that experiments of one paper and size share: what is there
            is not run again, what is not is put there. Runs of other settings or of another
            version are not taken. None: `out`/runs.
        device: where networks are trained; what has none, such as forests, stays where it is.

    Raises:
        ConfigError: the folder holds another experiment, or runs although `resume` is off.
        DataError: data are missing, or a checkpoint is damaged.
    """
    contenders = experiment.contenders(size, data)
    if contenders and not (out / FINGERPRINT).exists():
        contenders[0].members(0)  # without its data an experiment should leave no folder behind
    mine = Fingerprint(experiment=experiment.name, size=size, seeds=seeds, device=device)
    _claim_folder(out, mine, resume)
    apart = "" if device == "cpu" else f"-{device}"
    folder = out / "runs" if runs is None else runs / f"{experiment.paper}-{size}{apart}"
    # One count for everything, so that the remaining time is that of the experiment.
    progress.start(experiment.name, seeds * sum(contender.rounds for contender in contenders))
    found: dict[tuple[int, int], list[RoundRecord]] = {}
    for index, contender in enumerate(contenders):
        for seed in range(seeds):
            found[index, seed] = _run(contender, seed, folder, progress, device)
    progress.finish()
    controls = [
        next(
            (i for i, c in enumerate(contenders) if c.control and c.setting == contender.setting),
            index,
        )
        for index, contender in enumerate(contenders)
    ]
    return [
        Finished(contender, seed, found[index, seed], found[controls[index], seed])
        for index, contender in enumerate(contenders)
        for seed in range(seeds)
    ]


def compared_rows(
    experiment: Experiment,
    size: Size,
    finished: Sequence[Finished],
    *,
    seeds: int,
    data: Path | None,
    papers: Path | None,
) -> list[Row]:
    """Means and spreads over seeds beside the paper's numbers, in the order of the contenders.

    Contenders whose metrics are empty, such as controls that the paper does not print, have none.

    Raises:
        DataError: the paper's tables are not what they should be, or data are missing.
    """
    reference = printed_rows(experiment, papers)
    rows = []
    for start in range(0, len(finished), seeds):
        each = [experiment.metrics(run) for run in finished[start : start + seeds]]
        contender = finished[start].contender
        if each[0]:
            rows.append(_row(contender.fields, each, printed(reference, contender.printed_as)))
    if experiment.measure is not None:
        measured = [experiment.measure(size, data, seed) for seed in range(seeds)]
        for same in zip(*measured, strict=True):
            fields = same[0].fields
            rows.append(_row(fields, [m.metrics for m in same], printed(reference, fields)))
    return rows


def _row(fields: Fields, each: Sequence[Mapping[str, float]], paper: Mapping[str, float]) -> Row:
    return Row(
        fields=fields,
        metrics={k: float(np.mean([m[k] for m in each])) for k in each[0]},
        spread={
            k: float(np.std([m[k] for m in each], ddof=1)) if len(each) > 1 else 0.0
            for k in each[0]
        },
        paper=paper,
        each={k: [m[k] for m in each] for k in each[0]},
    )


def _claim_folder(out: Path, mine: Fingerprint, resume: bool) -> None:
    path = out / FINGERPRINT
    if path.exists():
        theirs = read_json(path, Fingerprint)
        if theirs != mine:
            raise ConfigError(
                "the folder holds another experiment",
                where=str(out),
                found=f"{theirs.experiment}, {theirs.size}, {theirs.seeds} seeds, {theirs.device}",
                expected=f"{mine.experiment}, {mine.size}, {mine.seeds} seeds, {mine.device}",
                hint="Choose another --out",
            )
        if not resume:
            raise ConfigError(
                "the folder holds this experiment already",
                where=str(out),
                hint="Add --resume to go on with it, or choose another --out",
            )
    write_json(path, mine)


def _run(
    contender: Contender, seed: int, folder: Path, progress: Progress, device: str
) -> list[RoundRecord]:
    finished = folder / f"{contender.label}-{contender.key}-s{seed}.jsonl"
    if finished.exists():
        records = read_json_lines(finished, RoundRecord)
        for done in records:
            progress.advance(done)
        return records
    state_file = finished.with_suffix(".state.npz")
    partial = finished.with_suffix(".partial.jsonl")
    members = _on(device, contender.members(seed))
    records = []
    if state_file.exists():
        state = load_state(state_file, device)
        records = read_json_lines(partial, RoundRecord)[: state.round]
    else:
        state = contender.algorithm.init(members, seed)
    for done in records:
        progress.advance(done)
    while len(records) < contender.rounds:
        state, record = contender.algorithm.round(state, members)
        records.append(record)
        if len(records) < contender.rounds:
            # Records first: a state without its records could not be resumed, the reverse can.
            write_json_lines(partial, records)
            save_state(state_file, state)
        progress.advance(record)
    write_json_lines(finished, records)
    for file in (state_file, partial):
        file.unlink(missing_ok=True)
    return records


def _on(device: str, members: Any) -> Any:
    """The same participants, whose networks train on a device."""
    if isinstance(members, Cohort) and members.device != device:
        return replace(members, device=device)
    return members


def claims_held(experiment: Experiment, rows: Sequence[Row]) -> list[tuple[str, bool]]:
    """Each claim of the paper in words, and whether these rows show it."""
    return [(claim.words, claim.holds(rows)) for claim in experiment.claims]
