"""Run an experiment: every contender on every seed; finished runs are kept, others begin anew.

The rounds are run by the core (`run.rounds`), as those of `securefair run` are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from securefair.errors import ConfigError
from securefair.records import RoundRecord
from securefair.report import PartProgress, Progress
from securefair.run import ReferenceRun, run_rounds
from securefair_lab.algorithms.stacked_population import StackedPopulation
from securefair_lab.papers.experiment import (
    Contender,
    Experiment,
    Fields,
    Finished,
    Row,
    Size,
)
from securefair_lab.papers.origin import Origin, origin
from securefair_lab.papers.reference import printed, printed_rows
from securefair_lab.papers.results_folder import (
    FINGERPRINT,
    Fingerprint,
    add_origin,
    claim_folder,
    entry_of,
    origins_of,
)
from securefair_lab.papers.shard import WHOLE, Shard


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

    With `resume` finished runs are kept, and a run that was interrupted begins anew.

    Args:
        runs: a folder of finished runs that experiments of one paper and size share: what is there
            is not run again, what is not is put there. Runs of other settings or of other code are
            not taken. None: `out`/runs.
        device: where networks are trained; what has none, such as forests, stays where it is.

    Raises:
        ConfigError: the folder holds another experiment or results of other code, or runs although
            `resume` is off.
        DataError: data are missing, or a checkpoint is damaged.
    """
    claim(experiment, size, seeds=seeds, data=data, out=out, resume=resume, device=device)
    folder = runs_folder(experiment, size, out=out, runs=runs, device=device)
    run_shard(
        experiment,
        size,
        WHOLE,
        seeds=seeds,
        data=data,
        folder=folder,
        progress=progress,
        device=device,
    )
    return read_runs(experiment, size, seeds=seeds, folder=folder)


def claim(
    experiment: Experiment,
    size: Size,
    *,
    seeds: int,
    data: Path | None,
    out: Path,
    resume: bool,
    device: str = "cpu",
) -> None:
    """Make a folder the experiment's own; without its data it leaves no folder behind.

    Raises:
        ConfigError: the folder holds something else, or runs although `resume` is off.
        DataError: data are missing.
    """
    contenders = experiment.contenders(size, data)
    if contenders and not (out / FINGERPRINT).exists():
        contenders[0].members(0)
    claim_folder(out, Fingerprint.of(experiment, size, seeds, device), resume=resume)


def runs_folder(
    experiment: Experiment, size: Size, *, out: Path, runs: Path | None, device: str = "cpu"
) -> Path:
    """Where runs are kept: in `out`, or with those of other experiments."""
    apart = "" if device == "cpu" else f"-{device.replace(':', '')}"
    return out / "runs" if runs is None else runs / f"{experiment.paper}-{size}{apart}"


def run_shard(
    experiment: Experiment,
    size: Size,
    shard: Shard,
    *,
    seeds: int,
    data: Path | None,
    folder: Path,
    progress: Progress,
    device: str = "cpu",
) -> int:
    """Run one shard of an experiment, as far as it is not there already; how many runs it has.

    Raises:
        DataError: data are missing, or a checkpoint is damaged.
    """
    mine = shard.of(
        [(own, seed) for own in experiment.contenders(size, data) for seed in range(seeds)]
    )
    folder.mkdir(parents=True, exist_ok=True)
    # One count for everything, so that the remaining time is that of the experiment.
    shown = progress.start(experiment.name, sum(contender.rounds for contender, _ in mine))
    for contender, seed in mine:
        _run(contender, seed, folder, shown, device)
    shown.finish()
    return len(mine)


def read_runs(experiment: Experiment, size: Size, *, seeds: int, folder: Path) -> list[Finished]:
    """What `finished_runs` returns, of runs that are finished.

    Raises:
        ConfigError: one is not.
        DataError: a file is damaged.
    """
    contenders = experiment.contenders(size, None)
    found: dict[tuple[int, int], Sequence[RoundRecord]] = {}
    missing = []
    for index, contender in enumerate(contenders):
        for seed in range(seeds):
            entry = entry_of(folder, contender, seed)
            if entry.state is None or not entry.state.finished:
                missing.append(f"{contender.label}, seed {seed}")
            found[index, seed] = entry.rounds
    if missing:
        raise ConfigError(
            f"{len(missing)} of {len(found)} runs are missing",
            where=str(folder),
            found=f"not finished: {missing[0]}" + (" and others" if missing[1:] else ""),
            hint="Run the shards that are missing, or go on with interrupted ones by --resume",
        )
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


def origins_of_runs(
    experiment: Experiment, size: Size, *, seeds: int, folder: Path, device: str = "cpu"
) -> list[Origin]:
    """All that the runs were made by, each once; of what has no runs, here and now.

    Files of runs are named by their code, so that all are of the experiment's of now.
    """
    code = experiment.code(size)
    found = {
        repr(own): own
        for contender in experiment.contenders(size, None)
        for seed in range(seeds)
        for one in origins_of(folder, contender, seed)
        for own in (msgspec.structs.replace(one, code=code),)
    }
    return list(found.values()) or [origin(code, device)]


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
    return Row.of(fields, {name: [own[name] for own in each] for name in each[0]}, paper)


def _run(contender: Contender, seed: int, folder: Path, shown: PartProgress, device: str) -> None:
    """What is left of one run."""
    entry = entry_of(folder, contender, seed)
    for done in entry.rounds:
        shown.advance(done)
    if entry.state is not None and entry.state.finished:
        return
    add_origin(folder, contender, seed, origin(contender.code, device))
    run = ReferenceRun(contender.algorithm, _on(device, contender.members(seed)), seed)
    run_rounds(run, entry, contender.rounds, shown.advance, keeps_models=False)


def _on(device: str, members: Any) -> Any:
    """The same participants, whose networks train on a device."""
    if isinstance(members, StackedPopulation) and members.device != device:
        return replace(members, device=device)
    return members
