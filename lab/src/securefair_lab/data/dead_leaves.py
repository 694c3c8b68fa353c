"""Synthetic pictures with the statistics of photographs: overlapping leaves of all sizes.

The dead-leaves model (Matheron 1968; Lee, Mumford and Huang 2001): opaque shapes fall on each
other. Their sizes follow a power law, so that pictures look alike at any scale, and have edges,
corners and correlated colours as photographs do. What is learned from them is public: no
participant's data enter.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

SMALLEST, LARGEST = 1.5, 16.0  # radii in pixels
MARGIN = 8.0  # leaves may lie so far outside
COLOUR = 0.35  # deviation of each colour from the leaf's grey, which has deviation 1
SHADING = 0.04  # slope of a leaf's grey along each axis, a pixel
ELONGATION = 0.5  # deviation of the logarithm of length over width


def dead_leaves(
    count: int, side: int, rng: np.random.Generator, *, leaves: int = 120
) -> NDArray[np.float32]:
    """Pictures (count, side, side, 3) of mean about 0 and variance about 1.

    Args:
        count: of pictures.
        side: of each, in pixels.
        rng: source of every draw.
        leaves: on each picture; what none covers stays 0.
    """
    rows, columns = np.mgrid[:side, :side].astype(np.float32)
    pictures = np.zeros((count, side, side, 3), dtype=np.float32)
    covered = np.zeros((count, side, side), dtype=bool)
    for _ in range(leaves):  # from front to back, so that each pixel is painted once
        down = rows - _column(rng.uniform(-MARGIN, side + MARGIN, count))
        right = columns - _column(rng.uniform(-MARGIN, side + MARGIN, count))
        angle = _column(rng.uniform(0, np.pi, count))
        stretch = _column(np.exp(ELONGATION / 2 * rng.normal(size=count)))
        along = (np.cos(angle) * right + np.sin(angle) * down) / stretch
        across = (np.cos(angle) * down - np.sin(angle) * right) * stretch
        # Density proportional to radius^-3: the only one that is the same at all scales.
        at = rng.random(count)
        radius = 1 / np.sqrt(at / SMALLEST**2 + (1 - at) / LARGEST**2)
        seen = (along**2 + across**2 < _column(radius**2)) & ~covered
        slopes = rng.normal(scale=SHADING, size=(2, count))
        shade = _column(slopes[0]) * down + _column(slopes[1]) * right
        grey = rng.normal(size=(count, 1)) + COLOUR * rng.normal(size=(count, 3))
        painted = shade[..., None] + grey[:, None, None, :].astype(np.float32)
        pictures[seen] = painted[seen]
        covered |= seen
    return pictures


def _column(values: NDArray[np.float64]) -> NDArray[np.float32]:
    """One number a picture, (count, 1, 1)."""
    return values.astype(np.float32)[:, None, None]
