"""A configuration -> its participants' data and what they agree on before anything runs."""

from __future__ import annotations

import math
from collections.abc import Sequence

from securefair.circuit.planner import plan_exchange
from securefair.circuit.spec import ExchangeSpec, HeadBounds, LayerBounds
from securefair.collaboration.disclosure import DisclosureLimits
from securefair.collaboration.distillation.setup import Collaboration
from securefair.collaboration.gossip.agreement import GossipAgreement
from securefair.collaboration.private import PrivacyTerms
from securefair.config import RunConfig
from securefair.config.sections import GOSSIP
from securefair.data import PARTITIONERS, ParticipantData, Samples, load_population
from securefair.errors import ConfigError, PlanError
from securefair.exchange.compile import bounds_by_shape
from securefair.fairness import ReputationRule
from securefair.model.networks import fold, small_network
from securefair.user.tables import load_own


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
        spec=_spec(config, max((own.train for own in data), key=len)),
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


def privacy_of(config: RunConfig) -> PrivacyTerms | None:
    """What the private models of a configuration may cost; None where nothing is private."""
    given = config.privacy
    if given is None:
        return None
    required = None
    if given.require_epsilon is not None and given.require_delta is not None:
        required = (given.require_epsilon, given.require_delta)
    return PrivacyTerms(
        epsilon=given.epsilon,
        delta=given.delta,
        rows_per_patient=given.rows_per_patient,
        by_column=given.patient_column is not None,
        require=required,
        store=given.store,
        total_epsilon=given.total_epsilon,
        total_delta=given.total_delta,
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
        network=network_of(config),
        averaging=gossip.averaging,
        topology=gossip.edges or gossip.topology,
        weighting=gossip.weighting,
        beta=gossip.beta,
        alpha=config.fairness.alpha,
        forced_every=config.fairness.forced_every,
        levels=gossip.levels,
        key_bits=gossip.key_bits,
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


def network_of(config: RunConfig) -> str:
    """The name of the network that everyone averages."""
    if config.gossip.network is not None:
        return config.gossip.network
    hidden = config.model.hidden
    return f"quadratic-head-{hidden}" if config.model.kind == "quadratic" else "linear-head"


def _spec(config: RunConfig, student: Samples) -> ExchangeSpec:
    """The exchange that a configuration asks for, with a student of these samples.

    Raises:
        ConfigError: the samples do not fit the network.
    """
    distillation, model = config.distillation, config.model
    network: tuple[LayerBounds, ...] = ()
    if model.network is not None:
        network = _layer_bounds(model.network, student, model.weight_bits)
    return ExchangeSpec(
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


def _layer_bounds(name: str, student: Samples, weight_bits: int) -> tuple[LayerBounds, ...]:
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
    return bounds_by_shape(network, weight_bits=weight_bits)


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
            plan_exchange(_spec(config, own.train))
        except PlanError as error:
            raise PlanError(
                error.problem,
                where=f"{own.name}, {error.where}",
                found=error.found,
                expected=error.expected,
                hint=error.hint,
            ) from error
