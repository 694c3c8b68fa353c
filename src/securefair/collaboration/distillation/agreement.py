"""A configuration and what everyone may know -> what participants that distil agree on."""

from __future__ import annotations

import math
from collections.abc import Sequence

from securefair.circuit.planner import plan_exchange
from securefair.circuit.spec import ExchangeSpec, HeadBounds, LayerBounds
from securefair.collaboration.distillation.setup import Collaboration
from securefair.collaboration.interface import PublicFacts
from securefair.config import FairnessSection, RunConfig
from securefair.data import ParticipantData
from securefair.errors import ConfigError, PlanError
from securefair.worth import ReputationRule


def collaboration_of(
    config: RunConfig, facts: PublicFacts, *, always_share: bool, seed: int
) -> Collaboration:
    """What the participants of a configuration agree on.

    Raises:
        ConfigError: fewer than two participants, or the samples do not fit the network.
        PlanError: the exchange is impossible for the participant with the most samples.
    """
    distillation = config.distillation
    # Nobody forms a reputation where everyone always shares.
    fairness = FairnessSection() if always_share else config.fairness
    return Collaboration(
        participants=facts.participants,
        spec=_spec(config, facts, facts.samples),
        rule=ReputationRule(
            alpha=fairness.alpha, tau_opt=fairness.tau_opt, tau_max=fairness.tau_max
        ),
        always_share=always_share,
        forced_every=fairness.forced_every,
        temperature=distillation.temperature,
        lambda_0=distillation.lambda_0,
        prevalence=distillation.prevalence,
        local_steps=config.training.local_steps,
        round_seconds=facts.round_seconds,
        setup_seconds=facts.setup_seconds,
        key_bits=config.encryption.key_bits,
        key_openings=config.encryption.key_openings,
        teachers=distillation.teachers if distillation.roles == "apart" else (),
        seed=seed,
    )


def check_plans(config: RunConfig, data: Sequence[ParticipantData]) -> None:
    """Find out whose samples do not allow the exchange.

    Raises:
        ConfigError: the samples do not fit the network.
        PlanError: names the participant with the fewest samples that it is impossible for.
    """
    facts = PublicFacts.of(data)
    for own in sorted(data, key=lambda own: len(own.train)):
        try:
            plan_exchange(_spec(config, facts, len(own.train)))
        except PlanError as error:
            raise error.about(own.name) from error


def _spec(config: RunConfig, facts: PublicFacts, samples: int) -> ExchangeSpec:
    """The exchange that a configuration asks for, with a student of so many samples."""
    distillation, model = config.distillation, config.model
    network: tuple[LayerBounds, ...] = ()
    if model.network is not None:
        network = _layer_bounds(model.network, facts, model.weight_bits)
    return ExchangeSpec(
        features=facts.shape[0],
        classes=facts.classes,
        samples=samples,
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


def _layer_bounds(name: str, facts: PublicFacts, weight_bits: int) -> tuple[LayerBounds, ...]:
    """Public terms of a network, of its architecture alone."""
    from securefair.exchange.compile import bounds_by_shape
    from securefair.model.networks import fold, small_network  # torch, which heads do not need

    network = fold(small_network(name, facts.classes, seed=0))
    width, pixels = facts.shape[0], math.prod(network.input_shape)
    if width != pixels:
        raise ConfigError(
            "the samples are no images of the network's size",
            where="model.network",
            found=f"{width} features",
            expected=f"{pixels} pixels for {name}",
        )
    return bounds_by_shape(network, weight_bits=weight_bits)
