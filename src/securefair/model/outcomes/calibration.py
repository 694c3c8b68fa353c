"""How sure a transfer may be: one number that divides logits, told by patients held out.

Temperature scaling (Guo et al., ICML 2017), fitted to out-of-fold predictions: no test patient and
no patient whom a fit has seen takes part. Penalised fits that are averaged hardly need it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from securefair.model.probabilities import log_losses

Array = NDArray[np.float64]

LARGEST = 2.0
"""Of |log T|."""


def temperature(held_out: Array, labels: NDArray[np.int64], weights: Array | None = None) -> float:
    """T that makes held-out predictions most likely, with a prior: few patients change little.

    Args:
        held_out: (n, L), logits of each patient by fits that did not see it.
        labels: (n,).
        weights: (n,), how much each counts; None: alike.
    """
    from scipy.optimize import minimize_scalar  # takes a while to load

    each = np.ones(len(labels)) if weights is None else weights

    def cost(log_t: float) -> float:
        return float((each * log_losses(held_out / np.exp(log_t), labels)).sum() + log_t**2)

    found = minimize_scalar(cost, bounds=(-LARGEST, LARGEST), method="bounded")
    return float(np.exp(found.x))
