"""What encrypted inference asks of a model, however it was trained; torch is not needed for it."""

from __future__ import annotations

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

    Args:
        model: a head or network of securefair, a fit of a transfer, or a torch module that
            `modules.head_of` takes.

    Raises:
        ModelError: it is something else, or a module of no shape that encryption evaluates.
    """
    if callable(getattr(model, "folded", None)):
        return cast(Foldable, model)
    from securefair.model.modules import head_of  # its torch is loaded, if it is a module

    return head_of(model)
