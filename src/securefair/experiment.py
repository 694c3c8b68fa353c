"""A configuration file in, records and a report out: the main job of the command line."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

from securefair.algorithms import Population, Standalone
from securefair.algorithms import run as run_reference
from securefair.circuit.planner import ExchangePlan, plan_exchange
from securefair.circuit.wish import Wish
from securefair.collaboration import Collaboration, DisclosureLimits
from securefair.config import RunConfig, to_toml
from securefair.data import PARTITIONERS, ParticipantData, load_population
from securefair.fairness import ReputationRule
from securefair.metrics import DDOF_EQUATION_5, cgs, gains, mcg, mva
from securefair.model.training import OptimizerConfig
from securefair.participant import ModelConfig
from securefair.records import (
    AlgorithmResult,
    EncryptionResult,
    ExchangeRecord,
    LedgerRow,
    ParticipantResult,
    RoundRecord,
    RunResult,
    TrafficRow,
)
from securefair.report import (
    Progress,
    write_json,
    write_json_lines,
    write_report,
    write_text,
)
from securefair.simulation.run import EncryptedRun, start_run

RESULT_FORMAT = 1
PRINTED_PACKAGES = ("securefair", "torch", "numpy", "tenseal", "msgspec", "scikit-learn")
FROM_STUDENT = ("keys", "features", "query")


@dataclass(eq=False)
class Outcome:
    """Everything a run leaves behind, in memory."""

    result: RunResult
    rounds: list[RoundRecord]  # of the first seed, all algorithms
    exchanges: list[ExchangeRecord]
    ledger: list[LedgerRow]
    traffic: list[TrafficRow]
    problems: list[str]


@dataclass(eq=False)
class _Repetition:
    """One seed."""

    data: list[ParticipantData]
    rounds: dict[str, list[RoundRecord]] = field(default_factory=dict)
    runs: dict[str, EncryptedRun] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def accuracy(self, algorithm: str) -> list[float]:
        """Of every participant after the last round."""
        return self.rounds[algorithm][-1].accuracy


def run_experiment(config: RunConfig, progress: Progress) -> Outcome:
    """Run every algorithm on every seed.

    Raises:
        SecureFairError: the data cannot be divided so, the plan is impossible, or training
            diverged.
    """
    repetitions = []
    for seed in config.run.seeds:
        repetition = _Repetition(load_participants(config, seed))
        for algorithm in config.run.algorithms:
            started = time.perf_counter()
            _run_algorithm(config, repetition, algorithm, seed, progress)
            repetition.seconds[algorithm] = time.perf_counter() - started
        repetitions.append(repetition)
    return _conclude(config, repetitions)


def load_participants(config: RunConfig, seed: int) -> list[ParticipantData]:
    """The participants that a configuration asks for."""
    partition = config.data.partition
    partitioner = None
    if partition is not None:
        settings = partition.model_dump(exclude={"kind"})
        partitioner = PARTITIONERS[partition.kind](**settings)
    return load_population(
        config.data.source, partitioner, test_fraction=config.data.test_fraction, seed=seed
    )


def collaboration_of(
    config: RunConfig, data: Sequence[ParticipantData], *, algorithm: str, seed: int
) -> Collaboration:
    """What the participants of a configuration agree on."""
    distillation, fairness = config.distillation, config.fairness
    return Collaboration(
        participants=tuple(own.name for own in data),
        wish=Wish(
            features=int(data[0].train.features.shape[1]),
            classes=data[0].train.classes,
            samples=max(len(own.train) for own in data),
            hidden=config.model.hidden if config.model.kind == "quadratic" else 0,
            release=distillation.release,
            basis=distillation.basis,
            q=distillation.q,
            flooding_bits=config.encryption.flooding_bits,
            precision=config.encryption.precision,
            weight_bits=config.model.weight_bits,
        ),
        rule=ReputationRule(
            alpha=fairness.alpha, tau_opt=fairness.tau_opt, tau_max=fairness.tau_max
        ),
        always_share=algorithm == "vpdl",
        forced_every=fairness.forced_every,
        temperature=distillation.temperature,
        lambda_0=distillation.lambda_0,
        local_steps=config.training.local_steps,
        seed=seed,
    )


def plan_of(config: RunConfig) -> ExchangePlan:
    """The plan of the participant with the most samples, on the first seed."""
    seed = config.run.seeds[0]
    data = load_participants(config, seed)
    return plan_exchange(collaboration_of(config, data, algorithm="cycle", seed=seed).wish)


def write_outcome(outcome: Outcome, config: RunConfig, out: Path) -> None:
    """Write every file of a run, each atomically; the report comes last.

    Raises:
        OSError: the folder cannot be written.
    """
    write_text(out / "config.toml", to_toml(config))
    write_json_lines(out / "rounds.jsonl", outcome.rounds)
    write_json_lines(out / "exchanges.jsonl", outcome.exchanges)
    write_json(out / "ledger.json", outcome.ledger)
    write_json(out / "traffic.json", outcome.traffic)
    write_json(out / "metrics.json", outcome.result)
    if config.report.html:
        write_report(
            out,
            result=outcome.result,
            rounds=outcome.rounds,
            exchanges=outcome.exchanges,
            ledger=outcome.ledger,
            traffic=outcome.traffic,
            config=config,
            versions=versions(),
        )


def versions() -> Mapping[str, str]:
    """Versions of what computes here."""
    found = {}
    for package in PRINTED_PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def _run_algorithm(
    config: RunConfig, repetition: _Repetition, algorithm: str, seed: int, progress: Progress
) -> None:
    data, training = repetition.data, config.training
    progress.start(algorithm, training.rounds)
    optimizer = OptimizerConfig(
        learning_rate=training.learning_rate,
        momentum=training.momentum,
        weight_decay=training.weight_decay,
        clip_norm=training.clip_norm,
    )
    if algorithm == "standalone":
        population = Population(
            participants=tuple(data),
            head=config.model.kind,
            hidden=config.model.hidden,
            optimizer=optimizer,
            local_epochs=training.local_epochs,
            local_steps=training.local_steps,
        )
        records = run_reference(Standalone(), population, seed, training.rounds)
    else:
        model = ModelConfig(
            kind=config.model.kind,
            hidden=config.model.hidden,
            optimizer=optimizer,
            local_epochs=training.local_epochs,
        )
        disclosure = config.disclosure
        run = start_run(
            algorithm,
            data,
            collaboration_of(config, data, algorithm=algorithm, seed=seed),
            [model] * len(data),
            seed=seed,
            backend=config.encryption.backend,
            disclosure=DisclosureLimits(
                fraction=disclosure.fraction,
                student_total=disclosure.student_total,
                teacher_total=disclosure.teacher_total,
            ),
        )
        repetition.runs[algorithm] = run
        records = run.rounds(training.rounds)
    rounds = repetition.rounds.setdefault(algorithm, [])
    for record in records:
        rounds.append(record)
        progress.advance(record)
    progress.finish()


def _conclude(config: RunConfig, repetitions: Sequence[_Repetition]) -> Outcome:
    first, algorithms = repetitions[0], config.run.algorithms
    main = config.run.collaborative[-1] if config.run.collaborative else algorithms[0]
    results: dict[str, AlgorithmResult] = {
        name: _algorithm_result(name, repetitions) for name in algorithms
    }
    runs = list(first.runs.values())
    return Outcome(
        result=RunResult(
            format=RESULT_FORMAT,
            name=config.run.name,
            seeds=list(config.run.seeds),
            algorithm=main,
            participants=_participant_results(main, repetitions),
            algorithms=results,
            encryption=_encryption_result(config, main, repetitions),
        ),
        rounds=[record for name in algorithms for record in first.rounds[name]],
        exchanges=[exchange for run in runs for exchange in run.exchanges],
        ledger=[row for run in runs for row in run.ledger],
        traffic=[row for run in runs for row in run.traffic],
        problems=[p for rep in repetitions for run in rep.runs.values() for p in run.problems],
    )


def _algorithm_result(algorithm: str, repetitions: Sequence[_Repetition]) -> AlgorithmResult:
    accuracy = np.array([rep.accuracy(algorithm) for rep in repetitions])
    alone = np.array([rep.accuracy("standalone") for rep in repetitions])
    gain = np.array([gains(a, b) for a, b in zip(accuracy, alone, strict=True)])
    mcgs, spreads = [mcg(g) for g in gain], [cgs(g) for g in gain]
    return AlgorithmResult(
        mva=float(np.mean([mva(a) for a in accuracy])),
        mcg=float(np.mean(mcgs)),
        cgs=float(np.mean(spreads)),
        cgs_ddof1=float(np.mean([cgs(g, ddof=DDOF_EQUATION_5) for g in gain])),
        accuracy=accuracy.mean(axis=0).tolist(),
        gain=gain.mean(axis=0).tolist(),
        mcg_spread=_spread(mcgs),
        cgs_spread=_spread(spreads),
    )


def _participant_results(
    algorithm: str, repetitions: Sequence[_Repetition]
) -> list[ParticipantResult]:
    results = []
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
            )
        )
    return results


def _encryption_result(
    config: RunConfig, algorithm: str, repetitions: Sequence[_Repetition]
) -> EncryptionResult | None:
    runs = [rep.runs[algorithm] for rep in repetitions if algorithm in rep.runs]
    if not runs:
        return None
    plan = plan_exchange(runs[0].collaboration.wish)
    traffic = [row for run in runs for row in run.traffic]
    asked = [exchange for run in runs for exchange in run.exchanges]
    answers = sum(exchange.answered for exchange in asked)
    audits = [run.audit for run in runs if run.audit]
    return EncryptionResult(
        backend=config.encryption.backend,
        ring_degree=plan.params.ring_degree,
        log_qp=plan.params.log_qp,
        security_bits=plan.security_bits,
        release=plan.wish.release,
        flooding_bits=plan.wish.flooding_bits,
        max_abs_error=max((audit.max_abs_error for audit in audits), default=0.0),
        error_over_range=max((audit.error_over_range for audit in audits), default=0.0),
        bytes_up=sum(row.bytes for row in traffic if row.message in FROM_STUDENT),
        bytes_down=sum(row.bytes for row in traffic if row.message in ("answer", "decline")),
        answers=answers,
        declines=len(asked) - answers,
        seconds=sum(rep.seconds[algorithm] for rep in repetitions),
    )


def _majority(own: ParticipantData) -> float:
    """Accuracy of always answering the most common training label."""
    common = np.bincount(own.train.labels, minlength=own.train.classes).argmax()
    return float(np.mean(own.test.labels == common))


def _spread(values: Sequence[float]) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
