"""What a run concludes: the records of every seed and algorithm -> the figures of metrics.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from numpy.typing import NDArray

from securefair.collaboration.facts import RunFacts
from securefair.collaboration.host import FittedToAll
from securefair.collaboration.kept import KeptModel
from securefair.collaboration.privacy import joined
from securefair.collaboration.scores import class_counts, scores_of
from securefair.config import RunConfig
from securefair.data import ParticipantData
from securefair.model.outcomes import outcome_of
from securefair.model.stored import Function
from securefair.model.transfer.baselines import most_common
from securefair.prediction.effects import ColumnEstimate
from securefair.records import (
    CEILING,
    STANDALONE,
    AlgorithmResult,
    AveragingResult,
    EncryptionResult,
    ExchangeRecord,
    GainResult,
    LedgerRow,
    ParticipantResult,
    PrivacyResult,
    QuantizationResult,
    RoundRecord,
    RunResult,
    TrafficRow,
    TrustResult,
)
from securefair.worth import DDOF_EQUATION_5, cgs, gains, mcg, mva
from securefair.worth.tuned import headline

if TYPE_CHECKING:
    from securefair.model.heads import Head

RESULT_FORMAT = 2
FROM_STUDENT = ("keys", "features", "ask", "reveal")
FROM_TEACHER = ("answer", "decline", "offer", "key")


@dataclass(eq=False)
class Repetition:
    """One seed: its data, and what each algorithm made of them, in the order they ran."""

    seed: int
    data: list[ParticipantData]
    rounds: dict[str, list[RoundRecord]] = field(default_factory=dict)
    exchanges: dict[str, list[ExchangeRecord]] = field(default_factory=dict)
    runs: dict[str, RunFacts] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    interrupted: int = 0
    models: dict[str, Mapping[str, Function]] = field(default_factory=dict)  # after the last round
    heads: dict[str, Mapping[str, Head]] = field(default_factory=dict)  # the same, where asked for
    estimates: dict[str, dict[str, list[ColumnEstimate]]] = field(default_factory=dict)
    refitted: dict[str, dict[str, FittedToAll]] = field(default_factory=dict)

    def add(self, other: Repetition) -> None:
        """Take in what further algorithms made of the same seed."""
        self.rounds.update(other.rounds)
        self.exchanges.update(other.exchanges)
        self.runs.update(other.runs)
        self.seconds.update(other.seconds)
        self.models.update(other.models)
        self.heads.update(other.heads)
        self.estimates.update(other.estimates)
        self.refitted.update(other.refitted)
        self.interrupted += other.interrupted

    def accuracy(self, algorithm: str) -> list[float]:
        """Of every participant after the last round."""
        return self.rounds[algorithm][-1].accuracy


@dataclass(eq=False, kw_only=True)
class Outcome:
    """Everything a run leaves behind, in memory."""

    config: RunConfig  # of the run, with the rules of tables spelt out: tables may have changed
    versions: Mapping[str, str]  # of what computed it
    result: RunResult
    rounds: list[RoundRecord]  # of the first seed, all algorithms
    exchanges: list[ExchangeRecord]
    ledger: list[LedgerRow]
    traffic: list[TrafficRow]
    interrupted: int = 0  # times that another process went on with the run
    repeated_bytes: int = 0  # sent once more because of that
    models: list[KeptModel] = field(default_factory=list)  # of the first seed, one a participant
    heads: Mapping[str, Head] = field(default_factory=dict)  # of the first seed, where asked for
    further: list[RoundRecord] = field(default_factory=list)  # of the other seeds
    smaller: Outcome | None = None  # with fewer training samples, where asked for


def conclude(
    repetitions: Sequence[Repetition],
    *,
    name: str,
    metric: str | None,
    learning: Sequence[str],
    classes: Sequence[str],
    caveats: Sequence[str],
    findings: Mapping[str, list[str]],
) -> RunResult:
    """Means and spreads over the repetitions.

    Args:
        repetitions: of every seed, finished.
        name: of the run.
        metric: that algorithms are compared by; None: the outcome's own.
        learning: algorithms in which participants learn from each other; the run is about the last.
        classes: names of labels.
        caveats: what the configuration adds to those of promises to patients.
        findings: in tables, that may make results wrong, by participant.
    """
    first = repetitions[0]
    main = [STANDALONE, *learning][-1]
    # Those in which nobody learns from anybody: neither a kind of collaboration nor a ceiling.
    controls = [one for one in first.rounds if one not in (*learning, CEILING)]
    outcome = outcome_of(first.data[0].train)
    return RunResult(
        format=RESULT_FORMAT,
        name=name,
        seeds=[one.seed for one in repetitions],
        algorithm=main,
        participants=_participant_results(main, repetitions),
        algorithms=_with_scores(
            {one: _algorithm_result(one, repetitions, controls) for one in first.rounds},
            controls,
            metric,
            repetitions,
        ),
        encryption=_encryption_result(main, repetitions),
        privacy=_privacy_result(repetitions, caveats),
        class_counts=class_counts(first.data),
        metric=outcome.deciding(metric),
        controls=controls,
        outcome=outcome.name,
        problems=_problems(repetitions),
        classes=list(classes),
        findings=dict(findings),
    )


def _algorithm_result(
    algorithm: str, repetitions: Sequence[Repetition], controls: Sequence[str]
) -> AlgorithmResult:
    accuracy = np.array([rep.accuracy(algorithm) for rep in repetitions])
    gain = _gains_over(STANDALONE, accuracy, repetitions)
    mcgs, spreads = [mcg(g) for g in gain], [cgs(g) for g in gain]
    return AlgorithmResult(
        mva=float(np.mean([mva(a) for a in accuracy])),
        mcg=float(np.mean(mcgs)),
        cgs=float(np.mean(spreads)),
        cgs_ddof1=float(np.mean([cgs(g, ddof=DDOF_EQUATION_5) for g in gain])),
        accuracy=accuracy.mean(axis=0).tolist(),
        gain=gain.mean(axis=0).tolist(),
        accuracy_spread=[_spread(column) for column in accuracy.T.tolist()],
        gain_spread=[_spread(column) for column in gain.T.tolist()],
        mva_spread=_spread([mva(a) for a in accuracy]),
        mcg_spread=_spread(mcgs),
        cgs_spread=_spread(spreads),
        gain_over={
            control: _gain_result(_gains_over(control, accuracy, repetitions))
            for control in controls
            if control != algorithm
        },
    )


def _gain_result(gain: NDArray[np.float64]) -> GainResult:
    """Of gains (seeds, participants)."""
    means = [mcg(one) for one in gain]
    return GainResult(
        mean=float(np.mean(means)),
        mean_spread=_spread(means),
        gain=gain.mean(axis=0).tolist(),
        gain_spread=[_spread(column) for column in gain.T.tolist()],
    )


def _with_scores(
    results: dict[str, AlgorithmResult],
    controls: Sequence[str],
    metric: str | None,
    repetitions: Sequence[Repetition],
) -> dict[str, AlgorithmResult]:
    """The same with what predictions on test patients say."""
    scores = scores_of(
        [(rep.data, rep.models) for rep in repetitions],
        controls,
        metric,
    )
    first = repetitions[0].runs
    scored = {
        name: msgspec.structs.replace(results[name], **found) for name, found in scores.items()
    }
    trust = {name: first[name].trust if name in first else {} for name in results}
    return {
        name: msgspec.structs.replace(
            scored.get(name, result),
            trust=trust[name],
            families=_mean_families(trust[name]),
            stand_ins=first[name].stand_ins if name in first else {},
            sums=first[name].sums if name in first else None,
            left_out=_left_out(name, repetitions),
        )
        for name, result in results.items()
    }


def _mean_families(trust: Mapping[str, TrustResult]) -> dict[str, float]:
    """Mean over participants of the weights of their families of fits."""
    names = dict.fromkeys(name for one in trust.values() for name in one.families)
    return {
        name: float(np.mean([one.families.get(name, 0.0) for one in trust.values()]))
        for name in names
    }


def _left_out(algorithm: str, repetitions: Sequence[Repetition]) -> dict[str, dict[str, list[str]]]:
    """Whose answers were no function of the features, by seed and student; often empty."""
    found: dict[str, dict[str, list[str]]] = {}
    for rep in repetitions:
        trust = rep.runs[algorithm].trust if algorithm in rep.runs else {}
        out = {student: one.left_out for student, one in trust.items() if one.left_out}
        if out:
            found[str(rep.seed)] = out
    return found


def _problems(repetitions: Sequence[Repetition]) -> dict[str, list[str]]:
    """What participants blamed each other for, left out, or what failed, by seed; often empty."""
    found = {
        str(rep.seed): [problem for run in rep.runs.values() for problem in run.problems]
        for rep in repetitions
    }
    return {seed: problems for seed, problems in found.items() if problems}


def _gains_over(
    control: str, accuracy: NDArray[np.float64], repetitions: Sequence[Repetition]
) -> NDArray[np.float64]:
    """Gains (seeds, participants), each against the control of the same seed."""
    alone = [rep.accuracy(control) for rep in repetitions]
    return np.array([gains(a, b) for a, b in zip(accuracy, alone, strict=True)])


def _participant_results(
    algorithm: str, repetitions: Sequence[Repetition]
) -> list[ParticipantResult]:
    results = []
    quantization = _quantization_results(algorithm, repetitions)
    for n, own in enumerate(repetitions[0].data):
        accuracy = [rep.accuracy(algorithm)[n] for rep in repetitions]
        alone = [rep.accuracy(STANDALONE)[n] for rep in repetitions]
        gain = [a - b for a, b in zip(accuracy, alone, strict=True)]
        results.append(
            ParticipantResult(
                name=own.name,
                samples=len(own.train) + len(own.test),
                train_samples=len(own.train),
                test_samples=len(own.test),
                majority_accuracy=float(np.mean([_majority(rep.data[n]) for rep in repetitions])),
                standalone_accuracy=float(np.mean(alone)),
                accuracy=float(np.mean(accuracy)),
                gain=float(np.mean(gain)),
                accuracy_spread=_spread(accuracy),
                gain_spread=_spread(gain),
                quantization=quantization[n] if quantization else None,
            )
        )
    return results


def _quantization_results(
    algorithm: str, repetitions: Sequence[Repetition]
) -> list[QuantizationResult]:
    """Of every participant's last model; empty where nothing was encrypted."""
    runs = [rep.runs[algorithm].quantization for rep in repetitions if algorithm in rep.runs]
    return [
        QuantizationResult(
            weight_bits=max(report.weight_bits_used for report in reports),
            max_abs_logit_change=_two_digits(max(r.max_abs_logit_change for r in reports)),
            accuracy_before=float(np.mean([report.accuracy_before for report in reports])),
            accuracy_after=float(np.mean([report.accuracy_after for report in reports])),
        )
        for reports in zip(*runs, strict=True)
    ]


def _encryption_result(
    algorithm: str, repetitions: Sequence[Repetition]
) -> EncryptionResult | None:
    runs = [rep.runs[algorithm] for rep in repetitions if algorithm in rep.runs]
    if not runs:
        return None
    found = [run.encryption for run in runs]
    first = found[0]
    traffic = [row for run in runs for row in run.traffic]
    asked = [one for rep in repetitions for one in rep.exchanges.get(algorithm, ())]
    answers = sum(exchange.answered for exchange in asked)
    numbers = sum(row.numbers_total for run in runs for row in run.ledger)
    return EncryptionResult(
        backend=first.backend,
        ring_degree=first.ring_degree,
        log_qp=first.log_qp,
        security_bits=first.security_bits,
        release=first.release,
        flooding_bits=first.flooding_bits,
        max_abs_error=_two_digits(max(one.max_abs_error or 0.0 for one in found)),
        error_over_range=max(one.error_over_range or 0.0 for one in found),
        bytes_up=sum(row.bytes for row in traffic if row.message in FROM_STUDENT),
        bytes_down=sum(row.bytes for row in traffic if row.message in FROM_TEACHER),
        answers=answers,
        declines=len(asked) - answers,
        seconds=sum(rep.seconds[algorithm] for rep in repetitions),
        averaging=_averaging_result([one.averaging for one in found]),
        error_bound=first.error_bound,
        numbers_disclosed=numbers,
        bits_disclosed=None if first.bits_per_number is None else numbers * first.bits_per_number,
    )


def _privacy_result(
    repetitions: Sequence[Repetition], caveats: Sequence[str]
) -> dict[str, PrivacyResult] | None:
    """By hospital, the most that any repetition spent; what one algorithm leaves open, all do."""
    found = [run.privacy for rep in repetitions for run in rep.runs.values() if run.privacy]
    if not found:
        return None
    return {name: joined([one[name] for one in found], caveats) for name in found[0]}


def _averaging_result(each: Sequence[AveragingResult | None]) -> AveragingResult | None:
    """The first seed's, with what happened on all of them."""
    found = [one for one in each if one is not None]
    if not found:
        return None
    return msgspec.structs.replace(
        found[0],
        kept_own=sum(one.kept_own for one in found),
        lost=sum(one.lost for one in found),
    )


def _majority(own: ParticipantData) -> float:
    """The headline score of saying the same of everybody, as the training samples have it."""
    return headline(most_common(own.train), own)


def _two_digits(value: float) -> float:
    """Rounded, so that equal seeds give equal files whatever keys were drawn."""
    return float(f"{value:.1e}")


def _spread(values: Sequence[float]) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
