"""Every source of noise draws what it says: the right noise passes, noise 30 % off fails.

The operating system's noise differs in every run, so each check is wrong with probability below
1e-9 when the noise is right, and practically certain to fail when it is 30 % off.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from securefair.privacy.randomness import NoiseSource, SeededNoise, SystemNoise

SOURCES: dict[str, Callable[[], NoiseSource]] = {
    "system": SystemNoise,
    "seeded": lambda: SeededNoise(1, 2),
}
RIGHT = 1e-9
DRAWS = 3000


@pytest.fixture(params=SOURCES)
def source(request: pytest.FixtureRequest) -> NoiseSource:
    return SOURCES[request.param]()


def plausible(drawn: np.ndarray, scale: float) -> bool:
    """Whether the draws may be N(0, scale^2), by their variance, their mean and their shape."""
    n = len(drawn)
    low, high = stats.chi2.ppf([RIGHT / 2, 1 - RIGHT / 2], n)
    shape = stats.kstest(drawn / scale, "norm").pvalue
    mean = abs(drawn.mean()) * np.sqrt(n) / scale
    return bool(
        low <= (drawn**2).sum() / scale**2 <= high
        and shape > RIGHT
        and mean < stats.norm.isf(RIGHT)
    )


@pytest.mark.parametrize("scale", [1e-6, 0.7, 300.0])
def test_gaussian_noise(source: NoiseSource, scale: float) -> None:
    drawn = source.gaussian(DRAWS, scale)
    assert drawn.shape == (DRAWS,)
    assert plausible(drawn, scale)
    assert not plausible(drawn, 1.3 * scale)
    assert not plausible(drawn, 0.7 * scale)
    assert len(np.unique(drawn)) == DRAWS


def test_no_noise(source: NoiseSource) -> None:
    np.testing.assert_array_equal(source.gaussian(3, 0.0), 0)
    assert source.gaussian(0, 1.0).shape == (0,)


@pytest.mark.parametrize("coarse", [False, True])
def test_noise_around_values(source: NoiseSource, coarse: bool) -> None:
    values = np.linspace(-3.0, 1000.0, DRAWS).reshape(3, -1)
    before = values.copy()
    noisy = source.gaussian_around(values, 0.7, coarse=coarse)
    assert noisy.shape == values.shape
    np.testing.assert_array_equal(values, before)
    assert plausible((noisy - values).ravel(), 0.7)
    assert not plausible((noisy - values).ravel(), 0.9)
    np.testing.assert_array_equal(source.gaussian_around(values, 0.0), values)
    assert source.gaussian_around(np.array(0.3), 1.0).shape == ()


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_noise_around_no_number(source: NoiseSource, wrong: float) -> None:
    with pytest.raises(ValueError, match="NaN"):
        source.gaussian_around(np.array([0.0, wrong]), 1.0)
    for scale in (wrong, -1.0):
        with pytest.raises(ValueError, match="standard deviation"):
            source.gaussian_around(np.zeros(2), scale)


def test_what_protects_leaves_nothing_of_the_value_below_its_grid() -> None:
    """Added as floats, 1/3 would show in the rest of every sum modulo 2^-40."""
    noisy = SystemNoise().gaussian_around(np.full(64, 1 / 3), 2.0, coarse=True)
    scaled = noisy * 2.0**40
    np.testing.assert_array_equal(scaled, np.rint(scaled))


def test_poisson_samples(source: NoiseSource) -> None:
    sizes = np.array([len(source.members(50, 0.2)) for _ in range(200)])
    total = int(sizes.sum())
    assert stats.binomtest(total, 200 * 50, 0.2).pvalue > RIGHT
    assert stats.binomtest(total, 200 * 50, 0.26).pvalue < RIGHT
    # Poisson samples differ in size; batches of a fixed size do not.
    assert stats.chi2.sf(((sizes - 10) ** 2 / 8).sum(), 200) > RIGHT
    assert sizes.std() > 0
    assert len(source.members(50, 1.0)) == 50


def test_members_are_independent_of_their_place(source: NoiseSource) -> None:
    counts = np.zeros(10)
    for _ in range(2000):
        counts[source.members(10, 0.3)] += 1
    assert stats.chisquare(counts, np.full(10, counts.mean())).pvalue > RIGHT


def test_subsets(source: NoiseSource) -> None:
    counts = np.zeros(6)
    for _ in range(1000):
        rows = source.subset(6, 2)
        assert rows[0] < rows[1]
        counts[rows] += 1
    assert stats.chisquare(counts).pvalue > RIGHT


def test_only_the_system_protects() -> None:
    assert SystemNoise().secure
    assert not SeededNoise(0).secure


def test_system_noise_never_repeats() -> None:
    assert not np.array_equal(SystemNoise().gaussian(4, 1.0), SystemNoise().gaussian(4, 1.0))


def test_seeded_noise_repeats() -> None:
    np.testing.assert_array_equal(SeededNoise(3).gaussian(4, 1.0), SeededNoise(3).gaussian(4, 1.0))


def test_fine_noise_fills_the_floats_between_coarse_ones() -> None:
    """Nothing is rounded before it is a float: low bits of the significand vary."""
    drawn = SystemNoise().gaussian(64, 1.0)
    low_bits = drawn.view(np.uint64) & np.uint64(7)
    assert len(np.unique(low_bits)) > 1
