"""Small networks, their specs and their maps, for the circuits that evaluate them."""

from dataclasses import dataclass

import numpy as np
import pytest

from securefair.circuit.bands import BandedMap, Window, convolution, dense
from securefair.circuit.spec import ExchangeSpec, HeadBounds, LayerBounds

BITS = 6


@dataclass(frozen=True)
class SmallNetwork:
    """A spec, the maps that keep its promises, and what they compute."""

    spec: ExchangeSpec
    maps: tuple[BandedMap, ...]

    def clear(self, features):
        """Features (B, d) -> logits (B, M)."""
        values = features.T
        for bounds, banded in zip(self.spec.network, self.maps, strict=True):
            result = np.empty((banded.values, values.shape[1]))
            for band in banded.bands:
                out = band.layer.apply(values[band.reads], bounds.log2_scale)
                if band.groups is not None:
                    out = (out**2)[band.groups].sum(axis=1)
                result[band.writes] = out
            values = result
        return values.T


def _real(rng, *shape):
    fan_in = np.prod(shape[1:])
    return np.rint(rng.uniform(-1, 1, shape) * 2.0**BITS / np.sqrt(fan_in)).astype(np.int64)


def small_network(
    seed=0, *, squares=2, channels=2, pool=(2, 2), classes=2, most=8, samples=60, **spec
):
    """Convolution, square, pool, then dense layers with squares between them."""
    rng = np.random.default_rng(seed)
    window = Window((1, 5, 5), (2, 2), (1, 1), (0, 0), pool if squares else None)
    maps = [
        convolution(
            _real(rng, channels, 1, 2, 2), rng.uniform(-0.2, 0.2, channels), window, most=most
        )
    ]
    for left in range(squares - 1, -1, -1):
        outputs = 3 if left else classes
        weights = _real(rng, outputs, maps[-1].values)
        maps.append(dense(weights, rng.uniform(-0.2, 0.2, outputs), squared=left > 0, most=most))
    layer_bounds, features = [], rng.uniform(-1, 1, (samples, 25))
    values = features.T
    for banded in maps:
        outs = [b.layer.apply(values[b.reads], BITS) for b in banded.bands]
        norms = np.array([b.layer.row_norms for b in banded.bands]) * 2.0**-BITS
        layer_bounds.append(
            LayerBounds(
                outputs=banded.outputs,
                summed=0 if banded.bands[0].groups is None else banded.bands[0].groups.shape[1],
                log2_scale=BITS,
                max_integer=1 << BITS,
                l1=norms[:, 0].max(),
                l2=norms[:, 1].max(),
                bound=1.2 * max(np.abs(out).max() for out in outs),
                multiply_adds=banded.multiply_adds,
            )
        )
        result = np.empty((banded.values, samples))
        for band, out in zip(banded.bands, outs, strict=True):
            result[band.writes] = out if band.groups is None else (out**2)[band.groups].sum(axis=1)
        values = result
    bounds = HeadBounds(feature=1.0, logit=layer_bounds[-1].bound)
    made = ExchangeSpec(
        **{
            "features": 25,
            "hidden": 0,
            "classes": classes,
            "samples": samples,
            "release": "logits",
            "precision": 2.0**-7,
            "q": 4,
            "bounds": bounds,
            "network": tuple(layer_bounds),
            **spec,
        }
    )
    return SmallNetwork(made, tuple(maps)), features


@pytest.fixture(scope="session")
def make_network():
    return small_network
