"""Tables of the papers' stored results: lines, columns, and what a cell shows.

Each line and column names fields of the stored numbers. A cell shows the numbers that have all of
them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from securefair_lab.papers.comparison import ComparedNumber
from securefair_lab.papers.stored import stored_result

Fields = Mapping[str, object]
Show = Callable[["Found"], str]
EVERYONE = ("P1", "P2", "P3", "P4", "P5")


@dataclass(frozen=True)
class Found:
    """The numbers of one cell, by metric, and of how many seeds they are."""

    numbers: Mapping[str, ComparedNumber]
    seeds: int


@dataclass(frozen=True)
class Column:
    """A heading, what a cell shows, and the fields of its numbers.

    Args:
        experiment: where the numbers are; None: of the line, or of the table.
    """

    heading: str
    show: Show
    fields: Fields = field(default_factory=dict)
    experiment: str | None = None


@dataclass(frozen=True)
class Line:
    """Its labels and the fields of its numbers."""

    labels: Sequence[str]
    fields: Fields
    experiment: str | None = None


def table(
    experiment: str, labels: Sequence[str], lines: Sequence[Line], columns: Sequence[Column]
) -> str:
    """As Markdown; a cell is empty where no number has the fields."""
    rows = [[*labels, *(column.heading for column in columns)]]
    for line in lines:
        cells = []
        for column in columns:
            source = column.experiment or line.experiment or experiment
            found = numbers(source, {**line.fields, **column.fields})
            cells.append(column.show(found) if found.numbers else "")
        rows.append([*line.labels, *cells])
    return markdown(rows)


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """The first of them is the head."""
    head, *others = rows
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *others))


def numbers(experiment: str, fields: Fields) -> Found:
    """The numbers with these fields, of which each metric has at most one.

    Raises:
        ValueError: the fields do not tell numbers apart.
    """
    stored = stored_result(experiment)
    result: dict[str, ComparedNumber] = {}
    for one in stored.numbers:
        if all(one.fields.get(key) == value for key, value in fields.items()):
            if one.metric in result:
                raise ValueError(f"{experiment}: several numbers with {dict(fields)}")
            result[one.metric] = one
    return Found(result, stored.seeds)


def ours(metric: str, digits: int = 1, *, paper: bool = False, unit: str = "") -> Show:
    """Ours with its spread over seeds, and the paper's in brackets."""

    def show(found: Found) -> str:
        one = found.numbers.get(metric)
        if one is None:
            return ""
        spread = f" ± {one.spread:.{digits}f}" if found.seeds > 1 else ""
        printed = f" ({one.paper:.{digits}f})" if paper and one.paper is not None else ""
        return f"{one.ours:.{digits}f}{spread}{unit}{printed}"

    return show


def papers(metric: str, digits: int = 2) -> Show:
    """The paper's number alone."""

    def show(found: Found) -> str:
        one = found.numbers[metric]
        return "" if one.paper is None else f"{one.paper:.{digits}f}"

    return show


def worst(metric: str) -> Show:
    """The least of all seeds."""
    return lambda found: f"{min(found.numbers[metric].each):.2f}"


def pair(first: str, second: str) -> Show:
    """One number and another in brackets."""
    return lambda found: f"{ours(first, 2)(found)} ({ours(second, 2)(found)})"


def level(found: Found) -> str:
    """Everyone's mean, or one where all end alike."""
    cells = [f"{found.numbers[name].ours:.1f}" for name in EVERYONE if name in found.numbers]
    return cells[0] if len(set(cells)) == 1 else " / ".join(cells)


def step(metric: str) -> Show:
    """A step between participants with the mean p-value of its tests."""

    def show(found: Found) -> str:
        p = found.numbers[f"p of {metric}"].ours
        return f"{ours(metric)(found)} (p {f'{p:.1g}' if p >= 0.0001 else '< 0.0001'})"

    return show


def fields_of(experiment: str, *names: str) -> list[tuple[object, ...]]:
    """The values that these fields have together, in the order of the stored numbers."""
    found = (tuple(n.fields.get(k) for k in names) for n in stored_result(experiment).numbers)
    return list(dict.fromkeys(found))
