"""What is known of patients where that is no class: numbers of a table's columns, and their faults.

Which numbers an outcome takes says its own file (`config.registers.OUTCOMES`), which is asked here
by the only thing that a table can ask it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from securefair.config.registers import OUTCOMES, looked_up
from securefair.data.cells import Table
from securefair.data.headings import check_known
from securefair.data.table import Target
from securefair.errors import DataError

Array = NDArray[np.float64]

Range = tuple[float, float]


class Known(NamedTuple):
    """What is known of samples; see `Samples`."""

    labels: NDArray[np.int64]
    classes: int
    values: Array | None = None


class Fault(NamedTuple):
    """What is wrong with numbers of one column.

    Attributes:
        column: its number: 0 for the label, then those beside it.
        wrong: (B,) rows, at least one; None: all of them together.
        problem, expected, hint: for people.
    """

    column: int
    wrong: NDArray[np.bool_] | None
    problem: str
    expected: str
    hint: str | None = None


class Knowing(Protocol):
    """What an outcome says of a table's numbers."""

    expects: ClassVar[tuple[str, ...]]
    ranged: ClassVar[bool]

    def faults(self, numbers: Array) -> Iterator[Fault]:
        """What is wrong with numbers (B, k), the gravest first."""
        ...

    def known(self, numbers: Array, within: Range | None) -> Known:
        """What numbers (B, k) without faults say."""
        ...

    def events(self, numbers: Array) -> Array | None:
        """How many events each row has, (B,); None where nothing is an event."""
        ...


def is_ranged(outcome: str) -> bool:
    """Whether a public range scales the label of an outcome."""
    return _knowing(outcome).ranged


def _knowing(outcome: str) -> Knowing:
    found: Knowing = looked_up(OUTCOMES, outcome, "OUTCOME", problem="there is no such outcome")
    return found


FEWEST_EVENTS = 5
"""Of a hospital, below which errors and intervals are not given: draws of so few say nothing of
other patients. One event alone comes out in the same place of every draw that has it. Of patients
errors need as many."""


def few_events_of(numbers: Array | None, who: NDArray[np.int64], outcome: str) -> int | None:
    """How many events there are, where they are fewer than `FEWEST_EVENTS`; else None.

    Args:
        numbers: (B, k), as `Knowing.known` gives them; None where classes are told.
        who: (B,), whose each row is: patients tell by the most of one of their rows.
        outcome: name; empty where classes are told.
    """
    if numbers is None or not outcome:
        return None
    each = _knowing(outcome).events(numbers)
    if each is None:
        return None
    people, at = np.unique(who, return_inverse=True)
    most = np.zeros(len(people))
    np.maximum.at(most, at, each)
    return int(most.sum()) if most.sum() < FEWEST_EVENTS else None


def few_events_in(table: Table, target: Target, missing: Sequence[str]) -> int | None:
    """The same of a table; None where what is known cannot be read, which is told elsewhere."""
    try:
        check_known(table, (target.name, *target.beside))
        found = known_of(table, target, missing)
    except DataError:
        return None
    return few_events_of(found.values, np.arange(len(found.labels)), target.outcome)


def known_of(table: Table, target: Target, missing: Sequence[str], *, learns: bool = True) -> Known:
    """What a table with all columns says of its patients.

    Args:
        table: of patients.
        target: that is no class.
        missing: codes of a missing value.
        learns: whether a model is to learn of them: then all of them together must tell something.

    Raises:
        DataError: a value is missing, no number, or none that the outcome knows.
    """
    names = (target.name, *target.beside)
    outcome = _knowing(target.outcome)
    numbers = np.column_stack(
        [
            _numbers(table, name, missing, expected)
            for name, expected in zip(names, outcome.expects, strict=False)
        ]
    )
    for fault in outcome.faults(numbers):
        name = names[fault.column]
        if fault.wrong is None:
            if not learns:
                continue
            raise DataError(
                fault.problem,
                where=f"{table.source}, column {name}",
                expected=fault.expected,
                hint=fault.hint,
            )
        if fault.wrong.any():
            row = int(np.flatnonzero(fault.wrong)[0])
            column = table.columns[name]
            raise DataError(
                fault.problem,
                where=table.place(row, name),
                found=column.texts[int(column.codes[row])],
                expected=fault.expected,
                hint=fault.hint,
            )
    _check_range(numbers[:, 0], table, target)
    return outcome.known(numbers, target.range)


def _check_range(numbers: Array, table: Table, target: Target) -> None:
    if target.range is None:
        return
    low, high = target.range
    beyond = (numbers < low) | (numbers > high)
    if 2 * beyond.sum() > len(numbers):
        raise DataError(
            "most numbers lie beyond the agreed range",
            where=f"{table.source}, column {target.name}",
            found=f"values {numbers.min():g} to {numbers.max():g}",
            expected=f"values between {low:g} and {high:g}",
            hint="Correct table.label_range, or the unit of the table",
        )


def _numbers(table: Table, name: str, missing: Sequence[str], expected: str) -> Array:
    column = table.columns[name]
    absent = column.among(missing)
    if absent.any():
        raise DataError(
            "what is to be predicted is missing",
            where=table.place(column.first(absent), name),
            hint="Leave the patient out",
        )
    wrong = ~np.isfinite(column.numbers)
    if wrong.any():
        row = column.first(wrong)
        raise DataError(
            "not a number",
            where=table.place(row, name),
            found=column.texts[int(column.codes[row])],
            expected=expected,
        )
    result: Array = column.numbers[column.codes]
    return result
