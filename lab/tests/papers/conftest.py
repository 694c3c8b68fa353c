"""A tiny experiment on scikit-learn's digits, and the folder of the papers' tables."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from securefair.records import RoundRecord
from securefair.report import Progress
from securefair_lab.papers.cffl_tables import TABLE_1
from securefair_lab.papers.experiment import Experiment
from securefair_lab.papers.reference import PAPERS_VARIABLE

PAPERS = tuple(f"{paper}.json" for paper in ("cffl", "cycle", "dpfl", "fairsl"))


class Silent:
    """Progress that can stop a run after so many rounds, as Ctrl-C would."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.rounds, self.stop_after = 0, stop_after

    def start(self, algorithm: str, rounds: int, seed: int | None = None) -> None:
        """Nothing to show."""

    def advance(self, record: object) -> None:  # noqa: ARG002  # the protocol has it
        """Count, and stop when it is time."""
        self.rounds += 1
        if self.rounds == self.stop_after:
            raise KeyboardInterrupt

    def finish(self) -> None:
        """Nothing to clear up."""


@pytest.fixture(scope="session")
def papers() -> Path:
    """The folder of the papers' tables and settings; tests that need it skip where it is not."""
    named = os.environ.get(PAPERS_VARIABLE)
    folder = Path(named) if named else Path(__file__).parents[4] / "shared" / "papers"
    missing = [name for name in PAPERS if not (folder / name).is_file()]
    if missing:
        pytest.skip(
            f"compares with the papers: no {', '.join(missing)} at {folder}. Put these files, as "
            f"docs/reproduction.md describes them, into a folder that {PAPERS_VARIABLE} names"
        )
    return folder


@pytest.fixture
def record() -> Callable[..., RoundRecord]:
    """Makes a round in which participants have these accuracies, and all or some are present."""

    def made(accuracy: list[float], present: list[bool] | None = None) -> RoundRecord:
        count = len(accuracy)
        empty: list[list[float | None]] = [[None] * count for _ in range(count)]
        nobody = [[False] * count for _ in range(count)]
        return RoundRecord(
            algorithm="any",
            round=0,
            forced=False,
            accuracy=accuracy,
            cross_entropy=[0.0] * count,
            reputation=empty,
            alignment=empty,
            distillation_loss=empty,
            asked=nobody,
            answered=nobody,
            present=present,
        )

    return made


@pytest.fixture
def mean_features() -> type:
    """A class of extractors: every channel's mean; `seen` counts the images of all of them."""

    class Mean:
        name = key = "mean"
        seen = 0

        def __call__(self, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
            Mean.seen += len(pixels)
            return pixels.mean(axis=(1, 2)).astype(np.float32)

    return Mean


@pytest.fixture
def silent() -> Callable[..., Progress]:
    """Makes a progress that shows nothing."""
    return Silent


@pytest.fixture
def tiny() -> Experiment:
    """The smoke size of a table, with three of its contenders."""
    full = TABLE_1
    return Experiment(
        name="tiny",
        paper="cffl",
        item="Table 1",
        shows="nothing",
        needs=(),
        unit="100 x Pearson correlation",
        reference="cffl.table1",
        contenders=lambda size, data: [
            contender
            for index, contender in enumerate(full.contenders(size, data))
            if index in (0, 1, 7)
        ],
        metrics=full.metrics,
        claims=full.claims,
    )
