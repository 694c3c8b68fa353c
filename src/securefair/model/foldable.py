"""What encrypted inference asks of a model, however it was trained; torch is not needed for it."""

from __future__ import annotations

import copy
import sys
from typing import Protocol, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from securefair.model.folded import FoldedNetwork


class Foldable(Protocol):
    """A model that encrypted inference can evaluate, trained by whatever means."""

    def folded(self) -> FoldedNetwork:
        """The model as linear maps with pure squares between them."""
        ...


@runtime_checkable
class Calibrated(Foldable, Protocol):
    """A network, whose inner values are brought to one range by samples of its owner.

    Attributes:
        calibration: (B, d) of these samples.
    """

    calibration: NDArray[np.float64]


def foldable(model: object) -> Foldable:
    """Anything that encryption can evaluate, as a model with `folded()`.

    Heads, networks and modules are copied: whoever goes on training one has to give it anew.

    Args:
        model: a head or network of securefair, a fit of a transfer, or a torch module that
            `modules.head_of` takes.

    Raises:
        ModelError: it is something else, or a module of no shape that encryption evaluates.
    """
    if callable(getattr(model, "folded", None)) and not isinstance(model, type):
        torch = sys.modules.get("torch")  # of a module it is loaded
        trained = torch is not None and isinstance(model, torch.nn.Module)
        return cast(Foldable, copy.deepcopy(model) if trained else model)
    from securefair.model.modules import head_of  # its torch is loaded, if it is a module

    return head_of(model)
