"""A configuration file in, records and a report out: the main job of the command line."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from securefair.algorithms import EarlyStopping, Population, Standalone
from securefair.algorithms import run as run_reference
from securefair.circuit.planner import ExchangePlan, plan_exchange
from securefair.circuit.wish import Wish
from securefair.collaboration import Collaboration, DisclosureLimits
from securefair.config import RunConfig, to_toml
from securefair.data import PARTITIONERS, ParticipantData, Samples, load_population
from securefair.errors import PlanError
from securefair.fairness import ReputationRule
from securefair.model.training import OptimizerConfig
from securefair.outcome import Outcome, Repetition, conclude
from securefair.own_data import load_own
from securefair.participant import ModelConfig
from securefair.records import CONTROLS
from securefair.report import (
    Progress,
    write_json,
    write_json_lines,
    write_report,
    write_text,
)
from securefair.simulation.run import start_run

PRINTED_PACKAGES = ("securefair", "torch", "numpy", "tenseal", "msgspec", "scikit-learn")


def run_experiment(config: RunConfig, progress: Progress) -> Outcome:
    """Run every algorithm on every seed.

    Raises:
        SecureFairError: the data cannot be divided so, the plan is impossible, or training
            diverged.
    """
    repetitions = [Repetition(load_participants(config, seed)) for seed in config.run.seeds]
    for repetition in repetitions:
        check_plans(config, repetition.data)
    for seed, repetition in zip(config.run.seeds, repetitions, strict=True):
        for algorithm in _with_controls(config):
            started = time.perf_counter()
            _run_algorithm(config, repetition, algorithm, seed, progress)
            repetition.seconds[algorithm] = time.perf_counter() - started
    return conclude(config, repetitions)


def load_participants(config: RunConfig, seed: int) -> list[ParticipantData]:
    """The participants that a configuration asks for.

    Raises:
        SecureFairError: the data cannot be read, used or divided so.
    """
    if config.data.own:
        return load_own(config, seed)
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
    """What the participants of a configuration agree on.

    Raises:
        PlanError: the exchange is impossible for the participant with the most samples.
    """
    distillation, fairness = config.distillation, config.fairness
    return Collaboration(
        participants=tuple(own.name for own in data),
        wish=_wish(config, max((own.train for own in data), key=len)),
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


def _wish(config: RunConfig, student: Samples) -> Wish:
    """The exchange that a configuration asks for, with a student of these samples."""
    distillation = config.distillation
    return Wish(
        features=int(student.features.shape[1]),
        classes=student.classes,
        samples=len(student),
        hidden=config.model.hidden if config.model.kind == "quadratic" else 0,
        release=distillation.release,
        basis=distillation.basis,
        q=distillation.q,
        flooding_bits=config.encryption.flooding_bits,
        precision=config.encryption.precision,
        weight_bits=config.model.weight_bits,
    )


def check_plans(config: RunConfig, data: Sequence[ParticipantData]) -> None:
    """Find out before a long run, not in it, whose samples do not allow the exchange.

    Raises:
        PlanError: names the participant with the fewest samples that it is impossible for.
    """
    if not config.run.collaborative:
        return
    for own in sorted(data, key=lambda own: len(own.train)):
        try:
            plan_exchange(_wish(config, own.train))
        except PlanError as error:
            raise PlanError(
                error.problem,
                where=f"{own.name}, {error.where}",
                found=error.found,
                expected=error.expected,
                hint=error.hint,
            ) from error


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


def _with_controls(config: RunConfig) -> list[str]:
    """The algorithms of a run; where there are gains, with a second control beside the first."""
    algorithms: list[str] = list(config.run.algorithms)
    if config.run.collaborative:
        algorithms.insert(algorithms.index("standalone") + 1, "early_stopping")
    return algorithms


def _run_algorithm(
    config: RunConfig, repetition: Repetition, algorithm: str, seed: int, progress: Progress
) -> None:
    data, training = repetition.data, config.training
    progress.start(algorithm, training.rounds, seed if len(config.run.seeds) > 1 else None)
    optimizer = OptimizerConfig(
        learning_rate=training.learning_rate,
        momentum=training.momentum,
        weight_decay=training.weight_decay,
        clip_norm=training.clip_norm,
    )
    if algorithm in CONTROLS:
        population = Population(
            participants=tuple(data),
            head=config.model.kind,
            hidden=config.model.hidden,
            optimizer=optimizer,
            local_epochs=training.local_epochs,
            local_steps=training.local_steps,
        )
        records = (
            run_reference(Standalone(), population, seed, training.rounds)
            if algorithm == "standalone"
            else run_reference(
                EarlyStopping(rounds=training.rounds), population, seed, training.rounds
            )
        )
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
