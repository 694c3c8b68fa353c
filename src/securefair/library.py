"""A whole collaboration as one call: data sets and models in, trained models and records out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np
import torch
from torch import nn

from securefair.callbacks import Callback
from securefair.circuit.planner import ExchangePlan, plan_exchange
from securefair.circuit.wish import Basis, Release, Wish
from securefair.collaboration import Collaboration, DisclosureLimits
from securefair.data import ParticipantData, Samples, arrays_of
from securefair.errors import ConfigError, DataError, ModelError
from securefair.fairness import ReputationRule
from securefair.metrics import cgs, mcg
from securefair.model.heads import Head, HeadKind, LinearHead, QuadraticHead, build_head
from securefair.model.modules import head_of, module_of
from securefair.model.seeds import derived_seed
from securefair.model.training import Learner, OptimizerConfig, evaluate, train_epochs
from securefair.own_data import alike, participant_of
from securefair.participant import ModelConfig
from securefair.records import ExchangeRecord, LedgerRow, RoundRecord, TrafficRow
from securefair.simulation.run import EncryptedRun, start_run

Numbers = Mapping[str, float]
Model = HeadKind | nn.Module

MOST_NUMBERS = 64
"""Of a projection, a class and answer, if nothing else is said."""
EXTRACTED_AT_ONCE = 256


@dataclass(frozen=True, eq=False, kw_only=True)
class Result:
    """What a collaboration came to; accuracies in [0, 1] on each participant's test samples.

    Attributes:
        models: everyone's trained model: a module of the type that was given, or a head.
        accuracy: after the last round.
        standalone: of training alone for as long, from the same start.
        rounds: one record each, as callbacks heard them.
        exchanges: cost of every question.
        ledger: what every teacher disclosed to whom.
        traffic: bytes by sender, receiver and type of message.
        plan: of the exchange with the participant with the most samples.
        problems: what participants blamed each other for, or what failed.
    """

    models: Mapping[str, nn.Module]
    accuracy: Numbers
    standalone: Numbers
    rounds: list[RoundRecord]
    exchanges: list[ExchangeRecord]
    ledger: list[LedgerRow]
    traffic: list[TrafficRow]
    plan: ExchangePlan
    problems: list[str]

    @property
    def gain(self) -> Numbers:
        """Accuracy with minus accuracy without collaboration."""
        return {name: self.accuracy[name] - alone for name, alone in self.standalone.items()}

    @property
    def mcg(self) -> float:
        """Mean collaboration gain."""
        return mcg(np.array(list(self.gain.values())))

    @property
    def cgs(self) -> float:
        """Spread of the gains; 0 is even."""
        return cgs(np.array(list(self.gain.values())))


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
    lambda_0: float = 50.0,
    rule: ReputationRule | None = None,
    forced_every: int = 5,
    backend: str = "rns",
    flooding_bits: int = 30,
    precision: float = 2.0**-10,
    disclosure: DisclosureLimits | None = None,
    seed: int = 0,
    callbacks: Sequence[Callback] = (),
) -> Result:
    """Let hospitals in this process learn from each other under encryption.

    Everyone trains alone, then in every round asks the others how their models judge its own
    samples; only encrypted samples and released numbers pass between them. Afterwards everyone
    also trains alone for as long, to know the gain.

    Args:
        hospitals: name: (training data set, test data set), or name: one data set of which a part
            is held out. A data set is a map-style torch data set, (features, labels), or `Samples`.
        model: "quadratic", "linear" or a module (`model.modules`), for everyone or by name. All
            must have the same shape; modules start from the parameters that they have.
        algorithm: "cycle" weighs teachers by reputation, "vpdl" always shares.
        rounds, local_epochs, local_steps: of the protocol, alone before it, and in each round.
        optimizer: of every step; gradient descent with momentum by default.
        hidden: width of a "quadratic" model.
        extractor: a public network that everyone applies to its own samples in the clear; not
            trained.
        feature_range: public range of features (after the extractor), which becomes [-1, 1].
        test_fraction: of data sets that come alone.
        release, basis, q: what a teacher lets out; q None takes 64, or less where the ledger's
            limit or the fewest samples ask for it.
        temperature, lambda_0: of the distillation loss.
        rule, forced_every: of reputations.
        backend: "rns", "seal", or "clear", which encrypts nothing.
        flooding_bits, precision: see `Wish`.
        disclosure: limits of every teacher.
        seed: of initialisation, held-out samples and sharing.
        callbacks: hear of every round.

    Raises:
        ConfigError: fewer than two hospitals, or a setting out of range.
        DataError: data cannot be used; names hospital and sample.
        ModelError: encryption cannot evaluate a module, or training diverged.
        PlanError: no parameters satisfy these wishes.
    """
    data = _participants(hospitals, extractor, feature_range, test_fraction, seed)
    given = {own.name: _model_of(model, own.name) for own in data}
    heads = {own.name: _head(given[own.name], own, hidden, seed) for own in data}
    units, kind = _common_shape(heads)
    settings = optimizer or OptimizerConfig()
    largest = max((own.train for own in data), key=len)
    wish = Wish(
        features=int(largest.features.shape[1]),
        classes=largest.classes,
        samples=len(largest),
        hidden=units,
        release=cast(Release, release),
        basis=basis,
        q=_numbers(data, heads) if q is None else q,
        flooding_bits=flooding_bits,
        precision=precision,
    )
    run = start_run(
        algorithm,
        data,
        Collaboration(
            participants=tuple(own.name for own in data),
            wish=wish,
            rule=rule or ReputationRule(),
            always_share=algorithm == "vpdl",
            forced_every=forced_every,
            temperature=temperature,
            lambda_0=lambda_0,
            local_steps=local_steps,
            seed=seed,
        ),
        [
            ModelConfig(kind=kind, hidden=units, optimizer=settings, local_epochs=local_epochs)
            for _ in data
        ],
        seed=seed,
        backend=backend,
        disclosure=disclosure,
        trained=False,
    )
    alone = {name: Learner.start(head, settings).copy() for name, head in heads.items()}
    for name, participant in run.engine.participants.items():
        participant.learner = alone[name].copy()
        participant.train_alone()
    records = []
    for record in run.rounds(rounds):
        records.append(record)
        for callback in callbacks:
            callback.on_round(record)
    for own in data:
        train_epochs(alone[own.name], own.train, local_epochs)
        train_epochs(alone[own.name], own.train, rounds * local_steps)
    return _result(run, data, records, alone, given)


def _result(
    run: EncryptedRun,
    data: Sequence[ParticipantData],
    records: list[RoundRecord],
    alone: Mapping[str, Learner],
    given: Mapping[str, Model],
) -> Result:
    learners = {name: own.learner for name, own in run.engine.participants.items()}
    return Result(
        models={
            name: module_of(learner.model, like)
            if isinstance(like := given[name], nn.Module)
            else learner.model
            for name, learner in learners.items()
        },
        accuracy={own.name: evaluate(learners[own.name].model, own.test).accuracy for own in data},
        standalone={own.name: evaluate(alone[own.name].model, own.test).accuracy for own in data},
        rounds=records,
        exchanges=run.exchanges,
        ledger=run.ledger,
        traffic=run.traffic,
        plan=plan_exchange(run.collaboration.wish),
        problems=run.problems,
    )


def _participants(
    hospitals: Mapping[str, object],
    extractor: nn.Module | None,
    feature_range: tuple[float, float] | None,
    test_fraction: float,
    seed: int,
) -> list[ParticipantData]:
    if len(hospitals) < 2:
        raise ConfigError(
            "a collaboration needs at least two hospitals",
            where="hospitals",
            found=", ".join(hospitals) or "nobody",
        )
    everyone = []
    for name, given in hospitals.items():
        own = given if extractor is None else _extracted(given, extractor, name)
        everyone.append(
            participant_of(
                name, own, test_fraction=test_fraction, seed=seed, feature_range=feature_range
            )
        )
    return alike(everyone)


def _extracted(given: object, extractor: nn.Module, name: str) -> object:
    """The same data sets with the extractor's features in the place of samples."""
    if isinstance(given, ParticipantData):
        given = (given.train, given.test)
    if isinstance(given, tuple) and not hasattr(given[0], "dtype"):
        return tuple(_features(part, extractor, name) for part in given)
    return _features(given, extractor, name)


def _features(given: object, extractor: nn.Module, name: str) -> object:
    if isinstance(given, Samples):
        given = (given.features, given.labels)
    inputs, labels = arrays_of(given, where=name)
    tensor = torch.from_numpy(np.ascontiguousarray(inputs)).to(torch.float32)
    training = extractor.training
    extractor.eval()  # batch statistics and dropout belong to its own training
    try:
        with torch.no_grad():
            parts = [extractor(batch) for batch in torch.split(tensor, EXTRACTED_AT_ONCE)]
    except RuntimeError as error:
        raise DataError(
            "the extractor cannot take these samples",
            where=name,
            found=f"shape {tuple(tensor.shape)}: {str(error).splitlines()[0]}",
        ) from error
    finally:
        extractor.train(training)
    return torch.cat(parts).flatten(1).double().numpy(), labels


def _model_of(model: Model | Mapping[str, Model], name: str) -> Model:
    if not isinstance(model, Mapping):
        return model
    if name not in model:
        raise ConfigError(
            "a hospital has no model", where="model", found=", ".join(model), expected=name
        )
    return model[name]


def _head(model: Model, own: ParticipantData, hidden: int, seed: int) -> Head:
    """A hospital's head before any training."""
    features, classes = int(own.train.features.shape[1]), own.train.classes
    if isinstance(model, nn.Module):
        head = head_of(model)
        if (head.features, head.classes) != (features, classes):
            raise ModelError(
                "the model does not fit the data",
                where=own.name,
                found=f"{head.features} features, {head.classes} classes",
                expected=f"{features} features, {classes} classes",
            )
        return head
    return build_head(model, features, hidden, classes, derived_seed(seed, "head", own.name))


def _common_shape(heads: Mapping[str, Head]) -> tuple[int, HeadKind]:
    """Hidden units that everyone has; 0 for linear heads.

    Raises:
        ModelError: shapes differ, and one plan is for one shape.
    """
    units = {
        name: head.hidden if isinstance(head, QuadraticHead) else 0 for name, head in heads.items()
    }
    for name, head in heads.items():
        if not isinstance(head, LinearHead | QuadraticHead):
            raise ModelError("unknown kind of head", where=name, found=type(head).__name__)
    if len(set(units.values())) > 1:
        raise ModelError(
            "everyone's model must have the same shape",
            where="model",
            found=", ".join(f"{name}: {count} hidden units" for name, count in units.items()),
        )
    (hidden,) = set(units.values())
    return hidden, "quadratic" if hidden else "linear"


def _numbers(data: Sequence[ParticipantData], heads: Mapping[str, Head]) -> int:
    """Numbers a class that leave samples and models undetermined, and so get answers at all."""
    samples = min(len(own.train) for own in data)
    parameters = min(head.parameter_count for head in heads.values())
    return max(1, min(MOST_NUMBERS, samples // 2, parameters // data[0].train.classes))
