import numpy as np
import pytest

from securefair.errors import ConfigError, DataError
from securefair_lab.data.patch_features import PatchFeatures


@pytest.fixture(scope="module", autouse=True)
def few_pictures():
    """A tenth of the pictures and patches to learn from: features differ, what holds does not."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("securefair_lab.data.patch_features.PICTURES", 60)
        patched.setattr("securefair_lab.data.patch_features.PATCHES", 6000)
        yield


@pytest.fixture(scope="module")
def small():
    """A few filters, learned once for all tests here."""
    return PatchFeatures(filters=12, patch=4)


@pytest.fixture(scope="module")
def images():
    return np.random.default_rng(0).integers(0, 256, size=(9, 16, 20, 3), dtype=np.uint8)


def test_features_lie_in_their_range(small, images):
    found = small(images)
    assert found.shape == (9, 2 * 12 * 4)
    assert found.dtype == np.float32
    assert np.abs(found).max() <= 1
    assert len(small(images[:0])) == 0


def test_each_image_is_seen_by_itself(small, images):
    assert small(images)[[5]] == pytest.approx(small(images[[5]]), abs=1e-5)


def test_the_same_settings_give_the_same_features(small, images):
    again, other = PatchFeatures(filters=12, patch=4), PatchFeatures(filters=12, patch=4, seed=1)
    assert (again(images) == small(images)).all()
    assert np.abs(other(images) - small(images)).max() > 0.1
    assert again.key == small.key != other.key
    assert again.name == "leaves-12-4-2-2-0.5-0"


def test_brightness_and_contrast_hardly_matter(small):
    rng = np.random.default_rng(3)
    smooth = np.kron(rng.integers(60, 140, size=(6, 4, 4, 3)), np.ones((1, 4, 4, 1))).astype(int)
    plain, brighter = small(smooth.astype(np.uint8)), small((smooth + 50).astype(np.uint8))
    stronger = small(((smooth - 60) * 2 + 30).astype(np.uint8))
    assert brighter == pytest.approx(plain, abs=1e-4)
    other = small(smooth[::-1].astype(np.uint8))
    assert np.abs(stronger - plain).mean() < 0.5 * np.abs(other - plain).mean()


def test_a_grey_image_counts_as_coloured_without_colour(small, images):
    grey = images[..., :1]
    assert (small(grey) == small(np.repeat(grey, 3, axis=3))).all()


def test_regions_see_their_own_part(small, images):
    changed = images[:1].copy()
    changed[:, 10:, 12:] = 255 - changed[:, 10:, 12:]  # only patches of the last region reach
    before, after = (small(x).reshape(4, 24) for x in (images[:1], changed))
    differs = np.abs(after - before).max(axis=1)
    assert differs[3] > 0.05
    assert (before[0] == after[0]).all()


def test_features_tell_textures_apart(small):
    rng = np.random.default_rng(5)

    def stripes(axis):
        waves = 127 + 80 * np.sin(np.arange(16)[None, :] * 1.2 + rng.uniform(0, 6, (40, 1)))
        grids = np.repeat(waves[:, None, :], 16, axis=1)
        grids = grids if axis else grids.transpose(0, 2, 1)
        noisy = grids[..., None] + rng.normal(0, 20, size=(40, 16, 16, 3))
        return small(np.clip(noisy, 0, 255).astype(np.uint8))

    across, along = stripes(0), stripes(1)
    middle = (across.mean(axis=0) + along.mean(axis=0)) / 2
    normal = across.mean(axis=0) - along.mean(axis=0)
    for textures, sign in ((across, 1), (along, -1)):
        assert (sign * ((textures - middle) @ normal) > 0).all()


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"filters": 0}, "filters"),
        ({"patch": 1}, "patch"),
        ({"stride": 0}, "stride"),
        ({"regions": 9}, "regions"),
        ({"threshold": -1.0}, "threshold"),
    ],
)
def test_impossible_settings_are_refused_by_name(settings, named):
    with pytest.raises(ConfigError, match=f"^{named}: "):
        PatchFeatures(**settings)


@pytest.mark.parametrize(
    "bad", [np.zeros((2, 9, 9), np.uint8), np.zeros((2, 9, 9, 3)), np.zeros((2, 9, 9, 4), np.uint8)]
)
def test_what_is_no_image_is_refused(small, bad):
    with pytest.raises(DataError, match="pixels: not images"):
        small(bad)
    with pytest.raises(DataError, match=r"too small .*6 x 6 or more"):
        small(np.zeros((1, 5, 9, 1), np.uint8))
