"""What of a run's results tells of fewer than five patients, and is left out of a bundle.

A count need not be written to be told: what is left of a known total is one, and so is a share of
known patients. The mean over hospitals gives back the one that is missing among them. Scores of
probabilities, as log-loss, are no shares; of a hospital with few of a class they go, too, but their
means stay.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import msgspec

from securefair.records import AlgorithmResult, MetricResult, RunResult

FEWEST = 5
"""Patients; smaller counts are not told."""

COVERAGE = "coverage"
SHARES = ("accuracy", "balanced_accuracy", "sensitivity", "specificity", COVERAGE)
"""Of patients: whoever knows how many there are has the counts."""
COMMON = "most_common"
"""The control whose scores all follow from the sizes of the classes."""

RANKS = "auc"
"""A share of pairs, whose denominator gives the size of both classes."""
_EXACT = 1e-3  # scores have five digits
_SPREADS = ("accuracy_spread", "gain_spread")
_OF_PARTICIPANTS = ("majority_accuracy", "standalone_accuracy", "accuracy", "gain", "quantization")
_OF_ALGORITHMS = ("mva", "mcg", "cgs", "cgs_ddof1", "accuracy", "gain", "gain_over")
_OF_MEANS = ("mva_spread", "mcg_spread", "cgs_spread")


class Small:
    """What a bundle of this run must not tell.

    Attributes:
        of_a_class: hospitals with fewer than five patients of a class, in training or in testing.
        shares: by algorithm the hospitals of whom it is right, or wrong, about fewer than five.

    Args:
        result: of the run.
    """

    def __init__(self, result: RunResult) -> None:
        self._result = result
        self.of_a_class = {
            hospital
            for hospital, counts in result.class_counts.items()
            if any(map(_small, [*counts, *self._parts(hospital, counts)]))
        }
        self.shares = {
            name: self.of_a_class
            | {
                hospital
                for hospital in one.confusion
                if any(map(_small, self._cells(one, hospital)))
            }
            | {
                own.name
                for own in result.participants
                if any(map(_small, _within(one, own.name, own.test_samples)))
            }
            for name, one in result.algorithms.items()
        }

    @property
    def nothing(self) -> bool:
        """Whether all may be told."""
        return not any(self.shares.values())

    def without(self) -> RunResult:
        """The run's results with None in the place of scores that tell of few."""
        algorithms = {}
        for name, one in self._result.algorithms.items():
            gains = self.shares[name] | self.shares.get(one.best_control or name, set())
            verdict, common = one.verdict, name == COMMON
            if verdict and gains and verdict.score in (*SHARES, RANKS):
                verdict = None
            algorithms[name] = msgspec.structs.replace(
                one,
                metrics={
                    score: self._told(score, metric, self.shares[name], common=common)
                    for score, metric in one.metrics.items()
                },
                gain_over_best_control={
                    score: self._told(score, metric, gains, common=one.best_control == COMMON)
                    for score, metric in one.gain_over_best_control.items()
                },
                verdict=verdict,
            )
        return msgspec.structs.replace(self._result, algorithms=algorithms)

    def unshared(self, plain: dict[str, Any]) -> None:
        """Take the shares of `SHARES` that stand beside the scores out of plain results.

        Args:
            plain: `RunResult` as builtins; changed in place.
        """
        if self.nothing:
            return
        for people, keys in (
            (plain["participants"], (*_OF_PARTICIPANTS, *_SPREADS)),
            (list(plain["algorithms"].values()), (*_OF_ALGORITHMS, *_OF_MEANS, *_SPREADS)),
        ):
            for one in people:
                for key in keys:
                    one.pop(key, None)

    def _told(
        self, score: str, metric: MetricResult, shares: Collection[str], *, common: bool
    ) -> MetricResult:
        share = score in SHARES
        hidden = shares if share else self.of_a_class
        averaged = not hidden if share or common or score == RANKS else True
        return MetricResult(
            mean=metric.mean if averaged else None,
            se=metric.se if averaged else None,
            skew=metric.skew if averaged else 0.0,
            interval=metric.interval if averaged else None,
            by_hospital=_left(metric.by_hospital, hidden),
            se_by_hospital=_left(metric.se_by_hospital, hidden),
            skew_by_hospital={k: v for k, v in metric.skew_by_hospital.items() if k not in hidden},
            interval_by_hospital={
                k: v for k, v in metric.interval_by_hospital.items() if k not in hidden
            },
            by_seed={
                name: [None] * len(values) if name in hidden else values
                for name, values in metric.by_seed.items()
            },
        )

    def _parts(self, hospital: str, counts: Sequence[int]) -> Iterator[float]:
        """Training and test patients of each class, of one seed; none where nobody was tested."""
        for one in self._result.algorithms.values():
            for count, row in zip(counts, one.confusion.get(hospital, []), strict=False):
                tested = sum(row) / len(self._result.seeds)
                yield from (tested, count - tested)

    def _cells(self, one: AlgorithmResult, hospital: str) -> Iterator[float]:
        """Patients about whom the algorithm is right, and wrong: of each class, and of all.

        Of two classes as each seed tells them, of more as the seeds tell them on average.
        """
        seeds = len(self._result.seeds)
        rows = [sum(row) / seeds for row in one.confusion[hospital]]
        right = [row[at] / seeds for at, row in enumerate(one.confusion[hospital])]
        shares = [("accuracy", sum(rows))]
        if len(rows) == 2:
            shares += [("specificity", rows[0]), ("sensitivity", rows[1])]
        else:
            yield from right
            yield from (row - part for row, part in zip(rows, right, strict=True))
        for score, patients in shares:
            told = one.metrics[score].by_seed.get(hospital, []) if score in one.metrics else []
            for value in told:
                if value is not None:
                    yield from (value * patients, (1 - value) * patients)


def hidden_counts(counts: Sequence[int], hidden: str = "not told") -> list[int | str]:
    """Counts of classes, whose total is known, without those of fewer than five.

    The largest one goes with them, so that what is left of the total is not theirs.
    """
    small = [_small(count) for count in counts]
    largest = max(counts, default=0)
    return [
        hidden if is_small or (any(small) and count == largest) else count
        for count, is_small in zip(counts, small, strict=True)
    ]


def _within(one: AlgorithmResult, hospital: str, patients: int) -> Iterator[float]:
    """Test patients within and outside their predicted intervals, as each seed tells them."""
    if COVERAGE in one.metrics:
        for value in one.metrics[COVERAGE].by_seed.get(hospital, []):
            if value is not None:
                yield from (value * patients, (1 - value) * patients)


def _small(count: float) -> bool:
    return _EXACT < count < FEWEST - _EXACT


def _left(by_hospital: dict[str, float | None], hidden: Collection[str]) -> dict[str, float | None]:
    return {name: None if name in hidden else value for name, value in by_hospital.items()}
