"""Teachers that answer from private models: one fit of each hospital on its own patients.

A hospital's own model, which learns from what it opened, stays at home. What answers its peers is
another model, fitted once before the first round on its own patients alone; every answer of every
round is computed from it and from the asking student's data. So all answers together cost those
patients what the one fit cost (post-processing), and nothing that was opened flows back in them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from securefair.config import defaults
from securefair.config.privacy import PrivacySection
from securefair.data.dataset import ParticipantData, Samples
from securefair.errors import ConfigError, ModelError
from securefair.model.seeds import derive_seed
from securefair.model.transfer import Degree, Polynomial
from securefair.privacy import (
    NoiseSource,
    PatientGuarantee,
    Patients,
    PrivacyTarget,
    PrivateAlignments,
    SeededNoise,
    SystemNoise,
    private_fit,
)
from securefair.privacy.durable import (
    PrivacyAccount,
    budget_in,
    is_alignment,
    reference_of,
    together,
)
from securefair.protocol.guarantee import StatedGuarantee
from securefair.storage import Guarantee, Store

if TYPE_CHECKING:
    from securefair.model.building import ModelKind
    from securefair.model.heads import Head
    from securefair.privacy import SgdSettings

CALIBRATION_SAMPLES = 200


def anew_private(where: str, expected: str = "a new collaboration") -> ConfigError:
    """Why patients who are promised something are not renewed."""
    return ConfigError(
        "a private fit on other patients is another release, with a budget of its own",
        where=where,
        expected=expected,
    )


def target_of(terms: PrivacySection, patients: int) -> PrivacyTarget:
    """What one fit of a hospital with that many patients promises."""
    return PrivacyTarget(
        epsilon=terms.epsilon,
        delta=default_delta(patients) if terms.delta is None else terms.delta,
        rows_per_patient=terms.rows_per_patient,
    )


def limit_of(terms: PrivacySection, target: PrivacyTarget) -> Guarantee:
    """Of all runs together, fits and alignments: one account of these patients."""
    once = Guarantee(epsilon=target.epsilon, delta=target.delta)
    if terms.asked_epsilon is not None:
        once = together(once, Guarantee(epsilon=terms.asked_epsilon, delta=target.delta))
    return Guarantee(
        epsilon=once.epsilon if terms.total_epsilon is None else terms.total_epsilon,
        delta=once.delta if terms.total_delta is None else terms.total_delta,
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class PrivateTeacher:
    """What answers for a hospital, and what that costs its patients.

    Attributes:
        model: private; everything computed from it is.
        guarantee: of this model.
        limit: of all runs of this hospital, fits and alignments.
        spent: by all private fits so far, in the account that is kept.
        asked: by all alignments on these patients before this run, in the same account.
        secure: the noise came from the operating system.
        named: somebody said whose rows are whose; otherwise every row counts as a patient.
    """

    model: Head
    guarantee: PatientGuarantee
    limit: Guarantee
    spent: Guarantee
    asked: Guarantee
    secure: bool
    named: bool


def default_delta(patients: int) -> float:
    """The largest power of ten that is at most a tenth of 1 / patients; their number is public."""
    return float(10.0 ** math.floor(math.log10(0.1 / max(patients, 1)) + 1e-9))


def private_teachers(
    data: Sequence[ParticipantData],
    kinds: Sequence[ModelKind],
    terms: PrivacySection,
    *,
    seed: int,
    hidden: int = defaults.HIDDEN,
    network: str | None = None,
    budget: Store | None = None,
) -> dict[str, PrivateTeacher]:
    """A private model of every hospital, by name; charged before it is fitted.

    Args:
        data: the hospitals.
        kinds: of their models. Heads answer from a linear function by objective perturbation,
            which a quadratic head holds exactly where it has units enough: it costs far less
            accuracy than DP-SGD, by which networks and narrower heads are trained.
        terms: what it may cost.
        seed: public; of initial parameters and, in a simulation, of the noise.
        hidden, network: of the models.
        budget: an open store in the place of `terms.store`.

    Raises:
        ConfigError: delta, or that of all runs, is above 1 / patients, or no noise reaches the
            target.
        LedgerError: a hospital's budget is spent.
        StorageError: the store is open in another process, or cannot be written.
    """
    where = budget or terms.store
    opened: AbstractContextManager[Store | None]
    opened = nullcontext() if where is None else budget_in(where)
    with opened as store:
        teachers = {}
        for own, kind in zip(data, kinds, strict=True):
            fitted = _Fitting(own, kind, terms, seed, hidden, network)
            teachers[own.name] = fitted.teacher(store)
        return teachers


class _Fitting:
    """One hospital's private fit."""

    def __init__(
        self,
        own: ParticipantData,
        kind: ModelKind,
        terms: PrivacySection,
        seed: int,
        hidden: int,
        network: str | None,
    ) -> None:
        self.patients, self.target = checked_target(own, terms)
        self.name, self.samples, self.kind, self.terms = own.name, own.train, kind, terms
        self.seed, self.hidden, self.network = seed, hidden, network
        logits = 1 if own.train.classes == 2 else own.train.classes
        self.convex = kind == "linear" or (kind == "quadratic" and hidden >= 2 * logits)

    def teacher(self, store: Store | None) -> PrivateTeacher:
        """Fit, or take what an earlier run has fitted and paid for."""
        limit = limit_of(self.terms, self.target)
        guarantee = self._guarantee()
        noise = SystemNoise() if store is not None else self._simulated_noise()
        if store is None:
            parameters = self._fitted(noise)
            spent = Guarantee(epsilon=guarantee.epsilon, delta=guarantee.delta)
            asked = Guarantee(epsilon=0.0, delta=0.0)
        else:
            account = PrivacyAccount(store, self.name, limit)
            # The same linear function serves every kind of model that can hold it.
            what = "linear" if self.convex else f"{self.kind} {self.hidden} {self.network} "
            what += "" if self.convex else str(_training())
            reference = reference_of(self.samples, self.patients, self.target, what)
            kept = account.once(
                reference, guarantee, lambda: msgspec.msgpack.encode(self._fitted(noise))
            )
            parameters = msgspec.msgpack.decode(kept, type=list[list[float]])
            spent = account.spent_by(lambda event: not is_alignment(event))
            asked = account.spent_by(is_alignment)
        return PrivateTeacher(
            model=self._model(parameters),
            guarantee=guarantee,
            limit=limit,
            spent=spent,
            asked=asked,
            secure=noise.secure,
            named=self.samples.patients is not None,
        )

    def _guarantee(self) -> PatientGuarantee:
        return PatientGuarantee(
            mechanism="objective perturbation" if self.convex else "DP-SGD",
            epsilon=self.target.epsilon,
            delta=self.target.delta,
        )

    def _simulated_noise(self) -> NoiseSource:
        return SeededNoise(derive_seed(self.seed, "private noise", self.name))

    def _fitted(self, noise: NoiseSource) -> list[list[float]]:
        """The private parameters, tensor by tensor."""
        if self.convex:
            fit = private_fit(self.samples, self.patients, self.target, noise)
            return [fit.linear.ravel().tolist(), fit.constant.tolist()]
        from securefair.privacy import PrivateTraining

        model, how = self._untrained(), _training()
        training = PrivateTraining(model, self.samples, self.patients, self.target, noise, how)
        training.advance(how.steps)
        return [parameter.detach().ravel().tolist() for parameter in model.parameters()]

    def _model(self, parameters: Sequence[Sequence[float]]) -> Head:
        model = self._untrained()
        if self.convex:
            _make_linear(model, parameters)
            return model
        import torch

        with torch.no_grad():
            for parameter, values in zip(model.parameters(), parameters, strict=True):
                parameter.copy_(torch.tensor(values).reshape(parameter.shape))
        return model

    def _untrained(self) -> Head:
        """From a public seed; a network takes its inner scales from public samples as well."""
        from securefair.model.building import build_model

        width = int(self.samples.features.shape[1])
        public = np.random.default_rng(0).uniform(-1, 1, (CALIBRATION_SAMPLES, width))
        labels = np.zeros(CALIBRATION_SAMPLES, dtype=np.int64)
        return build_model(
            self.kind,
            Samples(public, labels, self.samples.classes),
            hidden=self.hidden,
            network=self.network,
            seed=derive_seed(self.seed, "private head", self.name),
        )


def _training() -> SgdSettings:
    """Of models that are trained by DP-SGD, which takes torch."""
    from securefair.privacy import SgdSettings

    return SgdSettings()


def checked_target(own: ParticipantData, terms: PrivacySection) -> tuple[Patients, PrivacyTarget]:
    """A hospital's patients, and what is promised to them.

    Raises:
        ConfigError: delta, or that of all runs, is above 1 / patients.
    """
    patients = Patients.of(own.train)
    target = target_of(terms, patients.count)
    try:
        target.check(patients.count)
    except ConfigError as error:
        raise error.about(own.name) from error
    most, limit = 1 / patients.count, limit_of(terms, target)
    if limit.delta > most:
        total = "total_delta" if terms.total_delta is not None else "delta"
        raise ConfigError(
            "the delta of all runs together promises nothing to so few patients",
            where=f"{own.name}, privacy.{total}",
            found=f"{limit.delta:g} with {patients.count} patients",
            expected=f"at most {most:.3g} for fits and alignments together",
        )
    return patients, target


def _make_linear(model: Head, parameters: Sequence[Sequence[float]]) -> None:
    """Turn a head into M logits with these differences; two classes share theirs evenly.

    In a quadratic head h(u) = a u^2 + b u, and h(u) - h(-u) = 2 b u is linear.
    """
    import torch

    from securefair.model.heads import LinearHead, QuadraticHead

    linear, constant = (np.array(part, dtype=np.float64) for part in parameters)
    rows = torch.from_numpy(linear.reshape(-1, model.features))
    shifts = torch.from_numpy(constant)
    outputs = torch.eye(model.classes, dtype=torch.float64)
    if model.classes == 2:
        outputs = torch.tensor([[-0.5], [0.5]], dtype=torch.float64)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim():
                parameter.zero_()
        if isinstance(model, QuadraticHead):
            units = len(rows)
            for sign, start in ((1, 0), (-1, units)):
                part = slice(start, start + units)
                model.hidden_weights[part] = sign * rows
                model.hidden_bias[part] = sign * shifts
                model.output_weights[:, part] = sign * outputs / (2 * model.slope)
        elif isinstance(model, LinearHead):
            model.output_weights.copy_(outputs @ rows)
            model.output_bias.copy_(outputs @ shifts)
        else:
            raise ModelError("no linear function fits into this model", found=type(model).__name__)


def polynomial_of(teacher: PrivateTeacher, degree: Degree) -> Polynomial:
    """A private linear function in the form of the fits that answer in a transfer.

    Args:
        teacher: whose model is linear.
        degree: of the fits that were agreed on; 2 leaves the products of features at 0.

    Raises:
        ModelError: the private model is not linear.
    """
    from securefair.model.heads import LinearHead

    model = teacher.model
    if not isinstance(model, LinearHead):
        raise ModelError(
            "no linear function", found=type(model).__name__, expected="a linear private model"
        )
    linear = model.output_weights.detach().numpy()
    constant = model.output_bias.detach().numpy()
    if model.classes == 2:
        linear, constant = linear[1:] - linear[:1], constant[1:] - constant[:1]
    square = np.zeros((len(linear), model.features, model.features)) if degree == 2 else None
    return Polynomial(constant.copy(), linear.copy(), square)


def stated_guarantee(
    teacher: PrivateTeacher, alignments: PrivateAlignments | None = None
) -> StatedGuarantee:
    """As it stands in a Hello: of all that the account's runs tell of these patients.

    Args:
        teacher: that answers.
        alignments: which it may form in this run, all of them.
    """
    asked = teacher.asked
    if alignments is not None:
        allowed = alignments.allowed
        asked = together(alignments.others, Guarantee(epsilon=allowed.epsilon, delta=allowed.delta))
    total = together(teacher.spent, asked)
    return StatedGuarantee(total.epsilon, total.delta)
