"""Alignment: does learning from a peer pull the model the way the student's own labels do?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from securefair.errors import ModelError


def cosine(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """Cosine of two gradients, each (P,) float64 over all P parameters; in [-1, 1].

    A zero gradient has no direction: the result is 0.0, that of a peer whose answers say nothing
    about the student's labels. Scaling either argument by a positive number changes nothing, not
    even where the squares of the entries would overflow or vanish.

    Raises:
        ModelError: the shapes differ or are not 1-D, or an entry is NaN or infinite.

    Source: the cosine of CYCle, Eq. 6.
    """
    if a.ndim != 1 or a.shape != b.shape:
        raise ModelError(
            "cannot align two gradients", found=f"{a.shape} and {b.shape}", expected="(P,) and (P,)"
        )
    for name, gradient in (("a", a), ("b", b)):
        if not np.isfinite(gradient).all():
            raise ModelError(
                "a gradient is NaN or infinite",
                where=f"cosine argument {name}",
                hint="Training diverged: lower the learning rate or the distillation weight",
            )
    peak_a, peak_b = float(np.abs(a).max(initial=0.0)), float(np.abs(b).max(initial=0.0))
    if peak_a == 0.0 or peak_b == 0.0:
        return 0.0
    unit_a, unit_b = a / peak_a, b / peak_b
    ratio = float(unit_a @ unit_b) / float(np.linalg.norm(unit_a) * np.linalg.norm(unit_b))
    return min(1.0, max(-1.0, ratio))  # rounding may overshoot by an ulp
