"""Made-up tables of hospitals whose patients have an outcome that is no class.

What is known of a patient follows from four measurements by one law at all hospitals, as the
outcome draws it. The tables are files, and sites read them as they read a table in earnest.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from securefair.config import check_settings
from securefair.data import ParticipantData
from securefair.errors import ConfigError
from securefair.model.outcomes import outcome_named
from securefair.model.outcomes.register import REGISTERED
from securefair.user.participants import load_participants

SLOPES = (0.9, -0.6, 0.4, 0.0)
"""Of the predictor, by measurement; the last one tells nothing."""

TRAIN, TEST = 60, 30
"""Patients of each hospital."""

FARTHEST = 4.0
"""Largest number that a made-up number may have."""

LABEL = "label"


@dataclass(frozen=True)
class MadeUp:
    """Tables of hospitals, written into a folder.

    Attributes:
        folder: that holds them, two files a hospital.
        names: of the hospitals.
        rules: the section [table] that everyone agrees on.
    """

    folder: Path
    names: tuple[str, ...]
    rules: Mapping[str, Any]

    def files(self, name: str) -> tuple[Path, Path]:
        """Of one hospital: patients to train on and to test on."""
        return self.folder / f"{name}.train.csv", self.folder / f"{name}.test.csv"

    def data(self) -> list[ParticipantData]:
        """Everyone's patients, as sites read them."""
        files = {name: self.files(name) for name in self.names}
        settings = {
            "run": {"name": "rehearsal"},
            "data": {"source": "files"},
            "table": dict(self.rules),
            "participants": [
                {"name": name, "file": str(train), "test_file": str(test)}
                for name, (train, test) in files.items()
            ],
        }
        return load_participants(check_settings(settings, source="made-up tables"), 0)


def made_up(folder: Path, outcome: str, hospitals: int) -> MadeUp:
    """Write the tables of so many hospitals.

    Args:
        folder: empty, or missing.
        outcome: a name of `model.outcomes` that is no class.
        hospitals: one to 26.

    Raises:
        ConfigError: there is no such outcome, or it tells classes apart.
    """
    law = outcome_named(outcome)
    if law.tells_classes:
        raise ConfigError(
            "tables are made up for outcomes that are no classes",
            where="outcome",
            found=outcome,
            expected=", ".join(one for one in REGISTERED if not outcome_named(one).tells_classes),
            hint="A rehearsal without an outcome is of classes",
        )
    folder.mkdir(parents=True, exist_ok=True)
    columns = [f"x{at}" for at in range(1, len(SLOPES) + 1)]
    rng = np.random.default_rng(0)
    names = tuple(f"hospital-{letter}" for letter in ascii_lowercase[:hospitals])
    beside: list[str] = []
    for name in names:
        for part, patients in (("train", TRAIN), ("test", TEST)):
            features = rng.uniform(-1, 1, (patients, len(SLOPES)))
            known = law.drawn(features @ np.array(SLOPES)[:, None], rng)
            assert known.values is not None  # an outcome that is no class
            beside = list(law.beside)[: known.values.shape[1] - 1]
            rows = _rows(features, np.clip(known.values, -np.inf, _largest(law.ranged)))
            _write(folder / f"{name}.{part}.csv", [*columns, LABEL, *beside], rows)
    rules = {
        "label": LABEL,
        "outcome": outcome,
        **{key: key for key in beside},
        **({"label_range": [-FARTHEST, FARTHEST]} if law.ranged else {}),
        "columns": [{"name": one, "kind": "numeric", "low": -1.0, "high": 1.0} for one in columns],
    }
    return MadeUp(folder, names, rules)


def _largest(ranged: bool) -> float:
    return FARTHEST if ranged else np.inf


def _rows(features: NDArray[np.float64], values: NDArray[np.float64]) -> Iterator[list[str]]:
    for one, known in zip(features.tolist(), values.tolist(), strict=True):
        yield [*(f"{value:.4f}" for value in one), *(f"{value:.10g}" for value in known)]


def _write(path: Path, names: Sequence[str], rows: Iterator[list[str]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows(rows)
