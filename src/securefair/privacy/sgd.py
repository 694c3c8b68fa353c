"""Private training of heads and networks: DP-SGD (Abadi et al. 2016) by Opacus, patient by patient.

Opacus computes the gradient of every row, keeps its checks (no gradient is used twice, no layer
mixes rows) and takes the steps. Three things are ours: rows are averaged by patient before they
are clipped, patients rather than rows are sampled, and the noise comes from a `NoiseSource`.
Opacus' own secure mode needs torchcsprng, which is no longer built for current torch.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from securefair.data.dataset import Samples
from securefair.errors import BackendUnavailableError, ConfigError, ModelError
from securefair.model.heads import Head
from securefair.privacy.accounting import SampledGaussian, noise_multiplier, spent
from securefair.privacy.guarantees import PatientGuarantee, PrivacyTarget
from securefair.privacy.patients import Patients, check_finite
from securefair.privacy.randomness import NoiseSource


@dataclass(frozen=True, kw_only=True)
class SgdSettings:
    """Public constants of a private training; none may be chosen by looking at the patients.

    Attributes:
        steps: planned, at least 1; the noise is the least with which they fit into the budget.
        rate: with which each patient takes part in a step, in (0, 1].
        clip_norm: of a patient's gradient, above 0.
        learning_rate: above 0; of the noisy sum over patients divided by its expected size.
        momentum: in [0, 1).

    Raises:
        ConfigError: out of range.
    """

    steps: int = 40
    rate: float = 0.5
    clip_norm: float = 1.0
    learning_rate: float = 0.25
    momentum: float = 0.5

    def __post_init__(self) -> None:
        for name, accepted, expected in (
            ("steps", self.steps >= 1, "at least 1"),
            ("rate", 0 < self.rate <= 1, "in (0, 1]"),
            ("clip_norm", 0 < self.clip_norm < math.inf, "above 0"),
            ("learning_rate", 0 < self.learning_rate < math.inf, "above 0"),
            ("momentum", 0 <= self.momentum < 1, "in [0, 1)"),
        ):
            if not accepted:
                raise ConfigError(
                    "no private training", where=name, found=getattr(self, name), expected=expected
                )


class PrivateTraining:
    """A model in private training, and what its patients have paid.

    Formal guarantees:
        The parameters after any number of steps that `advance` took, all of them together, are
        (spent, delta)-differentially private, with or without all rows of one patient; with noise
        from `SystemNoise` only. Initial parameters, settings and the number of patients are
        public: it divides every step and is the same with and without.

    Edge cases:
        A step may find no patient in its sample: it consists of noise, as others would.
        A patient with more rows than `rows_per_patient`: some of them, at random, chosen once.
        `advance` beyond the planned steps: takes those that the budget has left, maybe none.

    Args:
        model: changed in place; its initial parameters come from a public seed.
        samples: of the owner, (n, d).
        patients: of those n rows.
        target: what the whole training may cost.
        noise: where noise and samples come from.
        settings: public constants.

    Raises:
        BackendUnavailableError: Opacus is not installed.
        ConfigError: delta is above 1 / patients, or no noise reaches the target.
        DataError: a feature is NaN or infinite.
    """

    def __init__(
        self,
        model: Head,
        samples: Samples,
        patients: Patients,
        target: PrivacyTarget,
        noise: NoiseSource,
        settings: SgdSettings,
    ) -> None:
        target.check(patients.count)
        check_finite(samples.features)
        rows = patients.limited(target.rows_per_patient, noise)
        self.model = model
        self.target = target
        self.settings = settings
        self.taken = 0
        self.noise_multiplier = noise_multiplier(
            target.epsilon, target.delta, rate=settings.rate, steps=settings.steps
        )
        self._samples = samples.take(rows)
        self._patients = patients.take(rows)
        self._noise = noise
        self._optimizer = _optimizer(self, patients.count)

    @property
    def spent(self) -> float:
        """Epsilon of the steps so far."""
        return spent((self._mechanism(self.taken),), self.target.delta)

    @property
    def guarantee(self) -> PatientGuarantee:
        """Of everything that is computed from the parameters so far."""
        return PatientGuarantee(
            mechanism="DP-SGD",
            epsilon=self.spent,
            delta=self.target.delta,
            unit=self.target.unit,
        )

    def advance(self, steps: int) -> int:
        """Take so many steps, or as many as the budget has left; returns how many.

        Raises:
            ModelError: a gradient is NaN or infinite: no clipping bounds it.
        """
        allowed = 0
        while allowed < steps and self._affordable(self.taken + allowed + 1):
            allowed += 1
        if allowed:
            watched = _watched(self.model)
            try:
                watched.train()  # Opacus listens to training only
                for _ in range(allowed):
                    self._step(watched)
            finally:
                watched.eval()
                watched.to_standard_module()
        return allowed

    def released(self, total: Tensor) -> Tensor:
        """One parameter's summed gradient with its noise: all that a step may use of the sum."""
        if not torch.isfinite(total).all():
            raise ModelError(
                "a gradient of a private training is NaN or infinite",
                hint="Are the features scaled to about [-1, 1]?",
            )
        clip = self.settings.clip_norm  # in units of which one patient changes the sum by 1
        values = total.double().numpy() / clip
        noisy = self._noise.gaussian_around(values, self.noise_multiplier, coarse=True)
        return torch.as_tensor(clip * noisy, dtype=total.dtype)

    def _affordable(self, steps: int) -> bool:
        if steps <= self.settings.steps:
            return True
        return spent((self._mechanism(steps),), self.target.delta) <= self.target.epsilon

    def _mechanism(self, steps: int) -> SampledGaussian:
        return SampledGaussian(
            noise_multiplier=self.noise_multiplier, rate=self.settings.rate, steps=steps
        )

    def _step(self, watched: nn.Module) -> None:
        chosen = self._noise.members(self._patients.count, self.settings.rate)
        rows = np.flatnonzero(np.isin(self._patients.of_row, chosen))
        self._optimizer.zero_grad()
        if len(rows):
            batch = self._samples.take(rows)
            _loss(watched, batch).backward()  # type: ignore[no-untyped-call]
            _, owners = np.unique(self._patients.of_row[rows], return_inverse=True)
            _average_by_patient(self.model.parameters(), owners)
        else:
            for parameter in self.model.parameters():
                _set_rows(parameter, parameter.new_zeros((0, *parameter.shape)))
        self.taken += 1
        self._optimizer.step()


class _Outputs(nn.Module):
    """What a loss needs of a model: logits (B, M), and its penalty for a row."""

    def __init__(self, model: Head) -> None:
        super().__init__()
        self.model = model

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        return self.model.with_penalty(features)


def _loss(watched: nn.Module, batch: Samples) -> Tensor:
    """The sum of the rows' losses, so that a row's gradient is its own."""
    # Opacus listens to gradients at the inputs of layers: the first layer needs one as well.
    features = torch.tensor(batch.features).requires_grad_()
    logits, penalty = watched(features)
    losses = cross_entropy(logits, torch.tensor(batch.labels), reduction="sum")
    total: Tensor = losses + penalty * len(batch)  # the penalty is a mean over rows
    return total


def _average_by_patient(parameters: Iterable[nn.Parameter], owners: NDArray[np.intp]) -> None:
    """Replace gradients of rows by means over each patient's rows."""
    index = torch.from_numpy(owners)
    counts = torch.bincount(index)
    for parameter in parameters:
        rows = parameter.grad_sample  # type: ignore[attr-defined]  # set by Opacus
        total = rows.new_zeros((len(counts), *rows.shape[1:])).index_add_(0, index, rows)
        _set_rows(parameter, total / counts.view(-1, *(1,) * (rows.dim() - 1)))


def _set_rows(parameter: nn.Parameter, rows: Tensor) -> None:
    parameter.grad_sample = rows  # type: ignore[attr-defined]  # read by Opacus


def _watched(model: Head) -> Any:
    """The model with Opacus' hooks; refused where a layer mixes rows."""
    return _opacus().GradSampleModule(_Outputs(model), batch_first=True, loss_reduction="sum")


def _optimizer(training: PrivateTraining, patients: int) -> Any:
    """Opacus' optimiser: it clips, sums and steps; in between a noisy sum takes the sum's place."""
    settings = training.settings
    expected = max(1.0, settings.rate * patients)
    optimizer = _opacus().optimizers.DPOptimizer(
        torch.optim.SGD(
            training.model.parameters(), lr=settings.learning_rate, momentum=settings.momentum
        ),
        noise_multiplier=0.0,
        max_grad_norm=settings.clip_norm,
        expected_batch_size=expected,
        loss_reduction="sum",
    )

    def release(_: object) -> None:
        for parameter in training.model.parameters():
            assert parameter.grad is not None  # clipped and summed just before
            parameter.grad = training.released(parameter.grad) / expected

    optimizer.attach_step_hook(release)
    return optimizer


def _opacus() -> Any:
    try:
        import opacus
        import opacus.optimizers
    except ImportError as error:
        raise BackendUnavailableError(
            "private training needs Opacus",
            where="privacy",
            found=str(error),
            hint="pip install 'securefair[privacy]'",
        ) from error
    return opacus
