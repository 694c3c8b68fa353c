"""Run an experiment: every contender on every seed; finished runs are kept, rounds resumable."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np

from securefair.errors import ConfigError
from securefair.records import RoundRecord
from securefair.report import Progress, read_json, read_json_lines, write_json, write_json_lines
from securefair.reproduction.checkpoint import load_state, save_state
from securefair.reproduction.experiment import Contender, Experiment, Finished, Row, Size
from securefair.reproduction.reference import printed, printed_rows


class Fingerprint(msgspec.Struct, frozen=True, kw_only=True):
    """What a folder of runs belongs to: results of another experiment are never mixed in."""

    experiment: str
    size: str
    seeds: int


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
) -> list[Row]:
    """All rows of the comparison, in the order of the contenders.

    Every round leaves a checkpoint under `out`/runs; with `resume` a run goes on from there, to the
    same result as without the interruption.

    Raises:
        ConfigError: the folder holds another experiment, or runs although `resume` is off.
        DataError: data are missing, or a checkpoint is damaged.
    """
    contenders = experiment.contenders(size, data)
    _claim_folder(out, Fingerprint(experiment=experiment.name, size=size, seeds=seeds), resume)
    reference = printed_rows(experiment, papers)
    found: dict[tuple[int, int], list[RoundRecord]] = {}
    for index, contender in enumerate(contenders):
        for seed in range(seeds):
            found[index, seed] = _run(contender, seed, out / "runs", progress)
    rows = []
    for index, contender in enumerate(contenders):
        control = next(
            (i for i, c in enumerate(contenders) if c.control and c.setting == contender.setting),
            index,
        )
        each = [
            experiment.metrics(Finished(contender, seed, found[index, seed], found[control, seed]))
            for seed in range(seeds)
        ]
        if not each[0]:
            continue  # a control without a row of its own
        rows.append(
            Row(
                fields=contender.fields,
                metrics={k: float(np.mean([m[k] for m in each])) for k in each[0]},
                spread={
                    k: float(np.std([m[k] for m in each], ddof=1)) if seeds > 1 else 0.0
                    for k in each[0]
                },
                paper=printed(reference, contender.fields),
            )
        )
    return rows


def _claim_folder(out: Path, mine: Fingerprint, resume: bool) -> None:
    path = out / "experiment.json"
    if path.exists():
        theirs = read_json(path, Fingerprint)
        if theirs != mine:
            raise ConfigError(
                "the folder holds another experiment",
                where=str(out),
                found=f"{theirs.experiment}, {theirs.size}, {theirs.seeds} seeds",
                expected=f"{mine.experiment}, {mine.size}, {mine.seeds} seeds",
                hint="Choose another --out",
            )
        if not resume:
            raise ConfigError(
                "the folder holds this experiment already",
                where=str(out),
                hint="Add --resume to go on with it, or choose another --out",
            )
    write_json(path, mine)


def _run(contender: Contender, seed: int, folder: Path, progress: Progress) -> list[RoundRecord]:
    finished = folder / f"{contender.label}-s{seed}.jsonl"
    if finished.exists():
        return read_json_lines(finished, RoundRecord)
    state_file = finished.with_suffix(".state.npz")
    partial = finished.with_suffix(".partial.jsonl")
    members = contender.members(seed)
    records: list[RoundRecord] = []
    if state_file.exists():
        state = load_state(state_file)
        records = read_json_lines(partial, RoundRecord)[: state.round]
    else:
        state = contender.algorithm.init(members, seed)
    progress.start(contender.algorithm.name, contender.rounds, seed)
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
    progress.finish()
    write_json_lines(finished, records)
    for file in (state_file, partial):
        file.unlink(missing_ok=True)
    return records


def claims_held(experiment: Experiment, rows: Sequence[Row]) -> list[tuple[str, bool]]:
    """Each claim of the paper in words, and whether these rows show it."""
    return [(claim.words, claim.holds(rows)) for claim in experiment.claims]
