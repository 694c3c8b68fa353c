from dataclasses import dataclass, field

import numpy as np
import pytest

from securefair.errors import ConfigError, DataError
from securefair_lab.data.division import divide
from securefair_lab.data.feature_view import feature_view
from securefair_lab.data.images import Images, ImageSet, Normalisation, load_ham10000


@dataclass
class MeanColour:
    """An extractor that counts what it has seen."""

    key: str = "1"
    seen: list[int] = field(default_factory=list)
    name: str = "mean-colour"

    def __call__(self, pixels):
        self.seen.append(len(pixels))
        return pixels.mean(axis=(1, 2)).astype(np.float32)


@pytest.fixture
def images():
    """45 images and 10 for testing, each of one colour that is its number."""

    def part(count, first):
        numbers = np.arange(first, first + count)
        pixels = np.broadcast_to(numbers[:, None, None, None], (count, 4, 4, 3)).astype(np.uint8)
        return Images(
            pixels=pixels, labels=numbers % 3, classes=3, sites=tuple("ab" * count)[:count]
        )

    return ImageSet(
        name="numbers",
        class_names=("a", "b", "c"),
        train=part(45, 0),
        test=part(10, 100),
        normalisation=Normalisation(mean=(0.5,) * 3, deviation=(0.5,) * 3),
    )


def test_features_take_the_place_of_images(images):
    view = feature_view(images, MeanColour(), cache=None)
    assert view.name == "numbers, mean-colour"
    train = view.train.take(np.array([7, 3])).samples()
    assert train.features.dtype == np.float32
    assert train.features.tolist() == [[7, 7, 7], [3, 3, 3]]
    assert train.labels.tolist() == [1, 0]
    assert view.train.sites == images.train.sites
    assert view.test.samples().features[0].tolist() == [100, 100, 100]


def test_heads_get_float64(images):
    view = feature_view(images, MeanColour(), cache=None, dtype=np.float64)
    assert view.train.samples().features.dtype == np.float64


def test_features_are_extracted_once_an_extractor(images, tmp_path):
    first, again, other = MeanColour(), MeanColour(), MeanColour(key="2")
    one = feature_view(images, first, cache=tmp_path, batch_size=20)
    two = feature_view(images, again, cache=tmp_path, batch_size=20)
    feature_view(images, other, cache=tmp_path, batch_size=20)
    assert first.seen == other.seen == [20, 20, 5, 10]
    assert again.seen == []
    assert (one.train.samples().features == two.train.samples().features).all()


def test_other_images_have_other_features(images, tmp_path):
    feature_view(images, MeanColour(), cache=tmp_path)
    pixels = images.train.pixels.copy()
    pixels[11, 2, 2, 0] ^= 1
    changed = ImageSet(
        name=images.name,
        class_names=images.class_names,
        train=Images(pixels=pixels, labels=images.train.labels, classes=3),
        test=images.test,
        normalisation=images.normalisation,
    )
    extractor = MeanColour()
    feature_view(changed, extractor, cache=tmp_path)
    assert extractor.seen == [45]


def test_an_interrupted_extraction_continues(images, tmp_path, monkeypatch):
    monkeypatch.setattr("securefair_lab.data.feature_view.BLOCK", 20)

    class Interrupted(MeanColour):
        def __call__(self, pixels):
            if len(self.seen) == 2:
                raise KeyboardInterrupt
            return super().__call__(pixels)

    with pytest.raises(KeyboardInterrupt):
        feature_view(images, Interrupted(), cache=tmp_path)
    extractor, progress = MeanColour(), []
    view = feature_view(
        images, extractor, cache=tmp_path, advance=lambda *counts: progress.append(counts)
    )
    assert extractor.seen == [5, 10]
    assert progress == [(20, 55), (40, 55), (45, 55), (55, 55)]
    assert view.train.samples().features[:, 0].tolist() == list(range(45))


def test_a_view_divides_like_its_images(small_folder):
    images = load_ham10000(small_folder, side=8)
    view = feature_view(images, MeanColour(), cache=None)
    seen, raw = divide(view, seed=0), divide(images.data_set(), seed=0)
    assert [own.name for own in seen] == [own.name for own in raw]
    for one, other in zip(seen, raw, strict=True):
        assert (one.train.labels == other.train.labels).all()
        assert one.train.features.shape == (len(other.train), 3)


def test_impossible_settings_and_extractors_are_refused(images):
    with pytest.raises(ConfigError, match=r"^batch_size: "):
        feature_view(images, MeanColour(), cache=None, batch_size=0)

    class Flat(MeanColour):
        def __call__(self, pixels):
            return pixels.mean(axis=(1, 2, 3))

    class Broken(MeanColour):
        def __call__(self, pixels):
            return super().__call__(pixels) * np.nan

    for extractor in (Flat(), Broken()):
        with pytest.raises(DataError, match="extractor mean-colour: not one finite feature vector"):
            feature_view(images, extractor, cache=None)
