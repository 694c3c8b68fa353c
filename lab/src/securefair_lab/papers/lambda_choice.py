"""What each method is worth at its best lambda_0, where held-out images choose that.

A method of a split is one line of rows, a row for each lambda_0. Each seed chooses for itself: the
lambda_0 with which its participants are most accurate, on average, on images that nobody trains on.
No test image has a part in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import is_not
from statistics import fmean

from securefair_lab.papers.cycle_methods import PLAIN, SOFTENED
from securefair_lab.papers.experiment import Claim, Parts, Row
from securefair_lab.papers.measures import HELD_OUT, every

LAMBDAS = (10.0, 25.0, 50.0, 100.0, 200.0)
PRINTED = 50.0
"""Of the paper, on CIFAR."""
CONTENDERS = ("VPDL", SOFTENED, PLAIN)
"""Who has a lambda_0: VPDL, and CYCle with either reading of alignment."""


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """A method of a split at the lambda_0 that held-out images choose.

    Args:
        lambdas: the choice of each seed.
        each: every metric of each seed there.
    """

    lambdas: Sequence[float]
    each: Mapping[str, Sequence[float]]

    def mean(self, metric: str) -> float:
        """Over seeds."""
        return fmean(self.each[metric])


def name_of(row: Row) -> str:
    """VPDL, or CYCle's reading; "Standalone" of the control."""
    return str(row.fields.get("alignment") or row.fields["method"])


def lines(rows: Sequence[Row]) -> dict[tuple[str, str], list[Row]]:
    """(split, name) -> its rows by rising lambda_0; controls have none."""
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row.fields.get("lambda_0") is not None:
            found.setdefault((str(row.fields["split"]), name_of(row)), []).append(row)
    return {key: sorted(own, key=_lambda_of) for key, own in found.items()}


def chosen(rows: Sequence[Row]) -> dict[tuple[str, str], Chosen]:
    """(split, name) -> what it is worth at its best; of equal ones the smallest lambda_0."""
    return {
        key: Chosen(
            lambdas=[_lambda_of(row) for row in best],
            each={
                metric: [row.each[metric][seed] for seed, row in enumerate(best)]
                for metric in best[0].metrics
            },
        )
        for key, best in _best(rows).items()
    }


def _best(rows: Sequence[Row]) -> dict[tuple[str, str], list[Row]]:
    """(split, name) -> the row that each seed chooses."""
    return {key: _choices(own) for key, own in lines(rows).items()}


def _choices(line: Sequence[Row]) -> list[Row]:
    each = zip(*(row.each[HELD_OUT] for row in line), strict=True)
    return [line[held_out.index(max(held_out))] for held_out in each]


def _lambda_of(row: Row) -> float:
    return float(str(row.fields["lambda_0"]))


def at(line: Sequence[Row], lambda_0: float | None, metric: str) -> float | None:
    """Of one line, a mean over seeds at one lambda_0, or at its best (None); None: not run."""
    if lambda_0 is None:
        return fmean(row.each[metric][seed] for seed, row in enumerate(_choices(line)))
    return next((row.metrics[metric] for row in line if row.fields["lambda_0"] == lambda_0), None)


def advantage(
    rows: Sequence[Row], lambda_0: float | None, metric: str, alignment: str
) -> dict[str, float]:
    """Of each split, how far CYCle's number is above VPDL's."""
    found, every = {}, _LINES.of(rows)
    for (split, name), line in every.items():
        if name != alignment:
            continue
        ours, theirs = (at(own, lambda_0, metric) for own in (line, every[split, "VPDL"]))
        if ours is not None and theirs is not None:
            found[split] = ours - theirs
    return found


class _Lines:
    """The lines of the rows that were asked about last: verdicts ask thousands of times about the
    same ones, whose numbers change and whose fields do not."""

    def __init__(self) -> None:
        self._rows: tuple[Row, ...] = ()
        self._lines: dict[tuple[str, str], list[Row]] = {}

    def of(self, rows: Sequence[Row]) -> dict[tuple[str, str], list[Row]]:
        """See `lines`."""
        if len(rows) != len(self._rows) or any(map(is_not, rows, self._rows)):
            self._rows, self._lines = tuple(rows), lines(rows)
        return self._lines


_LINES = _Lines()


def _more(rows: Sequence[Row], lambda_0: float | None, alignment: str) -> Parts:
    return every(value > 0 for value in advantage(rows, lambda_0, "MCG", alignment).values())


def _fairer(rows: Sequence[Row], lambda_0: float | None, alignment: str) -> Parts:
    return every(value < 0 for value in advantage(rows, lambda_0, "CGS", alignment).values())


def _more_on_most(rows: Sequence[Row], lambda_0: float | None, alignment: str) -> Parts:
    found = advantage(rows, lambda_0, "MCG", alignment).values()
    return every((value > 0 for value in found), but=2)


def _claims(alignment: str) -> list[Claim]:
    questions: list[tuple[str, Callable[..., Parts], float | None]] = [
        ("CYCle's mean gain (MCG) is above VPDL's on five of seven splits", _more_on_most, PRINTED),
        *(
            ("CYCle's mean gain (MCG) is above VPDL's on every split", _more, value)
            for value in (*LAMBDAS, None)
        ),
        *(
            ("CYCle's gains are spread less than VPDL's (CGS) on every split", _fairer, value)
            for value in (*LAMBDAS, None)
        ),
    ]
    return [
        Claim(
            words=f"{words}; {_where(value)}; {alignment} alignment",
            parts=partial(parts, lambda_0=value, alignment=alignment),
        )
        for words, parts, value in questions
    ]


def _where(lambda_0: float | None) -> str:
    return "each at its best lambda_0" if lambda_0 is None else f"both at lambda_0 = {lambda_0:g}"


LAMBDA_CLAIMS = tuple(claim for alignment in (SOFTENED, PLAIN) for claim in _claims(alignment))
