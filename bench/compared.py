"""What the last `make bench` measured, beside the kept run before it.

    python bench/compared.py

Ratios of least times. Shorter and longer ones are listed beyond 10 %, and so is what only one of
both runs has, as a benchmark that has another name now.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Annotated, TypeVar

import msgspec
import typer

KEPT = Path(".benchmarks")
CHANGED = 0.1
V = TypeVar("V")


class Stats(msgspec.Struct, frozen=True):
    """Seconds of a round."""

    min: float


class Benchmark(msgspec.Struct, frozen=True):
    """One benchmark of a kept run."""

    fullname: str
    stats: Stats


class Run(msgspec.Struct, frozen=True):
    """A file of pytest-benchmark, as far as it is read here."""

    datetime: str
    commit_info: dict[str, object]
    benchmarks: list[Benchmark]

    @property
    def seconds(self) -> dict[str, float]:
        """By name, the least of all rounds."""
        return {one.fullname: one.stats.min for one in self.benchmarks}

    @property
    def title(self) -> str:
        return f"{self.datetime[:16]}, commit {str(self.commit_info.get('id'))[:8]}"


def kept_runs(folder: Path) -> list[Run]:
    """Runs of one system and one Python, the last one's, from old to new."""
    files = folder.glob("*/[0-9]*_*.json")
    runs = {path: msgspec.json.decode(path.read_bytes(), type=Run) for path in files}
    order = sorted(runs, key=lambda path: runs[path].datetime)
    return [runs[path] for path in order if path.parent == order[-1].parent]


def only_in_one(now: Mapping[str, V], before: Mapping[str, V]) -> list[str]:
    """Sentences about what cannot be compared."""
    new = [name for name in now if name not in before]
    gone = [name for name in before if name not in now]
    lines = []
    if new:
        lines.append(f"Not in the run before, new or named otherwise: {', '.join(new)}")
    if gone:
        lines.append(f"Only in the run before: {', '.join(gone)}")
    return lines


def comparison(now: Mapping[str, float], before: Mapping[str, float]) -> str:
    """Seconds of both runs where they are more than a tenth apart, the longer ones first."""
    ratios = {name: now[name] / before[name] for name in now if name in before}
    if not ratios:
        return "\n".join(["Both runs have no benchmark in common.", *only_in_one(now, before)])
    changed = [name for name, ratio in ratios.items() if abs(ratio - 1) > CHANGED]
    lines = [
        f"{len(ratios)} benchmarks of both runs: the middle one takes "
        f"{median(ratios.values()):.2f} of its time then, {len(ratios) - len(changed)} lie within "
        f"{CHANGED:.0%}."
    ]
    if changed:
        lines.append(f"{'ratio':>6} {'now':>10} {'before':>10}")
        lines += [
            f"{ratios[name]:6.2f} {_seconds(now[name]):>10} {_seconds(before[name]):>10}  {name}"
            for name in sorted(changed, key=lambda name: -ratios[name])
        ]
    return "\n".join([*lines, *only_in_one(now, before)])


def _seconds(value: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-6:.3g} us"


def main(
    kept: Annotated[Path, typer.Option(help="Folder of the runs that are kept.")] = KEPT,
) -> None:
    """Compare the last two."""
    runs = kept_runs(kept)
    if len(runs) < 2:
        print("No earlier run is kept here. The next one will be compared with this one.")
        return
    before, now = runs[-2:]
    print(f"Beside the run before ({before.title}):\n{comparison(now.seconds, before.seconds)}")


if __name__ == "__main__":
    typer.run(main)
