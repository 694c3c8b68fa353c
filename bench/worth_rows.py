"""The measured rows of docs/notebook/worth.md, kept in worth.json, and the tables made of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec
import numpy as np
from worth_data import DATA_SETS, GOALS

from securefair.report import write_text

ROWS = Path(__file__).parent / "worth.json"
QS = (4, 8, 16, 32, 64)
METHODS = (*(f"q = {q}" for q in QS), "all logits")
TRANSFER = "q = 64"  # the method of the main table


class Inverted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """With one hospital of inverted labels: what honest ones gain, and weights of teachers."""

    honest: float
    error: float
    weight: float
    honest_weight: float
    at_most_zero: float
    honest_at_most_zero: float


class Rivals(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Log-loss against `alone` of other methods, by name, over so many divisions."""

    seeds: int
    changes: dict[str, float]


class Row(msgspec.Struct, forbid_unknown_fields=True):
    """One data set. Log-losses in nats a patient; all but the first two are differences from
    `alone`. AUC and accuracy: pooled and transfer, points. Errors are standard errors."""

    most_common: float
    alone: float
    averaged_alone: float
    pooled: float
    transfer: float
    error: float
    auc: tuple[float, float]
    accuracy: tuple[float, float]
    share: float
    share_interval: tuple[float, float]
    worse: float
    better: float
    numbers: dict[str, float]
    inverted: Inverted
    rivals: Rivals | None = None


Rows = Mapping[str, Row]


def kept(path: Path) -> Rows:
    """In the order of the data sets; none where nothing was kept."""
    found = msgspec.json.decode(path.read_bytes(), type=dict[str, Row]) if path.exists() else {}
    return {name: found[name] for name in DATA_SETS if name in found}


def keep(path: Path, name: str, row: Row) -> None:
    """Beside the rows of other data sets, in place of an older one."""
    rows = {**kept(path), name: row}
    write_text(path, msgspec.json.format(msgspec.json.encode(rows)).decode() + "\n")


def tables(rows: Rows) -> dict[str, str]:
    """By the names of their places in the page."""
    return {
        "worth": _worth(rows),
        "numbers": _numbers(rows),
        "inverted": _inverted(rows),
        "rivals": _rivals(rows),
    }


def _worth(rows: Rows) -> str:
    lines = [
        "| data (training patients each) | most common | alone | averaged alone | pooled "
        "| **transfer** | AUC, pooled / transfer | accuracy, pooled / transfer "
        "| share of pooling's gain | worse / better |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, r in rows.items():
        low, high = r.share_interval
        lines.append(
            f"| {name} | {r.most_common:.3f} | {r.alone:.3f} | {r.averaged_alone:+.3f} "
            f"| {r.pooled:+.3f} | **{r.transfer:+.3f}** ± {r.error:.3f} "
            f"| {r.auc[0]:+.1f} / {r.auc[1]:+.1f} | {r.accuracy[0]:+.1f} / {r.accuracy[1]:+.1f} "
            f"| {r.share:.2f} ({low:.2f} to {high:.2f}) | {r.worse:.2f} / {r.better:.2f} |"
        )
    goals = [rows[name].share for name in GOALS if name in rows]
    if goals:
        lines.append(
            f"\nThe mean share of the five that goals are set for: **{np.mean(goals):.2f}**."
        )
    return "\n".join(lines)


def _numbers(rows: Rows) -> str:
    lines = [
        f"| data | {' | '.join(METHODS)} | smallest q with 90 % of the gain at 64 |",
        "|---|" + "---|" * (len(METHODS) + 1),
    ]
    for name, r in rows.items():
        cells = " | ".join(f"{r.numbers[method]:+.3f}" for method in METHODS)
        lines.append(f"| {name} | {cells} | {enough(r.numbers)} |")
    totals = {method: sum(r.numbers[method] for r in rows.values()) for method in METHODS}
    cells = " | ".join(f"{totals[method] / totals[TRANSFER]:.0%}" for method in METHODS)
    lines.append(f"| share of the mean gain at 64 | {cells} | {enough(totals)} |")
    return "\n".join(lines)


def enough(numbers: Mapping[str, float]) -> int:
    """The smallest q that keeps 90 % of the gain at 64."""
    return next((q for q in QS if numbers[f"q = {q}"] <= 0.9 * numbers[TRANSFER]), QS[-1])


def _rivals(rows: Rows) -> str:
    measured = {name: row.rivals for name, row in rows.items() if row.rivals is not None}
    methods = list(next(iter(measured.values())).changes) if measured else []
    lines = [f"| method | {' | '.join(measured)} | mean |", "|---|" + "---|" * (len(measured) + 1)]
    for method in methods:
        changes = [one.changes[method] for one in measured.values()]
        cells = " | ".join(f"{change:+.3f}" for change in changes)
        lines.append(f"| {method} | {cells} | {np.mean(changes):+.3f} |")
    seeds = " | ".join(str(one.seeds) for one in measured.values())
    return "\n".join([*lines, f"| divisions | {seeds} | |"])


def _inverted(rows: Rows) -> str:
    lines = [
        "| data | honest hospitals, against alone | weight of the inverted | of honest ones "
        "| at most 0: inverted / honest |",
        "|---|---|---|---|---|",
    ]
    for name, r in rows.items():
        one = r.inverted
        lines.append(
            f"| {name} | {one.honest:+.3f} ± {one.error:.3f} | {one.weight:+.2f} "
            f"| {one.honest_weight:+.2f} | {one.at_most_zero:.0%} / {one.honest_at_most_zero:.0%} |"
        )
    return "\n".join(lines)
