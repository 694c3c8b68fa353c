"""What predictions on test samples say: scores, gains and weights of peers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from securefair.model.outcomes import outcome_named
from securefair.model.transfer import ALL
from securefair.records import AlgorithmResult, MetricResult, RunResult
from securefair.report.wording import MINUS, Nouns, algorithm_name, listing
from securefair.words import Words

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
    titles = titles_of(result)
    return [
        ScoreRow(algorithm_name(name), tuple(cell(one.metrics.get(score)) for score in titles))
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


def worth(result: RunResult, words: Words) -> list[str]:
    """What every collaboration of the run is worth against the best control, in sentences.

    The first is the run's verdict, as every output says it.

    Args:
        result: of the run.
        words: about its participants, in English.
    """
    figure = result.algorithms[result.algorithm]
    if figure.verdict is None:
        return []
    others = [
        one.verdict.sentence
        for name, one in result.algorithms.items()
        if name != result.algorithm and one.verdict is not None
    ]
    return [figure.verdict.sentence, *others, *constant(result, words)]


def constant(result: RunResult, words: Words) -> list[str]:
    """Whose models say one class of nearly everybody: their probabilities may tell more."""
    named = result.algorithms[result.algorithm].nearly_constant
    if not named:
        return []
    return [words("caution.constant", names=words.listing(named))]


def trust_rows(result: RunResult) -> list[ScoreRow]:
    """What everyone's own samples say of its peers: weight, and weights of teachers."""
    figure = result.algorithms[result.algorithm]
    out = left_out(figure)
    return [
        ScoreRow(
            name,
            (
                f"{one.in_peers:.2f}",
                ", ".join(f"{peer} {_signed(weight)}" for peer, weight in one.weights.items()),
                out.get(name, ""),
            ),
        )
        for name, one in figure.trust.items()
    ]


def left_out(figure: AlgorithmResult) -> dict[str, str]:
    """By student, whose answers it left out and in which seeds; weights are of the first."""
    seeds: dict[str, dict[str, list[str]]] = {}
    for seed, students in figure.left_out.items():
        for student, teachers in students.items():
            for teacher in teachers:
                seeds.setdefault(student, {}).setdefault(teacher, []).append(seed)
    return {
        student: "; ".join(
            f"{'their mean' if teacher == ALL else teacher} (seed{'s' * (len(which) > 1)} "
            f"{listing(which)})"
            for teacher, which in teachers.items()
        )
        for student, teachers in seeds.items()
    }


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


def smaller_part(result: RunResult, nouns: Nouns, words: Words) -> SmallerPart:
    """The same run with fewer training samples, for the report of the whole one."""
    most = max(one.train_samples for one in result.participants)
    return SmallerPart(
        f"Small {nouns.participants}: at most {most} training {nouns.samples} each",
        (
            *worth(result, words),
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
