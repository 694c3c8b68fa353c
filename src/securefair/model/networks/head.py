"""A whole network as a head: its features are pixels, and all of its weights are private.

Participants train, keep, evaluate and fold it like any head, and one planner and one circuit take
what is folded. The difference is known where it is built and stored, where somebody asks for the
spec of a head's sizes alone (`profiling.spec_for`), where teachers round in the clear
(`algorithms.Rounding`), and where a private linear function is put into a head.
"""

from __future__ import annotations

import copy
import math
from typing import Self

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from securefair.config import defaults
from securefair.data import Samples
from securefair.data.arrays import array_of
from securefair.errors import ConfigError, ModelError
from securefair.model.balance import balanced_by_values
from securefair.model.folded import FoldedNetwork
from securefair.model.heads import Head
from securefair.model.networks.builder import EncryptableNetwork
from securefair.model.networks.fold import check_network, fold

CALIBRATION_SAMPLES = 500
"""Of the owner, from which the ranges inside the network are taken."""


class NetworkHead(Head):
    """An encryptable network on flat samples, in float64.

    Args:
        network: a copy of it is kept, in evaluation mode; the caller's stays as it is. What it
            normalises by stays as it was trained, so that nothing depends on who else is in a
            batch.
        classes: M, the width of its output.
        calibration: numbers (B, d) or (B, *input_shape), or `Samples`, of the owner, B >= 1; they
            stay with the model and only scale its inner values (`balanced_by_values`), logits do
            not depend on them.
        range_penalty: weight of the activations' excess in every loss that it is trained on
            (`with_penalty`); 0: none.

    Raises:
        ConfigError: a penalty that is negative or not finite.
        ModelError: it is no such network, or samples and classes do not fit it.
    """

    def __init__(
        self,
        network: EncryptableNetwork,
        classes: int,
        calibration: NDArray[np.floating] | Tensor | Samples,
        *,
        range_penalty: float = defaults.RANGE_PENALTY,
    ) -> None:
        check_network(network)
        super().__init__(math.prod(network.input_shape), classes)
        given = calibration.features if isinstance(calibration, Samples) else calibration
        if not isinstance(given, np.ndarray | Tensor):
            raise ModelError(
                "ranges inside a network come from samples of its owner",
                where="calibration",
                found=type(given).__name__,
                expected="an array or tensor (B, d) or (B, *input_shape), or Samples",
            )
        own: NDArray[np.float64] = array_of(given, "calibration").astype(np.float64)
        if own.shape[1:] == network.input_shape or isinstance(calibration, Samples):
            own = own.reshape(len(own), math.prod(own.shape[1:]))
        if own.ndim != 2 or own.shape[1] != self.features or not len(own):
            raise ModelError(
                "the samples do not fit the network",
                found=own.shape,
                expected=f"(B, {self.features}) or (B, *{network.input_shape}), B at least 1",
            )
        if not 0 <= range_penalty < math.inf:
            raise ConfigError(
                "a network cannot be trained with this penalty",
                where="range_penalty",
                found=range_penalty,
                expected="at least 0",
            )
        self.network = copy.deepcopy(network).double().eval()
        self.range_penalty = range_penalty
        # Evenly spread: samples may be sorted by class.
        count = min(len(own), CALIBRATION_SAMPLES)
        self.calibration = own[np.arange(count) * len(own) // count]
        found = self.folded().classes
        if found != classes:
            raise ModelError("the network has other classes", found=found, expected=classes)

    def train(self, mode: bool = True) -> Self:
        """As of a module, but what it normalises by is no batch's."""
        super().train(mode)
        for module in self.modules():
            if isinstance(module, nn.BatchNorm1d | nn.BatchNorm2d):
                module.eval()
        return self

    def forward(self, features: Tensor) -> Tensor:
        """Pixels (B, d) -> logits (B, M)."""
        logits: Tensor = self.network(features)
        return logits

    def with_penalty(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """Logits (B, M), and what a loss pays for activations outside their interval, a scalar."""
        logits, excess = self.network.with_excess(features)
        return logits, self.range_penalty * excess

    def folded(self) -> FoldedNetwork:
        """Linear maps and squares, every channel reaching 1 on the owner's samples."""
        network = fold(self.network)
        return balanced_by_values(network, self.calibration.reshape(-1, *network.input_shape))
