"""What a run concludes: the records of every seed and algorithm -> the figures of metrics.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np
from numpy.typing import NDArray

from securefair.circuit.planner import plan_exchange
from securefair.circuit.spec import ExchangeSpec
from securefair.collaboration.distillation.run import EncryptedRun
from securefair.collaboration.gossip.run import GossipRun
from securefair.config import RunConfig
from securefair.data import ParticipantData
from securefair.metrics import DDOF_EQUATION_5, cgs, gains, mcg, mva
from securefair.model.quantize import QuantizationReport
from securefair.model.stored import Function
from securefair.prediction import HospitalModel, ModelCard
from securefair.protocol.ledger import Release
from securefair.records import (
    AlgorithmResult,
    AveragingResult,
    EncryptionResult,
    ExchangeRecord,
    LedgerRow,
    ParticipantResult,
    PrivacyResult,
    QuantizationResult,
    RoundRecord,
    RunResult,
    TrafficRow,
)
from securefair.run.privacy import joined, privacy_results

RESULT_FORMAT = 1
CLEAR = "clear"
FROM_STUDENT = ("keys", "features", "query", "sharerequest", "sharereveal")
FROM_TEACHER = ("answer", "decline", "offer", "share", "refusal", "sharekey")


class SumFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What was encrypted in a run that averages models.

    Attributes:
        backend: of the alignments; "clear" where gradients or models were in the open.
        ring_degree, log_qp, security_bits, flooding_bits: of alignments.
        result: of the sums.
    """

    backend: str
    ring_degree: int
    log_qp: float
    security_bits: int
    flooding_bits: int
    result: AveragingResult


class RunFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What a finished encrypted run leaves behind besides its rounds and exchanges.

    Attributes:
        spec: the agreed exchange; None where models are averaged.
        quantization: of every participant's last model.
        max_abs_error, error_over_range: of released values; None without an audit.
        ledger, traffic, problems: see `EncryptedRun`.
        repeated: bytes sent once more because the run was interrupted, not in `traffic`.
        sums: of a run that averages models.
        privacy: of a run whose teachers are private.
    """

    spec: ExchangeSpec | None
    quantization: list[QuantizationReport]
    max_abs_error: float | None
    error_over_range: float | None
    ledger: list[LedgerRow]
    traffic: list[TrafficRow]
    problems: list[str]
    repeated: int = 0
    sums: SumFacts | None = None
    privacy: dict[str, PrivacyResult] | None = None


def facts_of(run: EncryptedRun) -> RunFacts:
    """What a run that has finished its rounds leaves behind."""
    audit = run.audit
    return RunFacts(
        spec=run.collaboration.spec,
        quantization=run.quantization(),
        max_abs_error=None if audit is None else audit.max_abs_error,
        error_over_range=None if audit is None else audit.error_over_range,
        ledger=run.ledger,
        traffic=run.traffic,
        problems=run.problems,
        repeated=run.repeated_bytes,
        privacy=privacy_results(run.teachers(), decides=not run.collaboration.always_share),
    )


def gossip_facts_of(run: GossipRun, *, backend: str) -> RunFacts:
    """What a run of averages that has finished its rounds leaves behind.

    Args:
        run: finished.
        backend: of the alignments.
    """
    agreement = run.agreement
    inner, sums = agreement.alignment.inner, agreement.sums
    return RunFacts(
        spec=None,
        quantization=[],
        max_abs_error=run.max_sum_error,
        error_over_range=run.max_sum_error / agreement.bound,
        ledger=run.ledger,
        traffic=run.traffic,
        problems=run.problems,
        repeated=run.repeated_bytes,
        sums=SumFacts(
            backend=backend if sums.hides_parameters else CLEAR,
            ring_degree=inner.params.ring_degree,
            log_qp=inner.params.log_qp,
            security_bits=inner.security_bits,
            flooding_bits=inner.spec.flooding_bits,
            result=AveragingResult(
                averaging=agreement.averaging,
                hides_weights=sums.hides_weights,
                hides_parameters=sums.hides_parameters,
                parameters=agreement.stacked.length,
                sum_error_bound=agreement.sum_plan.error_bound,
                cosine_error_bound=agreement.alignment.error_bound,
                min_senders=agreement.min_senders,
                kept_own=run.kept_own,
                lost=run.lost,
                max_share=agreement.max_share,
            ),
        ),
    )


@dataclass(eq=False)
class Repetition:
    """One seed: its data, and what each algorithm made of them, in the order they ran."""

    data: list[ParticipantData]
    rounds: dict[str, list[RoundRecord]] = field(default_factory=dict)
    exchanges: dict[str, list[ExchangeRecord]] = field(default_factory=dict)
    runs: dict[str, RunFacts] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    models: dict[str, Mapping[str, Function]] = field(default_factory=dict)  # after the last round
    interrupted: int = 0

    def accuracy(self, algorithm: str) -> list[float]:
        """Of every participant after the last round."""
        return self.rounds[algorithm][-1].accuracy


@dataclass(frozen=True, eq=False)
class KeptModel:
    """What one participant keeps: its model, and the card that goes with it."""

    model: HospitalModel
    card: ModelCard


@dataclass(eq=False)
class Outcome:
    """Everything a run leaves behind, in memory."""

    result: RunResult
    rounds: list[RoundRecord]  # of the first seed, all algorithms
    exchanges: list[ExchangeRecord]
    ledger: list[LedgerRow]
    traffic: list[TrafficRow]
    problems: list[str]
    interrupted: int = 0  # times that another process went on with the run
    repeated_bytes: int = 0  # sent once more because of that
    models: list[KeptModel] = field(default_factory=list)  # of the first seed, one a participant


def conclude(config: RunConfig, repetitions: Sequence[Repetition]) -> Outcome:
    """Means and spreads over the repetitions; rounds, traffic and ledger of the first."""
    first = repetitions[0]
    main = config.run.collaborative[-1] if config.run.collaborative else "standalone"
    runs = list(first.runs.values())
    return Outcome(
        result=RunResult(
            format=RESULT_FORMAT,
            name=config.run.name,
            seeds=list(config.run.seeds),
            algorithm=main,
            participants=_participant_results(main, repetitions),
            algorithms={name: _algorithm_result(name, repetitions) for name in first.rounds},
            encryption=_encryption_result(config, main, repetitions),
            privacy=_privacy_result(config, repetitions),
        ),
        rounds=[record for records in first.rounds.values() for record in records],
        exchanges=[exchange for rows in first.exchanges.values() for exchange in rows],
        ledger=[row for run in runs for row in run.ledger],
        traffic=[row for run in runs for row in run.traffic],
        problems=[p for rep in repetitions for run in rep.runs.values() for p in run.problems],
        interrupted=sum(rep.interrupted for rep in repetitions),
        repeated_bytes=sum(run.repeated for rep in repetitions for run in rep.runs.values()),
    )


def _algorithm_result(algorithm: str, repetitions: Sequence[Repetition]) -> AlgorithmResult:
    accuracy = np.array([rep.accuracy(algorithm) for rep in repetitions])
    gain = _gains_over("standalone", accuracy, repetitions)
    mcgs, spreads = [mcg(g) for g in gain], [cgs(g) for g in gain]
    over_early: list[float] = []
    if "early_stopping" in repetitions[0].rounds:
        over_early = [mcg(g) for g in _gains_over("early_stopping", accuracy, repetitions)]
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
        mcg_over_early_stopping=float(np.mean(over_early)) if over_early else None,
        mcg_over_early_stopping_spread=_spread(over_early),
    )


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
        alone = [rep.accuracy("standalone")[n] for rep in repetitions]
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
    config: RunConfig, algorithm: str, repetitions: Sequence[Repetition]
) -> EncryptionResult | None:
    runs = [rep.runs[algorithm] for rep in repetitions if algorithm in rep.runs]
    if not runs:
        return None
    params = _parameters(config, runs[0])
    traffic = [row for run in runs for row in run.traffic]
    asked = [one for rep in repetitions for one in rep.exchanges.get(algorithm, ())]
    answers = sum(exchange.answered for exchange in asked)
    return EncryptionResult(
        backend=params.backend,
        ring_degree=params.ring_degree,
        log_qp=params.log_qp,
        security_bits=params.security_bits,
        release=params.release,
        flooding_bits=params.flooding_bits,
        max_abs_error=max(run.max_abs_error or 0.0 for run in runs),
        error_over_range=max(run.error_over_range or 0.0 for run in runs),
        bytes_up=sum(row.bytes for row in traffic if row.message in FROM_STUDENT),
        bytes_down=sum(row.bytes for row in traffic if row.message in FROM_TEACHER),
        answers=answers,
        declines=len(asked) - answers,
        seconds=sum(rep.seconds[algorithm] for rep in repetitions),
        averaging=_averaging_result(runs),
    )


def _privacy_result(
    config: RunConfig, repetitions: Sequence[Repetition]
) -> dict[str, PrivacyResult] | None:
    """By hospital, the most that any repetition spent; what one algorithm leaves open, all do."""
    found = [run.privacy for rep in repetitions for run in rep.runs.values() if run.privacy]
    if not found:
        return None
    return {name: joined([one[name] for one in found], config) for name in found[0]}


def _averaging_result(runs: Sequence[RunFacts]) -> AveragingResult | None:
    """The first seed's, with what happened on all of them."""
    found = [run.sums.result for run in runs if run.sums is not None]
    if not found:
        return None
    return msgspec.structs.replace(
        found[0],
        kept_own=sum(one.kept_own for one in found),
        lost=sum(one.lost for one in found),
    )


@dataclass(frozen=True, kw_only=True)
class _Parameters:
    """What a run was encrypted with."""

    backend: str
    ring_degree: int
    log_qp: float
    security_bits: int
    release: str
    flooding_bits: int


def _parameters(config: RunConfig, run: RunFacts) -> _Parameters:
    """Of the exchange or of the alignments; "clear" where anything was in the open."""
    sums = run.sums
    if sums is not None:
        return _Parameters(
            backend=sums.backend,
            ring_degree=sums.ring_degree,
            log_qp=sums.log_qp,
            security_bits=sums.security_bits,
            release=Release.ALIGNMENT.value,
            flooding_bits=sums.flooding_bits,
        )
    if run.spec is None:
        raise LookupError("a run exchanges or averages")
    plan = plan_exchange(run.spec)
    return _Parameters(
        backend=config.encryption.backend,
        ring_degree=plan.params.ring_degree,
        log_qp=plan.params.log_qp,
        security_bits=plan.security_bits,
        release=plan.spec.release,
        flooding_bits=plan.spec.flooding_bits,
    )


def _majority(own: ParticipantData) -> float:
    """Accuracy of always answering the most common training label."""
    common = np.bincount(own.train.labels, minlength=own.train.classes).argmax()
    return float(np.mean(own.test.labels == common))


def _two_digits(value: float) -> float:
    """Rounded, so that equal seeds give equal files whatever keys were drawn."""
    return float(f"{value:.1e}")


def _spread(values: Sequence[float]) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
