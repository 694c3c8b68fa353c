"""The results that come with the package: what size "cpu" gave, as comparison.json has it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from securefair.report import read_json

if TYPE_CHECKING:
    from securefair_lab.papers.comparison import Comparison

FOLDER = Path(__file__).parent / "results"


STORED_AS: Mapping[str, tuple[str, ...]] = {
    "cycle-table1": ("cycle-figure3", "cycle-figure4"),
    "cycle-table13": ("cycle-figure3", "cycle-figure4"),
    "cycle-figure6": ("cycle-table3",),
    "cycle-figure18": ("cycle-table10", "cycle-figure21"),
    "cycle-figure19": ("cycle-table11",),
    "cycle-figure20": ("cycle-table12",),
    "dpfl-figure7": ("dpfl-figure1",),
    "dpfl-figure12": ("dpfl-figure3",),
    "dpfl-figure13": ("dpfl-figure3",),
    "dpfl-figure14": ("dpfl-figure3",),
}
"""Tables and figures of which nothing is stored, since the runs of these have all of theirs."""


class _Seeds(msgspec.Struct, frozen=True):
    seeds: int


def stored_names() -> list[str]:
    """Of all experiments whose results are stored, in alphabetical order."""
    return sorted(path.stem for path in FOLDER.glob("*.json"))


@cache
def stored_result(name: str) -> Comparison:
    """The stored result of an experiment.

    Raises:
        DataError: there is none.
    """
    from securefair_lab.papers.comparison import Comparison  # with matplotlib and torch

    return read_json(FOLDER / f"{name}.json", Comparison)


def stored_seeds(name: str) -> int:
    """How many seeds the stored result of an experiment has; 0 where none is stored.

    Where its runs are stored under other names, the fewest of theirs.
    """
    if name in STORED_AS:
        return min(map(stored_seeds, STORED_AS[name]))
    path = FOLDER / f"{name}.json"
    return read_json(path, _Seeds).seeds if path.exists() else 0
