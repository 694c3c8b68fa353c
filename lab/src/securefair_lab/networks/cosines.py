"""A public first layer: what students compute of their own images before they encrypt them.

Under encryption a nonlinearity costs length of the modulus; before encryption it is free. This
one is the same for everybody, fitted to no image: cosines of 3 x 3 patches, in grey and in two
opponent colours, each response rectified from both sides, so that a sum of a few of them has edges
and corners that a network of squares alone would have to find. Pools halve the sides.

Statistics are those of dead leaves (`securefair_lab.data.dead_leaves`), which are synthetic.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import avg_pool2d, conv2d, pad

from securefair.errors import ModelError
from securefair_lab.data.dead_leaves import dead_leaves

PATCH = 3
GREY_ORDER, COLOUR_ORDER = 2, 1
"""Cosines of horizontal and vertical frequency u and v are taken where u + v is at most that."""

CHANNELS = 24
CLIP = 3.0
"""Deviations over dead leaves: the bound of every value, so that the modulus need hold no more."""

_SOFTENED = 0.25
"""A response r becomes sqrt(r + this), so that large ones count less."""

_PICTURES, _PICTURE_SIDE = 600, 32


class _Constants(NamedTuple):
    filters: Tensor  # (12, 3, 3, 3), unit mean square over dead leaves
    mean: Tensor  # (24, 1, 1)
    deviation: Tensor  # (24, 1, 1)


def cosine_responses(images: Tensor) -> Tensor:
    """Normalised colour images (B, 3, H, W), H and W even -> values (B, 24, H/2, W/2) in [-3, 3].

    Each image's values depend on this image only.

    Raises:
        ModelError: images of another shape.
    """
    if images.ndim != 4 or images.shape[1] != 3 or any(side % 2 for side in images.shape[2:]):
        raise ModelError(
            "the public layer takes colour images",
            found=tuple(images.shape),
            expected="(B, 3, H, W), H and W even",
        )
    filters, mean, deviation = (each.to(images.dtype) for each in _constants())
    with torch.no_grad():
        centred = (_rectified(images, filters) - mean) / deviation
        return centred.clamp_(-CLIP, CLIP)


@lru_cache(maxsize=1)
def _constants() -> _Constants:
    pictures = dead_leaves(_PICTURES, _PICTURE_SIDE, np.random.default_rng(0))
    leaves = torch.from_numpy(np.ascontiguousarray(pictures.transpose(0, 3, 1, 2)))
    filters = torch.from_numpy(_cosines())
    axes = (0, 2, 3)
    filters = filters / conv2d(leaves, filters).square().mean(axes).sqrt()[:, None, None, None]
    values = _rectified(leaves, filters)
    mean, deviation = (each[:, None, None] for each in (values.mean(axes), values.std(axes)))
    return _Constants(filters, mean, deviation)


def _cosines() -> NDArray[np.float32]:
    """Orthonormal filters (12, 3, 3, 3): products of a colour and two cosines (DCT-II)."""
    places = np.arange(PATCH)
    waves = np.cos(np.pi * np.outer(places, places + 0.5) / PATCH)
    colours = np.array([[1.0, 1.0, 1.0], [1.0, -1.0, 0.0], [1.0, 1.0, -2.0]])
    waves, colours = (each / np.linalg.norm(each, axis=1)[:, None] for each in (waves, colours))
    filters = [
        colour[:, None, None] * np.outer(waves[u], waves[v])
        for colour, order in zip(colours, (GREY_ORDER, COLOUR_ORDER, COLOUR_ORDER), strict=True)
        for u in places
        for v in places
        if u + v <= order
    ]
    return np.array(filters, dtype=np.float32)


def _rectified(images: Tensor, filters: Tensor) -> Tensor:
    """Responses of both signs, softened and pooled: (B, 24, H/2, W/2)."""
    found = conv2d(pad(images, (PATCH // 2,) * 4, mode="replicate"), filters)
    both = torch.cat([found, -found], dim=1).clamp_min_(0)
    return avg_pool2d((both + _SOFTENED).sqrt_(), 2)
