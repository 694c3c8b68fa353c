"""What predictions on test samples say: scores, gains and weights of peers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from securefair.model.outcomes import outcome_named
from securefair.model.transfer import ALL
from securefair.records import CEILING, MetricResult, RunResult
from securefair.report.wording import MINUS, Nouns, algorithm_name, listing

_PLUS_MINUS = "\u00b1"

CERTAIN = (
    "In brackets: 95 % interval (Wilson), where every test prediction is right, or every one wrong."
)


@dataclass(frozen=True)
class ScoreRow:
    """One line of a table: a name and one cell for each of `titles_of`."""

    name: str
    cells: tuple[str, ...]


def titles_of(result: RunResult) -> Mapping[str, str]:
    """Titles of the scores of a run's outcome by name, in the order of tables."""
    return outcome_named(result.outcome).scores


def score_rows(result: RunResult) -> list[ScoreRow]:
    """The scores of every algorithm, means over participants with standard errors."""
    return [
        ScoreRow(
            algorithm_name(name), tuple(cell(one.metrics.get(score)) for score in titles_of(result))
        )
        for name, one in result.algorithms.items()
        if one.metrics
    ]


def hospital_rows(result: RunResult) -> list[ScoreRow]:
    """The scores of the run's algorithm at every participant."""
    metrics = result.algorithms[result.algorithm].metrics
    if not metrics:
        return []
    return [
        ScoreRow(
            one.name,
            tuple(
                _cell(
                    metrics[score].by_hospital[one.name],
                    metrics[score].se_by_hospital[one.name],
                    metrics[score].interval_by_hospital.get(one.name),
                )
                for score in titles_of(result)
            ),
        )
        for one in result.participants
    ]


def cell(metric: MetricResult | None) -> str:
    """A score with its standard error, or `CERTAIN`'s interval; empty where it is undefined."""
    return "" if metric is None else _cell(metric.mean, metric.se, metric.interval)


def certain_note(rows: Sequence[ScoreRow]) -> str:
    """What brackets among the cells mean; empty where there are none."""
    return CERTAIN if any("[" in one for row in rows for one in row.cells) else ""


def worth(result: RunResult, nouns: Nouns) -> list[str]:
    """What the collaboration is worth against the best control, in sentences."""
    figure = result.algorithms[result.algorithm]
    gain = figure.gain_over_best_control.get(result.metric)
    if figure.best_control is None or gain is None:
        return []
    name, control = algorithm_name(result.algorithm), algorithm_name(figure.best_control)
    notes = []
    if gain.mean is not None:
        wins = sum(1 for value in gain.by_hospital.values() if value is not None and value > 0)
        told = _compared(gain, f"the best control ({control})")
        notes.append(
            f"{titles_of(result)[result.metric]}: {name} is {told}, better at {wins} of "
            f"{len(gain.by_hospital)} {nouns.participants}"
            + ("; that is within chance." if _chance(gain) else ".")
        )
    notes += _others(result)
    if figure.nearly_constant:
        notes.append(
            f"The model of {listing(figure.nearly_constant)} says one class of nearly every "
            f"{nouns.sample}: the most common answer would do as well there."
        )
    return notes


def _others(result: RunResult) -> list[str]:
    """What the collaborations beside the one that the result is about are worth."""
    told = []
    for key, figure in result.algorithms.items():
        gain = figure.gain_over_best_control.get(result.metric)
        if key in (*result.controls, CEILING, result.algorithm) or gain is None:
            continue
        if figure.best_control is None or gain.mean is None:
            continue
        text = f"{algorithm_name(key)} is {_compared(gain, algorithm_name(figure.best_control))}"
        told.append(f"{text}, within chance" if _chance(gain) else text)
    return [f"Beside it: {'; '.join(told)}."] if told else []


def _compared(gain: MetricResult, control: str) -> str:
    """A gain in words; equal predictions have none, and no standard error either."""
    if not gain.mean:
        return f"as good as {control}"
    direction = "better" if gain.mean > 0 else "worse"
    return f"{direction} than {control} by {_cell(abs(gain.mean), gain.se)}"


def _chance(gain: MetricResult) -> bool:
    """Whether chance explains a difference: fewer than two standard errors."""
    return abs(gain.mean or 0.0) < 2 * (gain.se or 0.0)


def trust_rows(result: RunResult) -> list[ScoreRow]:
    """What everyone's own samples say of its peers: weight, gain, weights of teachers."""
    trust = result.algorithms[result.algorithm].trust
    return [
        ScoreRow(
            name,
            (
                f"{one.in_peers:.2f}",
                f"{_signed(one.gain)} {_PLUS_MINUS} {one.gain_se:.3f}",
                ", ".join(f"{peer} {_signed(weight)}" for peer, weight in one.weights.items()),
                _left_out(one.left_out),
            ),
        )
        for name, one in trust.items()
    ]


def _left_out(teachers: Sequence[str]) -> str:
    if not teachers:
        return ""
    return "their mean" if tuple(teachers) == (ALL,) else listing(teachers)


@dataclass(frozen=True)
class SmallerPart:
    """What small participants of the same kind gain.

    Attributes:
        title: with the largest number of training samples.
        notes: what it is worth.
        rows: scores of every algorithm.
    """

    title: str
    notes: tuple[str, ...]
    rows: tuple[ScoreRow, ...]


def smaller_part(result: RunResult, nouns: Nouns) -> SmallerPart:
    """The same run with fewer training samples, for the report of the whole one."""
    most = max(one.train_samples for one in result.participants)
    return SmallerPart(
        f"Small {nouns.participants}: at most {most} training {nouns.samples} each",
        (
            *worth(result, nouns),
            f"The same {nouns.participants}, test {nouns.samples} and repetitions, with fewer "
            f"training {nouns.samples}.",
        ),
        tuple(score_rows(result)),
    )


def _cell(
    mean: float | None, error: float | None, interval: tuple[float, float] | None = None
) -> str:
    if mean is None:
        return ""
    if error:
        return f"{mean:.3f} {_PLUS_MINUS} {error:.3f}"
    # No standard error at all, or 0: every patient is right, and draws of them cannot differ.
    return (
        f"{mean:.3f}" if interval is None else f"{mean:.3f} [{interval[0]:.2f}, {interval[1]:.2f}]"
    )


def _signed(value: float) -> str:
    return f"{value:+.3f}".replace("-", MINUS)
