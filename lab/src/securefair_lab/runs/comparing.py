"""Several finished runs side by side, and whether they can be compared at all."""

from __future__ import annotations

from collections.abc import Sequence, Set
from pathlib import Path

import jinja2
import msgspec

from securefair.ckks.backends import encrypts
from securefair.config import RunConfig
from securefair.errors import ConfigError
from securefair.model.outcomes import outcome_named
from securefair.records import STANDALONE, MetricResult, VerdictResult
from securefair.report import (
    algorithm_name,
    cell,
    count,
    data_size,
    duration,
    environment,
    percent,
    points,
    teacher_disclosures,
    with_spread,
    write_text,
)
from securefair.run import Outcome, read_run
from securefair.words import words_of


class ComparedAlgorithm(msgspec.Struct, frozen=True, kw_only=True):
    """One algorithm of one run; figures as in `AlgorithmResult`."""

    name: str
    mva: float
    mva_spread: float
    mcg: float
    mcg_spread: float
    cgs: float
    accuracy: list[float]  # per participant
    score: MetricResult | None  # of the run's metric; None where no model was kept
    best_control: str | None  # None for controls
    gain_over_best: MetricResult | None  # of the run's metric; positive is better
    verdict: VerdictResult | None  # None for controls


class ComparedRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run.

    Attributes:
        folder, name: where it is and what it was called.
        source, participants, test_samples, seeds, rounds: what was run on what.
        backend, release: None where nobody collaborated.
        outcome: what is predicted.
        gains_in: the score of `mva`, `accuracy` and gains.
        metric: what its algorithms are compared by.
        algorithm: the one that bytes, answers, seconds and numbers are about.
        algorithms: all of them.
        bytes, answers, seconds: over all seeds; None where nobody collaborated.
        most_disclosed: numbers that the most talkative teacher let out on the first seed.
        versions: versions of the software.
    """

    folder: str
    name: str
    source: str
    participants: list[str]
    test_samples: list[int]
    seeds: list[int]
    rounds: int
    backend: str | None
    release: str | None
    outcome: str
    gains_in: str
    metric: str
    algorithm: str
    algorithms: list[ComparedAlgorithm]
    bytes: int | None
    answers: int | None
    seconds: float | None
    most_disclosed: int | None
    versions: dict[str, str]


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Runs in the order given, and why differences between them may mean something else."""

    runs: list[ComparedRun]
    cautions: list[str]


def compare_runs(folders: Sequence[Path]) -> Comparison:
    """Read runs and put them side by side.

    Raises:
        ConfigError: fewer than two folders, or one twice.
        DataError: a folder holds no finished run.
    """
    if len(folders) < 2 or len({folder.resolve() for folder in folders}) < len(folders):
        raise ConfigError(
            "a comparison needs two different runs or more",
            where="folders",
            found=", ".join(map(str, folders)),
        )
    stored = [read_run(folder) for folder in folders]
    runs = [_compared(folder, run) for folder, run in zip(folders, stored, strict=True)]
    return Comparison(runs=runs, cautions=_cautions(runs, {_task(run.config) for run in stored}))


def comparison_rows(comparison: Comparison) -> tuple[list[str], list[list[str]]]:
    """Headings, and one row for each algorithm of each run, as people read them."""
    scored = headline_of(comparison)
    headings = [
        "Run",
        "Algorithm",
        f"Mean {scored}",
        f"Gain of {scored}",
        "Spread of gains",
        "Score",
        "Gain over best control",
        "Sent",
        "Answers",
        "Time",
        "Most disclosed",
    ]
    rows = []
    for run in comparison.runs:
        titles = outcome_named(run.outcome).scores
        for one in run.algorithms:
            gains = one.name != STANDALONE
            cost = one.name == run.algorithm and run.bytes is not None
            rows.append(
                [
                    run.folder if one is run.algorithms[0] else "",
                    algorithm_name(one.name),
                    with_spread(percent(one.mva), one.mva_spread),
                    with_spread(points(one.mcg), one.mcg_spread) if gains else "",
                    f"{one.cgs * 100:.1f}" if gains else "",
                    f"{titles[run.metric]} {cell(one.score, words_of())}" if one.score else "",
                    f"{cell(one.gain_over_best, words_of())} ({algorithm_name(one.best_control)})"
                    if one.best_control
                    else "",
                    data_size(run.bytes or 0) if cost else "",
                    count(run.answers or 0) if cost else "",
                    duration(run.seconds or 0.0) if cost else "",
                    count(run.most_disclosed or 0) if cost else "",
                ]
            )
    return headings, rows


def headline_of(comparison: Comparison) -> str:
    """The score that means, gains and their spread are of; of runs that differ its general name."""
    found = {run.gains_in for run in comparison.runs}
    words = words_of()
    (only, *others) = sorted(found)
    return "headline score" if others else words.templates.get(f"scores.{only}", only)


def verdicts(comparison: Comparison) -> list[str]:
    """What each run's collaboration was worth, a sentence each, with its folder in front."""
    return [
        f"{run.folder}: {one.verdict.sentence}"
        for run in comparison.runs
        for one in run.algorithms
        if one.name == run.algorithm and one.verdict is not None
    ]


def write_comparison(comparison: Comparison, path: Path) -> Path:
    """One self-contained HTML page, written atomically.

    Raises:
        OSError: the file cannot be written.
    """
    headings, rows = comparison_rows(comparison)
    page = (
        environment()
        .overlay(loader=jinja2.PackageLoader("securefair_lab.runs"))
        .get_template("comparison.html.j2")
        .render(
            runs=comparison.runs,
            verdicts=verdicts(comparison),
            cautions=comparison.cautions,
            headings=headings,
            rows=rows,
            names=comparison.runs[0].participants,
            alike=len({tuple(run.participants) for run in comparison.runs}) == 1,
            algorithm_name=algorithm_name,
            scored=headline_of(comparison),
            words=words_of(),
        )
    )
    return write_text(path, page)


def _compared(folder: Path, run: Outcome) -> ComparedRun:
    result, config = run.result, run.config
    encryption = result.encryption
    disclosed = teacher_disclosures(run.ledger, result.algorithm)
    return ComparedRun(
        folder=str(folder),
        name=result.name,
        source=config.data.source,
        participants=[one.name for one in result.participants],
        test_samples=[one.test_samples for one in result.participants],
        seeds=result.seeds,
        rounds=config.training.rounds,
        backend=None if encryption is None else encryption.backend,
        release=None if encryption is None else encryption.release,
        outcome=result.outcome,
        gains_in=outcome_named(result.outcome).headline,
        metric=result.metric,
        algorithm=result.algorithm,
        algorithms=[
            ComparedAlgorithm(
                name=name,
                mva=one.mva,
                mva_spread=one.mva_spread,
                mcg=one.mcg,
                mcg_spread=one.mcg_spread,
                cgs=one.cgs,
                accuracy=one.accuracy,
                score=one.metrics.get(result.metric),
                best_control=one.best_control,
                gain_over_best=one.gain_over_best_control.get(result.metric),
                verdict=one.verdict,
            )
            for name, one in result.algorithms.items()
        ],
        bytes=None if encryption is None else encryption.bytes_up + encryption.bytes_down,
        answers=None if encryption is None else encryption.answers,
        seconds=None if encryption is None else encryption.seconds,
        most_disclosed=disclosed[0].numbers if disclosed else None,
        versions=dict(run.versions),
    )


def _task(config: RunConfig) -> str:
    """What was to be predicted from what, as far as a configuration says it; paths may differ."""
    data, table = config.data, config.table
    settings = (data.source, data.partition, data.test_fraction, data.entry, data.feature_range)
    return repr((settings, table and (table.label, table.groups, table.columns)))


def _cautions(runs: Sequence[ComparedRun], tasks: Set[str]) -> list[str]:
    found = []
    for what, values in (
        ("data sets", tasks),
        ("participants", {tuple(run.participants) for run in runs}),
        ("test sets", {tuple(run.test_samples) for run in runs}),
        ("seeds", {tuple(run.seeds) for run in runs}),
    ):
        if len(values) > 1:
            found.append(f"The runs have different {what}: their scores are of different tasks.")
    if len({run.rounds for run in runs}) > 1:
        found.append("The runs have different numbers of rounds.")
    if len({run.gains_in for run in runs}) > 1:
        found.append(
            "The runs predict different outcomes: means and gains are of different scores."
        )
    if len({run.metric for run in runs}) > 1:
        found.append("The runs compare algorithms by different scores.")
    if any(run.backend is not None and not encrypts(run.backend) for run in runs):
        found.append("A run with backend clear encrypted nothing: its bytes and times say little.")
    if len({tuple(sorted(run.versions.items())) for run in runs}) > 1:
        found.append("The runs were made by different versions of the software.")
    if min(len(run.seeds) for run in runs) == 1:
        found.append("A single seed says little: small differences may be chance.")
    return found
