"""The call: settings, participants and heads -> a run -> a result."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Literal

from torch import nn

from securefair.circuit.planner import plan_exchange
from securefair.circuit.spec import Basis
from securefair.ckks.threads import threads_set
from securefair.collaboration.agreements import check_plans, collaboration_of
from securefair.collaboration.disclosure import DisclosureLimits
from securefair.collaboration.distillation.participant import ModelConfig
from securefair.collaboration.distillation.run import EncryptedRun, start_run
from securefair.config import RunConfig, override
from securefair.data import ParticipantData
from securefair.errors import ConfigError
from securefair.fairness import ReputationRule
from securefair.library.controls import GivenHeads, controls
from securefair.library.hospitals import participants
from securefair.library.models import Model, Models, hidden_units, suitable_q
from securefair.library.result import Result
from securefair.library.settings import settings
from securefair.model.heads import Head
from securefair.model.training import OptimizerConfig, TrainState
from securefair.run.callbacks import Callback
from securefair.run.execute import versions
from securefair.run.kept import kept_models
from securefair.run.results import Repetition, conclude, facts_of
from securefair.user.tables import alike


def collaborate(
    hospitals: Mapping[str, object],
    model: Model | Mapping[str, Model] = "quadratic",
    *,
    algorithm: Literal["cycle", "vpdl"] = "cycle",
    rounds: int = 40,
    local_epochs: int = 40,
    local_steps: int = 5,
    optimizer: OptimizerConfig | None = None,
    hidden: int = 16,
    extractor: nn.Module | None = None,
    feature_range: tuple[float, float] | None = None,
    test_fraction: float = 1 / 3,
    release: Literal["projection", "logits"] = "projection",
    basis: Basis = "public",
    q: int | None = None,
    temperature: float = 5.0,
    lambda_0: float = 10.0,
    rule: ReputationRule | None = None,
    forced_every: int = 5,
    backend: Literal["rns", "seal", "clear"] = "rns",
    flooding_bits: int = 30,
    precision: float = 2.0**-10,
    disclosure: DisclosureLimits | None = None,
    seed: int = 0,
    threads: int = 1,
    callbacks: Sequence[Callback] = (),
) -> Result:
    """Let hospitals in this process learn from each other under encryption.

    Everyone trains alone, then in every round asks the others how their models judge its own
    samples; only encrypted samples and released numbers pass between them. Everyone also trains
    alone, for as long and stopped early, to know the gain. Nothing is written; see
    `Result.write`. Interrupted, it leaves nothing behind.

    Args:
        hospitals: name: (training data set, test data set), or name: one data set of which a part
            is held out. A data set is a map-style torch data set, (features, labels), or `Samples`.
        model: "quadratic", "linear" or a module (see `Quadratic`), for everyone or by name. All
            must have the same shape; modules start from the parameters that they have, and are
            left as they are.
        algorithm: "cycle" weighs teachers by reputation, "vpdl" always shares.
        rounds: of the protocol.
        local_epochs: that everyone trains alone before it.
        local_steps: of the optimiser in each round.
        optimizer: of every step; gradient descent with momentum by default.
        hidden: width of a "quadratic" model.
        extractor: a public network that everyone applies to its own samples in the clear; it is
            not trained, and its output is flattened.
        feature_range: public range of features (after the extractor), which becomes [-1, 1].
        test_fraction: of data sets that come alone.
        release: what a teacher lets out: projections of its logits, or all of them.
        basis: who chooses the projections: a public seed or the student.
        q: numbers per class and answer of a projection. None takes 64, or less where the
            ledger's limit or the fewest samples ask for it.
        temperature: T of the distillation loss.
        lambda_0: its weight. 50, as of the packaged demo, can cost accuracy where features are
            many; watch the gains.
        rule: how alignment becomes reputation.
        forced_every: rounds between two updates of reputations, in which everyone answers.
        backend: "rns", "seal", or "clear", which encrypts nothing.
        flooding_bits: how far an answer's noise exceeds what depends on the teacher, log2.
        precision: largest error of a logit over the range of logits.
        disclosure: limits of every teacher.
        seed: of initialisation, held-out samples and sharing.
        threads: that compute, of this whole process as long as this lasts. More than one pays off
            where samples are many and models wide; on small ones threads wait for each other.
        callbacks: hear of every round.

    Returns:
        Models, gains and records.

    Raises:
        ConfigError: fewer than two hospitals, or a setting out of range.
        DataError: data cannot be used; names hospital and sample.
        ModelError: encryption cannot evaluate a module, it does not fit the data, or training
            diverged.
        PlanError: no parameters satisfy these settings; names the hospital.
    """
    config = settings(
        algorithm=algorithm,
        rounds=rounds,
        local_epochs=local_epochs,
        local_steps=local_steps,
        optimizer=optimizer,
        hidden=hidden,
        feature_range=feature_range,
        test_fraction=test_fraction,
        release=release,
        basis=basis,
        q=q,
        temperature=temperature,
        lambda_0=lambda_0,
        rule=rule,
        forced_every=forced_every,
        backend=backend,
        flooding_bits=flooding_bits,
        precision=precision,
        disclosure=disclosure,
        seed=seed,
    )
    _check_callbacks(callbacks)
    data = participants(hospitals, extractor, config)
    models = Models.of(model, [own.name for own in data])
    data = alike(data, at_least=models.classes)
    heads = models.heads(data, hidden, seed)
    config = _completed(config, data, heads, q)
    check_plans(config, data)
    steps = optimizer or OptimizerConfig()
    with threads_set(threads):
        run, repetition = _carried_out(config, data, heads, steps, disclosure, callbacks)
    outcome = conclude(config, [repetition])
    outcome.models = kept_models(config, repetition, versions())
    return Result(
        models=models.trained(
            {name: own.train_state.model for name, own in run.engine.participants.items()}
        ),
        plan=plan_exchange(run.collaboration.spec),
        config=config,
        outcome=outcome,
    )


def _check_callbacks(callbacks: Sequence[Callback]) -> None:
    if not isinstance(callbacks, list | tuple):
        raise ConfigError(
            "callbacks come as a list", where="callbacks", found=type(callbacks).__name__
        )
    for one in callbacks:
        if not callable(getattr(one, "on_round", None)):
            raise ConfigError(
                "this is no callback",
                where="callbacks",
                found=type(one).__name__,
                expected="an object with a method on_round(record)",
            )


def _completed(
    config: RunConfig, data: Sequence[ParticipantData], heads: Mapping[str, Head], q: int | None
) -> RunConfig:
    """The configuration with what depends on data and modules."""
    hidden = hidden_units(heads[data[0].name])
    changes: dict[str, object] = {"model.kind": "quadratic" if hidden else "linear"}
    if hidden:
        changes["model.hidden"] = hidden
    if q is None:
        changes["distillation.q"] = suitable_q(data, heads)
    return override(config, changes, source="collaborate")


def _carried_out(
    config: RunConfig,
    data: list[ParticipantData],
    heads: Mapping[str, Head],
    optimizer: OptimizerConfig,
    disclosure: DisclosureLimits | None,
    callbacks: Sequence[Callback],
) -> tuple[EncryptedRun, Repetition]:
    """The run after its last round, and the records of it and of training alone."""
    algorithm, training = config.run.collaborative[-1], config.training
    seed = config.run.seeds[0]
    population = GivenHeads(
        participants=tuple(data),
        heads=heads,
        head="quadratic" if config.model.kind == "quadratic" else "linear",
        hidden=config.model.hidden,
        optimizer=optimizer,
        local_epochs=training.local_epochs,
        local_steps=training.local_steps,
    )
    run = _start(config, data, population.trained_alone(seed), optimizer, disclosure)
    repetition = Repetition(data)
    repetition.rounds |= controls(population, training.rounds, seed)
    records = repetition.rounds[algorithm] = []
    started = time.perf_counter()
    for record in run.rounds(training.rounds):
        records.append(record)
        for callback in callbacks:
            callback.on_round(record)
    repetition.seconds[algorithm] = time.perf_counter() - started
    repetition.exchanges[algorithm] = run.exchanges
    repetition.runs[algorithm] = facts_of(run)
    repetition.models[algorithm] = run.models()
    return run, repetition


def _start(
    config: RunConfig,
    data: Sequence[ParticipantData],
    train_states: Mapping[str, TrainState],
    optimizer: OptimizerConfig,
    disclosure: DisclosureLimits | None,
) -> EncryptedRun:
    """A run before its first round, of learners that have trained alone."""
    seed, algorithm = config.run.seeds[0], config.run.collaborative[-1]
    model = ModelConfig(
        kind=config.model.kind,
        hidden=config.model.hidden,
        optimizer=optimizer,
        local_epochs=config.training.local_epochs,
    )
    run = start_run(
        algorithm,
        data,
        collaboration_of(config, data, algorithm=algorithm, seed=seed),
        [model for _ in data],
        seed=seed,
        backend=config.encryption.backend,
        disclosure=disclosure,
        trained=False,
    )
    for name, participant in run.engine.participants.items():
        participant.train_state = train_states[name]
    return run
