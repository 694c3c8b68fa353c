"""What a hospital answers from: its best own fit, a private one, or a stand-in for its model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from securefair.collaboration.private import PrivateTeacher, polynomial_of
from securefair.collaboration.transfer.agreement import TransferAgreement
from securefair.data.dataset import ParticipantData
from securefair.errors import ConfigError, ModelError
from securefair.model.seeds import derive_seed
from securefair.model.transfer import Fitted, OwnFit, Polynomial
from securefair.model.transfer.design import Design, own_design, tree_design
from securefair.model.transfer.leafed import Leafed, with_leaves
from securefair.model.transfer.stand_in import Disagreement, StandIn, stand_in
from securefair.records import StandInResult


@dataclass(frozen=True, eq=False)
class Answering:
    """The function that a teacher evaluates on what it is asked.

    Attributes:
        model: of the features as a question holds them.
        stands_for: name of the model that it stands in for; None where it is a fit.
        disagreement: with that model.
    """

    model: Polynomial
    stands_for: str | None = None
    disagreement: Disagreement | None = None


def answering_of(
    agreement: TransferAgreement,
    data: ParticipantData,
    own: OwnFit,
    private: PrivateTeacher | None,
    seed: int,
) -> Answering:
    """What answers for a hospital.

    Args:
        agreement: what was agreed.
        data: its patients, and the model that it brought, if any.
        own: its fits.
        private: a private model that answers instead.
        seed: of a stand-in.

    Raises:
        ConfigError: it brought a model that may not answer (`TransferAgreement.check_teacher`).
        ModelError: the model that it brought gives no probabilities of these classes.
    """
    if data.teacher is None:
        told = own.told
        if private is not None:
            return Answering(_asked(agreement, polynomial_of(private, agreement.degree)))
        return Answering(_asked(agreement, told.best_of_all if agreement.leaves else told.model))
    agreement.check_teacher(data, private=private is not None)
    found = stand_in_of(agreement, data, seed)
    return Answering(_asked(agreement, found.function), data.teacher.name, found.disagreement)


def stand_ins(answering: Mapping[str, Answering]) -> dict[str, StandInResult]:
    """Of those who answer by a stand-in, how far it is from their model, by name."""
    return {
        name: stand_in_result(one.stands_for, one.disagreement)
        for name, one in answering.items()
        if one.stands_for is not None and one.disagreement is not None
    }


def stand_in_result(model: str, disagreement: Disagreement) -> StandInResult:
    """As it is written into files."""
    return StandInResult(
        model=model,
        own=round(disagreement.own, 4),
        synthetic=round(disagreement.synthetic, 4),
        other_class=round(disagreement.other_class, 4),
    )


def stand_in_of(agreement: TransferAgreement, data: ParticipantData, seed: int) -> StandIn:
    """The stand-in for the model that a hospital brought.

    Raises:
        ConfigError: it brought none.
        ModelError: it gives no probabilities of these classes; names the hospital and the model.
    """
    if data.teacher is None:
        raise ConfigError("it brought no model", where=data.name)
    drawn = derive_seed(seed, "teacher", data.name)
    try:
        train = data.train.common
        model = data.teacher.ready(train, drawn % 2**32)
        return stand_in(model, train, _design(agreement), np.random.default_rng(drawn))
    except ModelError as error:
        raise error.about(f"participants, {data.name}, teacher {data.teacher.name}") from error


def _design(agreement: TransferAgreement) -> partial[Design]:
    if agreement.leaves:
        return partial(tree_design, beside=True)
    return partial(own_design, degree=agreement.degree)


def _asked(agreement: TransferAgreement, model: Fitted) -> Polynomial:
    if agreement.leaves or isinstance(model, Leafed):
        return with_leaves(model).on_mapped()
    return model
