"""What `securefair reproduce` does once its options are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from securefair.errors import ConfigError
from securefair.report import Screen, read_json, say_json, show_progress
from securefair_lab.data.folder import data_folder
from securefair_lab.papers.catalogue import experiment_named
from securefair_lab.papers.comparison import (
    Comparison,
    compare,
    comparison_table,
    stand_ins,
    write_comparison,
    write_figure,
)
from securefair_lab.papers.device import chosen_device
from securefair_lab.papers.experiment import Experiment, Finished, Size
from securefair_lab.papers.merging import merge
from securefair_lab.papers.repeating import (
    Repetition,
    check_comparable,
    repetition,
    seeds_shown,
)
from securefair_lab.papers.results_folder import FINGERPRINT, read_fingerprint
from securefair_lab.papers.running import (
    claim,
    compared_rows,
    finished_runs,
    origins_of_runs,
    read_runs,
    run_shard,
    runs_folder,
)
from securefair_lab.papers.shard import Shard


@dataclass(frozen=True, kw_only=True)
class Asked:
    """An experiment with everything that a user chose."""

    experiment: Experiment
    size: Size
    seeds: int
    data: Path | None
    out: Path
    runs: Path | None
    device: str

    @classmethod
    def of(
        cls,
        name: str,
        size: str,
        seeds: int,
        *,
        out: Path | None,
        data: Path | None,
        device: str | None,
        runs: Path | None,
    ) -> Asked:
        """Of a command line.

        Raises:
            ConfigError: no such experiment, size or device, or data are needed and no folder named.
        """
        experiment = experiment_named(name)
        known = next((one for one in experiment.sizes if one == size), None)
        if not experiment.sizes:
            raise ConfigError(
                "this is an illustration: there is nothing to run",
                where=name,
                expected="one whose sizes `securefair reproduce --list` names",
            )
        if known is None:
            raise ConfigError(
                "there is no such size",
                where="--size",
                found=size,
                expected=", ".join(experiment.sizes),
            )
        return cls(
            experiment=experiment,
            size=known,
            seeds=seeds,
            data=data_folder(data) if known != "smoke" and experiment.needs else None,
            out=out or Path("runs") / f"{experiment.name}-{size}",
            runs=runs,
            device=chosen_device(device, size),
        )

    @property
    def folder(self) -> Path:
        """Of its runs."""
        return runs_folder(
            self.experiment, self.size, out=self.out, runs=self.runs, device=self.device
        )


def whole(asked: Asked, *, resume: bool) -> list[Finished]:
    """All runs; see `running.finished_runs`."""
    with show_progress(Screen(err=True)) as progress:
        return finished_runs(
            asked.experiment,
            asked.size,
            seeds=asked.seeds,
            data=asked.data,
            out=asked.out,
            resume=resume,
            progress=progress,
            runs=asked.runs,
            device=asked.device,
        )


def part(asked: Asked, shard: str, *, resume: bool) -> str:
    """One shard; what it did, in words.

    Shards may share a folder, and a task that is started again goes on: neither needs --resume.
    """
    mine = Shard.parse(shard)
    claim(
        asked.experiment,
        asked.size,
        seeds=asked.seeds,
        data=asked.data,
        out=asked.out,
        resume=resume or (asked.out / FINGERPRINT).exists(),
        device=asked.device,
    )
    with show_progress(Screen(err=True)) as progress:
        count = run_shard(
            asked.experiment,
            asked.size,
            mine,
            seeds=asked.seeds,
            data=asked.data,
            folder=asked.folder,
            progress=progress,
            device=asked.device,
        )
    return (
        f"Shard {mine.index} of {mine.count}: {count} runs are finished in {asked.folder}. "
        f"When all are: securefair reproduce merge {asked.out}"
    )


def merged(
    folders: Sequence[Path], out: Path | None, data: Path | None
) -> tuple[Asked, list[Finished]]:
    """Shards as one result, in the first folder where none is named; see `merging.merge`.

    Raises:
        ConfigError: the folders are not of one experiment and of the code of now, or runs are
            missing.
    """
    first = folders[0] if folders else Path()
    experiment, found = merge(folders, out or first)
    asked = Asked(
        experiment=experiment,
        size=found.size,
        seeds=found.seeds,
        data=data_folder(data) if experiment.measure and found.size != "smoke" else None,
        out=out or first,
        runs=None,
        device=read_fingerprint(first).device,
    )
    return asked, read_runs(experiment, found.size, seeds=found.seeds, folder=asked.folder)


def conclude(
    asked: Asked,
    finished: Sequence[Finished],
    papers: Path | None,
    *,
    against: Comparison | None,
    json: bool,
) -> None:
    """Write the comparison and tell it.

    Raises:
        ConfigError: `against` is of another experiment or size.
        DataError: the paper's tables are not what they should be.
    """
    experiment, out = asked.experiment, asked.out
    rows = compared_rows(
        experiment, asked.size, finished, seeds=asked.seeds, data=asked.data, papers=papers
    )
    origins = origins_of_runs(
        experiment, asked.size, seeds=asked.seeds, folder=asked.folder, device=asked.device
    )
    comparison = compare(experiment, asked.size, asked.seeds, rows, origins)
    printed = any(number.paper is not None for number in comparison.numbers)
    stand_in = stand_ins(experiment, asked.size)
    files = write_comparison(
        comparison, out, bars=printed or experiment.draw is None, stand_in=stand_in
    )
    if experiment.draw is not None:
        drawn = experiment.draw(finished, rows)
        files.append(write_figure(drawn, out / "figure.png", below=stand_in))
    if json:
        say_json(comparison)
    else:
        _tell(comparison, files, papers is not None, out)
    if against is not None:
        _tell_repetition(repetition(against, comparison), seeds_shown(against, comparison))


def _tell(comparison: Comparison, files: Sequence[Path], with_papers: bool, out: Path) -> None:
    console = Screen()
    console.print(comparison_table(comparison))
    for judged in comparison.claims:
        console.print(f"{judged.verdict}: {judged.claim}")
    if not with_papers:
        console.print(
            "The paper's numbers are not at hand: name the folder of its tables with --papers."
        )
    console.print(f"Written: {', '.join(file.name for file in files)} in {out}", soft_wrap=True)


def read_against(path: Path, experiment: Experiment, size: Size) -> Comparison:
    """What a run is to be compared with, before it takes its time.

    Raises:
        ConfigError: there is no such file, or it is of another experiment or size.
        DataError: it is no comparison.json.
    """
    if not path.is_file():
        raise ConfigError(
            "there is no such file",
            where="--against",
            found=str(path),
            expected="a comparison.json",
        )
    found = read_json(path, Comparison)
    check_comparable(found, experiment.name, size)
    return found


def _tell_repetition(found: Repetition, seeds: str) -> None:
    console = Screen(err=True)
    if not found.different:
        console.print(f"All {found.numbers} numbers repeat, with {seeds}.")
    else:
        name, most = max(found.different.items(), key=lambda one: one[1])
        console.print(
            f"{len(found.different)} of {found.numbers} numbers differ, the most by {most:.3g}: "
            f"{name}"
        )
        console.print(
            f"{len(found.beyond)} of their means differ by more than a standard deviation of seeds."
        )
    for words in found.lacking:
        console.print(f"On one side only: {words}")
    for words in found.flipped:
        console.print(f"Judged the other way round: {words}")
    for words in found.moved:
        console.print(f"Can be told on one side only: {words}")
    for line in found.apart:
        console.print(f"Not the same: {line}")
