"""A configuration file in, records and a report out: the main job of the command line."""

from __future__ import annotations

import platform
import time
from collections.abc import Mapping, Sequence
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from securefair.algorithms import EarlyStopping, Population, Standalone
from securefair.algorithms.network_population import NetworkPopulation
from securefair.collaboration.agreements import (
    agreement_of,
    check_plans,
    collaboration_of,
    limits_of,
    load_participants,
    network_of,
    privacy_of,
)
from securefair.collaboration.distillation.participant import ModelConfig
from securefair.collaboration.distillation.run import start_run
from securefair.collaboration.gossip.run import start_gossip
from securefair.collaboration.private import private_teachers
from securefair.config import RunConfig
from securefair.config.sections import GOSSIP
from securefair.data import ParticipantData
from securefair.errors import SecureFairError
from securefair.model.stored import from_bytes, to_bytes
from securefair.model.training import OptimizerConfig
from securefair.records import CONTROLS
from securefair.report import Progress
from securefair.run.checkpoint import FOLDER as UNFINISHED
from securefair.run.checkpoint import Checkpoint, Entry, State, is_unfinished
from securefair.run.folder import write_run
from securefair.run.kept import kept_models
from securefair.run.results import Outcome, Repetition, conclude, facts_of, gossip_facts_of
from securefair.run.resumable import ParticipantsRun, ReferenceRun, ResumableRun
from securefair.user.tables import resolve

PRINTED_PACKAGES = ("securefair", "torch", "numpy", "tenseal", "msgspec", "scikit-learn")


def run_experiment(
    config: RunConfig,
    progress: Progress,
    *,
    out: Path | None = None,
    resume: bool = False,
) -> Outcome:
    """Run every algorithm on every seed.

    Args:
        config: what to run; rules of tables that it leaves open are inferred.
        progress: hears of every round.
        out: folder of the results, where a checkpoint is kept meanwhile; None keeps none.
        resume: take up the checkpoint that is there, and give what the run would have given.

    Raises:
        SecureFairError: the data cannot be divided so, the plan is impossible, or training
            diverged. A checkpoint that was begun here is removed again.
        KeyboardInterrupt: the checkpoint stays.
    """
    config = resolve(config).config
    repetitions = {seed: Repetition(load_participants(config, seed)) for seed in config.run.seeds}
    for repetition in repetitions.values():
        check_plans(config, repetition.data)
    data = {seed: repetition.data for seed, repetition in repetitions.items()}
    checkpoint = None
    if out is not None:
        checkpoint = (
            Checkpoint.resume(out, data)
            if resume
            else Checkpoint.begin(out, config, data, versions())
        )
    try:
        for seed, repetition in repetitions.items():
            for algorithm in _with_controls(config):
                _run_algorithm(config, repetition, algorithm, seed, progress, checkpoint)
    except SecureFairError:
        if checkpoint is not None and not checkpoint.resumed:
            checkpoint.remove()
        raise
    outcome = conclude(config, list(repetitions.values()))
    outcome.models = kept_models(config, repetitions[config.run.seeds[0]], versions())
    return outcome


def write_outcome(outcome: Outcome, config: RunConfig, out: Path) -> None:
    """Write every file of a run, each atomically; a checkpoint of it is then removed.

    Args:
        outcome: of `run_experiment`.
        config: that it was given, with the rules of tables spelt out (`user_data.resolve`): tables
            may have changed since.
        out: folder of the results.

    Raises:
        OSError: the folder cannot be written.
    """
    write_run(outcome, config, out, versions=versions())
    if is_unfinished(out):
        Checkpoint(out / UNFINISHED, resumed=False).remove()


def versions() -> Mapping[str, str]:
    """Versions of what computes here."""
    found = {}
    for package in PRINTED_PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found | {"Python": platform.python_version()}


def _with_controls(config: RunConfig) -> list[str]:
    """The algorithms of a run; where there are gains, with a second control beside the first."""
    algorithms: list[str] = list(config.run.algorithms)
    if config.run.collaborative:
        algorithms.insert(algorithms.index("standalone") + 1, "early_stopping")
    return algorithms


def _run_algorithm(
    config: RunConfig,
    repetition: Repetition,
    algorithm: str,
    seed: int,
    progress: Progress,
    checkpoint: Checkpoint | None,
) -> None:
    """Run one algorithm to its end, from where the checkpoint says it stands."""
    total = config.training.rounds
    entry = Entry(None) if checkpoint is None else checkpoint.entry(seed, algorithm)
    if entry.state is not None and not entry.state.finished and entry.state.snapshot is None:
        entry.restart()
    earlier = entry.state
    shown = seed if len(config.run.seeds) > 1 else None
    if earlier is None:
        progress.start(algorithm, total, shown)
    else:
        progress.start(algorithm, total, shown, done=earlier.rounds)
    started = time.perf_counter()

    def state(course: ResumableRun, *, finished: bool) -> State:
        return State(
            rounds=len(entry.rounds),
            exchanges=len(entry.exchanges),
            seconds=time.perf_counter() - started + (earlier.seconds if earlier else 0.0),
            snapshot=None if finished else course.snapshot(),
            finished=finished,
            facts=course.facts() if finished else None,
            interrupted=earlier.interrupted + 1 if earlier else 0,
            models={n: to_bytes(m) for n, m in course.models().items()} if finished else {},
        )

    if earlier is None or not earlier.finished:
        course = _course(config, repetition.data, algorithm, seed, trained=earlier is None)
        if earlier is not None and earlier.snapshot is not None:
            course.restore(earlier.snapshot, earlier.rounds, entry.exchanges)
        for record in course.rounds(total):
            entry.append([record], course.exchanges[len(entry.exchanges) :])
            if checkpoint is not None:
                entry.save(state(course, finished=False))
            progress.advance(record)
        entry.save(state(course, finished=True))
    progress.finish()
    last = entry.state
    if last is None:
        raise LookupError("a finished algorithm has a state")
    repetition.rounds[algorithm] = entry.rounds
    repetition.exchanges[algorithm] = entry.exchanges
    repetition.seconds[algorithm] = last.seconds
    repetition.interrupted += last.interrupted
    repetition.models[algorithm] = {
        name: from_bytes(data, where=f"{algorithm}, {name}") for name, data in last.models.items()
    }
    if last.facts is not None:
        repetition.runs[algorithm] = last.facts


def _course(
    config: RunConfig,
    data: Sequence[ParticipantData],
    algorithm: str,
    seed: int,
    *,
    trained: bool,
) -> ResumableRun:
    """An algorithm before its first round; `trained` False leaves out what a snapshot replaces."""
    training = config.training
    optimizer = OptimizerConfig(
        learning_rate=training.learning_rate,
        momentum=training.momentum,
        weight_decay=training.weight_decay,
        clip_norm=training.clip_norm,
    )
    limits = limits_of(config)
    if algorithm == GOSSIP:
        averages = start_gossip(
            algorithm,
            data,
            agreement_of(config, data, seed=seed),
            optimizer,
            pretraining_epochs=training.local_epochs,
            seed=seed,
            backend=config.encryption.backend,
            disclosure=limits,
        )
        return ParticipantsRun(
            averages, partial(gossip_facts_of, averages, backend=config.encryption.backend)
        )
    if algorithm in CONTROLS and config.run.collaborative == (GOSSIP,):
        cohort = NetworkPopulation(
            participants=tuple(data),
            network=network_of(config),
            optimizer=optimizer,
            batch_size=None,
            double=True,
            pretraining_epochs=training.local_epochs,
            local_epochs=training.local_steps,
            common_start=True,  # gains are owed to the peers, not to another initialisation
        )
        if algorithm == "standalone":
            return ReferenceRun(Standalone(), cohort, seed)
        return ReferenceRun(EarlyStopping(rounds=training.rounds), cohort, seed)
    if algorithm in CONTROLS:
        population = Population(
            participants=tuple(data),
            head=config.model.kind,
            hidden=config.model.hidden,
            network=config.model.network,
            range_penalty=config.model.range_penalty,
            optimizer=optimizer,
            local_epochs=training.local_epochs,
            local_steps=training.local_steps,
        )
        if algorithm == "standalone":
            return ReferenceRun(Standalone(), population, seed)
        return ReferenceRun(EarlyStopping(rounds=training.rounds), population, seed)
    model = ModelConfig(
        kind=config.model.kind,
        hidden=config.model.hidden,
        network=config.model.network,
        range_penalty=config.model.range_penalty,
        optimizer=optimizer,
        local_epochs=training.local_epochs,
    )
    terms = privacy_of(config)
    teachers = None
    if terms is not None:
        teachers = private_teachers(
            data,
            [model.kind] * len(data),
            terms,
            seed=seed,
            hidden=model.hidden,
            network=model.network,
        )
    run = start_run(
        algorithm,
        data,
        collaboration_of(config, data, algorithm=algorithm, seed=seed),
        [model] * len(data),
        seed=seed,
        backend=config.encryption.backend,
        disclosure=limits,
        trained=trained,
        teachers=teachers,
        required=None if terms is None else terms.require,
    )
    return ParticipantsRun(run, partial(facts_of, run))
