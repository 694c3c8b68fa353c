"""A configuration file in, records and a report out: the main job of the command line."""

from __future__ import annotations

import math
import platform
import time
from collections.abc import Mapping, Sequence
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from securefair.algorithms import EarlyStopping, Population, Standalone
from securefair.algorithms.network_population import NetworkPopulation
from securefair.circuit.planner import plan_exchange
from securefair.circuit.wish import HeadBounds, MapPromise, Wish
from securefair.collaboration import Collaboration, DisclosureLimits
from securefair.compilation import promises_by_shape
from securefair.config import RunConfig
from securefair.config.sections import GOSSIP
from securefair.course import Course, ParticipantsCourse, ReferenceCourse
from securefair.data import PARTITIONERS, ParticipantData, Samples, load_population
from securefair.errors import ConfigError, PlanError, SecureFairError
from securefair.fairness import ReputationRule
from securefair.gossip.agreement import GossipAgreement
from securefair.journal import FOLDER as UNFINISHED
from securefair.journal import Entry, Journal, State, is_unfinished
from securefair.model.networks import fold, small_network
from securefair.model.training import OptimizerConfig
from securefair.outcome import Outcome, Repetition, conclude, facts_of, gossip_facts_of
from securefair.own_data import load_own, resolve
from securefair.participant import ModelConfig
from securefair.records import CONTROLS
from securefair.report import Progress
from securefair.run_folder import write_run
from securefair.simulation.gossip import start_gossip
from securefair.simulation.run import start_run

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
        out: folder of the results, where a journal is kept meanwhile (`journal`); None keeps none.
        resume: take up the journal that is there, and give what the run would have given.

    Raises:
        SecureFairError: the data cannot be divided so, the plan is impossible, or training
            diverged. A journal that was begun here is removed again.
        KeyboardInterrupt: the journal stays.
    """
    config = resolve(config).config
    repetitions = {seed: Repetition(load_participants(config, seed)) for seed in config.run.seeds}
    for repetition in repetitions.values():
        check_plans(config, repetition.data)
    data = {seed: repetition.data for seed, repetition in repetitions.items()}
    journal = None
    if out is not None:
        journal = (
            Journal.resume(out, data) if resume else Journal.begin(out, config, data, versions())
        )
    try:
        for seed, repetition in repetitions.items():
            for algorithm in _with_controls(config):
                _run_algorithm(config, repetition, algorithm, seed, progress, journal)
    except SecureFairError:
        if journal is not None and not journal.resumed:
            journal.remove()
        raise
    return conclude(config, list(repetitions.values()))


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


def limits_of(config: RunConfig) -> DisclosureLimits:
    """What every teacher keeps to."""
    limits = config.disclosure
    return DisclosureLimits(
        fraction=limits.fraction,
        student_total=limits.student_total,
        teacher_total=limits.teacher_total,
    )


def agreement_of(
    config: RunConfig, data: Sequence[ParticipantData], *, seed: int
) -> GossipAgreement:
    """What participants that average models agree on.

    Raises:
        ConfigError: too few participants, or an impossible graph or network.
    """
    gossip, training = config.gossip, config.training
    return GossipAgreement(
        participants=tuple(own.name for own in data),
        shape=tuple(data[0].train.features.shape[1:]),
        classes=data[0].train.classes,
        network=_network(config),
        averaging=gossip.averaging,
        topology=gossip.edges or gossip.topology,
        weighting=gossip.weighting,
        beta=gossip.beta,
        alpha=config.fairness.alpha,
        forced_every=config.fairness.forced_every,
        relative=gossip.relative,
        local_epochs=training.local_steps,
        bound=gossip.bound,
        precision=gossip.precision,
        min_senders=gossip.min_senders,
        max_share=gossip.max_share,
        sketch=gossip.sketch or None,
        flooding_bits=config.encryption.flooding_bits,
        seed=seed,
    )


def _network(config: RunConfig) -> str:
    """The name of the network that everyone averages."""
    if config.gossip.network is not None:
        return config.gossip.network
    hidden = config.model.hidden
    return f"quadratic-head-{hidden}" if config.model.kind == "quadratic" else "linear-head"


def _wish(config: RunConfig, student: Samples) -> Wish:
    """The exchange that a configuration asks for, with a student of these samples.

    Raises:
        ConfigError: the samples do not fit the network.
    """
    distillation, model = config.distillation, config.model
    network: tuple[MapPromise, ...] = ()
    if model.network is not None:
        network = _promises(model.network, student, model.weight_bits)
    return Wish(
        features=int(student.features.shape[1]),
        classes=student.classes,
        samples=len(student),
        hidden=model.hidden if model.kind == "quadratic" else 0,
        release=distillation.release,
        basis=distillation.basis,
        q=distillation.q,
        flooding_bits=config.encryption.flooding_bits,
        precision=config.encryption.precision,
        weight_bits=model.weight_bits,
        bounds=HeadBounds(logit=network[-1].bound) if network else HeadBounds(),
        network=network,
    )


def _promises(name: str, student: Samples, weight_bits: int) -> tuple[MapPromise, ...]:
    """Public terms of a network, of its architecture alone."""
    network = fold(small_network(name, student.classes, seed=0))
    width, pixels = int(student.features.shape[1]), math.prod(network.input_shape)
    if width != pixels:
        raise ConfigError(
            "the samples are no images of the network's size",
            where="model.network",
            found=f"{width} features",
            expected=f"{pixels} pixels for {name}",
        )
    return promises_by_shape(network, weight_bits=weight_bits)


def check_plans(config: RunConfig, data: Sequence[ParticipantData]) -> None:
    """Find out before a long run, not in it, whose samples do not allow the exchange.

    Raises:
        ConfigError: the samples do not fit the network.
        PlanError: names the participant with the fewest samples that it is impossible for.
    """
    if GOSSIP in config.run.algorithms:
        agreement = agreement_of(config, data, seed=config.run.seeds[0])
        _ = agreement.alignment, agreement.sum_plan  # raise if impossible
    if not set(config.run.collaborative) - {GOSSIP}:
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


def write_outcome(outcome: Outcome, config: RunConfig, out: Path) -> None:
    """Write every file of a run, each atomically; a journal of it is then removed.

    Args:
        outcome: of `run_experiment`.
        config: that it was given, with the rules of tables spelt out (`own_data.resolve`): tables
            may have changed since.
        out: folder of the results.

    Raises:
        OSError: the folder cannot be written.
    """
    write_run(outcome, config, out, versions=versions())
    if is_unfinished(out):
        Journal(out / UNFINISHED, resumed=False).remove()


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
    journal: Journal | None,
) -> None:
    """Run one algorithm to its end, from where the journal says it stands."""
    total = config.training.rounds
    entry = Entry(None) if journal is None else journal.entry(seed, algorithm)
    if entry.state is not None and not entry.state.finished and entry.state.snapshot is None:
        entry.restart()
    earlier = entry.state
    shown = seed if len(config.run.seeds) > 1 else None
    if earlier is None:
        progress.start(algorithm, total, shown)
    else:
        progress.start(algorithm, total, shown, done=earlier.rounds)
    started = time.perf_counter()

    def state(course: Course, *, finished: bool) -> State:
        return State(
            rounds=len(entry.rounds),
            exchanges=len(entry.exchanges),
            seconds=time.perf_counter() - started + (earlier.seconds if earlier else 0.0),
            snapshot=None if finished else course.snapshot(),
            finished=finished,
            facts=course.facts() if finished else None,
            interrupted=earlier.interrupted + 1 if earlier else 0,
        )

    if earlier is None or not earlier.finished:
        course = _course(config, repetition.data, algorithm, seed, trained=earlier is None)
        if earlier is not None and earlier.snapshot is not None:
            course.recall(earlier.snapshot, earlier.rounds, entry.exchanges)
        for record in course.rounds(total):
            entry.append([record], course.exchanges[len(entry.exchanges) :])
            if journal is not None:
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
    if last.facts is not None:
        repetition.runs[algorithm] = last.facts


def _course(
    config: RunConfig,
    data: Sequence[ParticipantData],
    algorithm: str,
    seed: int,
    *,
    trained: bool,
) -> Course:
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
        return ParticipantsCourse(
            averages, partial(gossip_facts_of, averages, backend=config.encryption.backend)
        )
    if algorithm in CONTROLS and config.run.collaborative == (GOSSIP,):
        cohort = NetworkPopulation(
            participants=tuple(data),
            network=_network(config),
            optimizer=optimizer,
            batch_size=None,
            double=True,
            pretraining_epochs=training.local_epochs,
            local_epochs=training.local_steps,
            common_start=True,  # gains are owed to the peers, not to another initialisation
        )
        if algorithm == "standalone":
            return ReferenceCourse(Standalone(), cohort, seed)
        return ReferenceCourse(EarlyStopping(rounds=training.rounds), cohort, seed)
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
            return ReferenceCourse(Standalone(), population, seed)
        return ReferenceCourse(EarlyStopping(rounds=training.rounds), population, seed)
    model = ModelConfig(
        kind=config.model.kind,
        hidden=config.model.hidden,
        network=config.model.network,
        range_penalty=config.model.range_penalty,
        optimizer=optimizer,
        local_epochs=training.local_epochs,
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
    )
    return ParticipantsCourse(run, partial(facts_of, run))
