"""What predictions on test samples say: scores, gains and weights of peers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from securefair.collaboration.verdict import verdict_sentence
from securefair.model.outcomes import outcome_named
from securefair.model.transfer import ALL
from securefair.records import AlgorithmResult, MetricResult, RunResult
from securefair.report.wording import algorithm_name
from securefair.words import PLUS_MINUS, Words


@dataclass(frozen=True)
class ScoreRow:
    """One line of a table: a name and one cell for each of `titles_of`."""

    name: str
    cells: tuple[str, ...]


def titles_of(result: RunResult, words: Words) -> Mapping[str, str]:
    """Titles of the scores of a run's outcome by name, in the order of tables."""
    return {
        name: words.templates.get(f"titles.{name}", title)
        for name, title in outcome_named(result.outcome).scores.items()
    }


def lower_note(result: RunResult, words: Words) -> str:
    """Which of these scores are better when lower; empty for none."""
    lower = outcome_named(result.outcome).lower_is_better
    titles = [title for name, title in titles_of(result, words).items() if name in lower]
    return words("predictions.lower", scores=words.listing(titles)) if titles else ""


def score_rows(result: RunResult, words: Words) -> list[ScoreRow]:
    """The scores of every algorithm, means over participants with standard errors."""
    titles = titles_of(result, words)
    return [
        ScoreRow(
            algorithm_name(name, words),
            tuple(cell(one.metrics.get(score), words) for score in titles),
        )
        for name, one in result.algorithms.items()
        if one.metrics
    ]


def hospital_rows(result: RunResult, words: Words) -> list[ScoreRow]:
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
                    words,
                )
                for score in titles_of(result, words)
            ),
        )
        for one in result.participants
    ]


def cell(metric: MetricResult | None, words: Words) -> str:
    """A score with its standard error, or Wilson's interval; empty where it is undefined."""
    return "" if metric is None else _cell(metric.mean, metric.se, metric.interval, words)


def certain_note(rows: Sequence[ScoreRow], words: Words) -> str:
    """What brackets among the cells mean; empty where there are none."""
    bracketed = any("[" in one for row in rows for one in row.cells)
    return words("predictions.certain") if bracketed else ""


def worth(result: RunResult, words: Words) -> list[str]:
    """What every collaboration of the run is worth against the best control, in sentences.

    The first is the run's verdict, as every output says it.

    Args:
        result: of the run.
        words: of a language, about its participants.
    """
    figure = result.algorithms[result.algorithm]
    if figure.verdict is None:
        return []
    others = [
        verdict_sentence(one.verdict, words)
        for name, one in result.algorithms.items()
        if name != result.algorithm and one.verdict is not None
    ]
    return [verdict_sentence(figure.verdict, words), *others, *constant(result, words)]


def constant(result: RunResult, words: Words) -> list[str]:
    """Whose models say one class, or the same, of nearly everybody: probabilities may tell more."""
    named = result.algorithms[result.algorithm].nearly_constant
    if not named:
        return []
    key = "constant" if outcome_named(result.outcome).tells_classes else "constant_any"
    return [words(f"caution.{key}", names=words.listing(named))]


def trust_rows(result: RunResult, words: Words) -> list[ScoreRow]:
    """What everyone's own samples say of its peers: weight, and weights of teachers."""
    figure = result.algorithms[result.algorithm]
    out = left_out(figure, words)
    return [
        ScoreRow(
            name,
            (
                words.decimal(one.in_peers, 2),
                ", ".join(
                    f"{peer} {words.decimal(weight, sign=True)}"
                    for peer, weight in one.weights.items()
                ),
                out.get(name, ""),
            ),
        )
        for name, one in figure.trust.items()
    ]


@dataclass(frozen=True)
class TrustColumn:
    """Texts of `trust_rows`: which of their cells, under which title, and what it means."""

    at: int
    title: str
    note: str


def trust_columns(rows: Sequence[ScoreRow], words: Words) -> list[TrustColumn]:
    """Those that somebody has a text in."""
    columns = (
        TrustColumn(1, words("peers.weights"), words("peers.weights_note")),
        TrustColumn(2, words("peers.out"), words("peers.out_note")),
    )
    return [one for one in columns if any(row.cells[one.at] for row in rows)]


def left_out(figure: AlgorithmResult, words: Words) -> dict[str, str]:
    """By student, whose answers it left out and in which seeds; weights are of the first."""
    seeds: dict[str, dict[str, list[str]]] = {}
    for seed, students in figure.left_out.items():
        for student, teachers in students.items():
            for teacher in teachers:
                seeds.setdefault(student, {}).setdefault(teacher, []).append(seed)
    return {
        student: words("numbers.clauses").join(
            words(
                f"peers.seeds.{'one' if len(which) == 1 else 'many'}",
                teacher=words("peers.mean") if teacher == ALL else teacher,
                seeds=words.listing(which),
            )
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


def smaller_part(result: RunResult, words: Words) -> SmallerPart:
    """The same run with fewer training samples, for the report of the whole one."""
    most = max(one.train_samples for one in result.participants)
    return SmallerPart(
        words("smaller.title", number=words.count(most)),
        (*worth(result, words), words("smaller.note")),
        tuple(score_rows(result, words)),
    )


def _cell(
    mean: float | None, error: float | None, interval: tuple[float, float] | None, words: Words
) -> str:
    if mean is None:
        return ""
    shown = words.decimal(mean)
    if error:
        return f"{shown} {PLUS_MINUS} {words.decimal(error)}"
    # No standard error at all, or 0: every patient is right, and draws of them cannot differ.
    if interval is None:
        return shown
    low, high = (words.decimal(end, 2) for end in interval)
    return f"{shown} {words('numbers.interval', low=low, high=high)}"
