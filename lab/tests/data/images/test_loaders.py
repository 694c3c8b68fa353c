import gzip

import numpy as np
import pytest

from securefair.errors import ConfigError, DataError
from securefair_lab.data.images import (
    load_cifar10,
    load_cifar100,
    load_cinic10,
    load_fashion_mnist,
    load_femnist,
    load_ham10000,
    load_mnist,
)

LOADERS = [
    load_mnist,
    load_fashion_mnist,
    load_femnist,
    load_cifar10,
    load_cifar100,
    load_cinic10,
    load_ham10000,
]


@pytest.mark.parametrize("load", LOADERS)
def test_every_set_becomes_normalised_float32_with_channels_first(load, small_folder):
    images = load(small_folder)
    samples = images.train_samples()
    _, height, width, channels = images.train.pixels.shape
    assert samples.features.dtype == np.float32
    assert samples.features.shape == (len(images.train), channels, height, width)
    assert samples.classes == len(images.class_names)
    restored = samples.features * np.reshape(images.normalisation.deviation, (-1, 1, 1))
    restored = 255 * (restored + np.reshape(images.normalisation.mean, (-1, 1, 1)))
    assert np.abs(restored.transpose(0, 2, 3, 1) - images.train.pixels).max() < 1e-3


def test_jpeg_and_webp_hold_what_was_put_in(small_folder, smooth_images):
    cifar = load_cifar10(small_folder)
    assert np.abs(cifar.train.pixels.astype(int) - smooth_images(20, 32, 32)).max() <= 6
    assert cifar.train.labels.tolist() == [*range(10), *range(10)]
    ham = load_ham10000(small_folder, side=72)
    rows = np.flatnonzero(np.arange(40) % 5 > 0)
    expected = smooth_images(40, 72, 96)[rows][:, :, 12:84]  # the middle square
    assert (ham.train.pixels == expected).all()


def test_ham_has_sites_and_both_kinds_of_targets(small_folder):
    isic = load_ham10000(small_folder)
    assert isic.train.pixels.shape == (32, 64, 64, 3)
    assert isic.train.sites.count("vidir_modern") == 20
    assert isic.class_names[isic.train.labels[2]] == "SCC"
    diagnosis = load_ham10000(small_folder, target="diagnosis")
    assert diagnosis.class_names[diagnosis.train.labels[2]] == "akiec"


def test_a_lesion_is_on_one_side_of_the_split_by_lesion(small_folder):
    images = load_ham10000(small_folder, split="lesion")
    assert len(images.train) + len(images.test) == 40
    assert len(images.train) % 2 == 0  # two images each
    assert 0 < len(images.test) < 20


def test_femnist_names_its_clients(small_folder):
    images = load_femnist(small_folder)
    assert images.test is None
    assert images.test_samples() is None
    assert images.train.sites[3:5] == ("client 0", "client 1")


def test_decoding_happens_once(small_folder, tmp_path, monkeypatch):
    cache = tmp_path / "cache"
    first = load_cifar10(small_folder, cache=cache)
    assert len(list(cache.iterdir())) == 2

    def refuse(*_):
        raise AssertionError("decoded again")

    monkeypatch.setattr("securefair_lab.data.images.decoding._decode", refuse)
    again = load_cifar10(small_folder, cache=cache)
    assert (again.train.pixels == first.train.pixels).all()
    with pytest.raises(AssertionError, match="decoded again"):
        load_ham10000(small_folder, cache=cache)


def test_each_side_is_cached_apart(small_folder, tmp_path):
    cache = tmp_path / "cache"
    assert load_ham10000(small_folder, cache=cache, side=16).train.pixels.shape[1] == 16
    assert load_ham10000(small_folder, cache=cache, side=8).train.pixels.shape[1] == 8


def test_cifar100_has_fine_labels_and_whole_colours(small_folder, smooth_images):
    images = load_cifar100(small_folder)
    assert (images.train.pixels == smooth_images(20, 32, 32)).all()
    assert images.train.labels[:3].tolist() == [0, 4, 8]
    assert images.class_names[4] == "kind_4"
    (small_folder / "cifar-100-binary" / "test.bin").write_bytes(bytes(3073))
    with pytest.raises(DataError, match=r"not whole records .*found '3073 bytes'"):
        load_cifar100(small_folder)


def test_cinic10_joins_training_and_validation(small_folder, smooth_images, tmp_path):
    images = load_cinic10(small_folder, cache=tmp_path / "cache")
    assert images.class_names == ("airplane", "ship")
    assert images.train.labels.tolist() == [0, 0, 0, 1, 1, 1] * 2
    assert (images.train.pixels[9:] == smooth_images(3, 32, 32, seed=1)).all()
    assert images.test.labels.tolist() == [0, 0, 0, 1, 1, 1]


def test_cinic10_without_its_files_is_refused(tmp_path):
    (tmp_path / "CINIC-10").mkdir()
    with pytest.raises(DataError, match="no folders of classes"):
        load_cinic10(tmp_path)
    (tmp_path / "CINIC-10" / "train" / "ship").mkdir(parents=True)
    with pytest.raises(DataError, match="no PNG files"):
        load_cinic10(tmp_path)


def test_fashion_mnist_comes_from_debians_folder_where_ours_has_none(
    small_folder, tmp_path, monkeypatch
):
    monkeypatch.setattr("securefair_lab.data.images.fashion.DEBIAN_FOLDER", small_folder)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert len(load_fashion_mnist(elsewhere).train) == 20


@pytest.mark.parametrize(
    "content", [b"no gzip", b"", gzip.compress(b"abc", mtime=0), gzip.compress(bytes(99), mtime=0)]
)
def test_damaged_idx_files_are_named(content, small_folder):
    path = small_folder / "fashion-mnist" / "t10k-images-idx3-ubyte.gz"
    path.write_bytes(content)
    with pytest.raises(DataError, match="t10k-images-idx3-ubyte"):
        load_fashion_mnist(small_folder)


@pytest.mark.parametrize("load", LOADERS)
def test_a_missing_file_says_what_to_put_where(load, tmp_path, monkeypatch):
    monkeypatch.setattr("securefair_lab.data.images.fashion.DEBIAN_FOLDER", tmp_path)
    with pytest.raises(DataError, match=r"Put \S+ there \(.*docs/data\.md\)") as caught:
        load(tmp_path)
    assert str(tmp_path) in str(caught.value)


def test_a_damaged_image_is_named(small_folder):
    with np.load(small_folder / "cifar10.npz") as arrays:
        changed = dict(arrays)
    changed["train_jpeg"] = changed["train_jpeg"].copy()
    start = changed["train_offsets"][3]
    changed["train_jpeg"][start : start + 40] = 0
    np.savez(small_folder / "cifar10.npz", **changed)
    with pytest.raises(DataError, match="cifar10-train, image 3: an image cannot be decoded"):
        load_cifar10(small_folder)


def test_images_of_different_sizes_need_a_side(small_folder, smooth_images):
    from securefair_lab.data.images.decoding import decode_images

    with np.load(small_folder / "cifar10.npz") as arrays:
        changed = dict(arrays)
    with np.load(small_folder / "ham10000.npz") as arrays:
        other = arrays["webp"][: arrays["offsets"][1]]
    encoded = np.concatenate([changed["train_jpeg"][: changed["train_offsets"][1]], other])
    offsets = np.array([0, changed["train_offsets"][1], len(encoded)])
    with pytest.raises(DataError, match="mixed, image 1: images of different sizes"):
        decode_images(encoded, offsets, name="mixed", cache=None)
    assert decode_images(encoded, offsets, name="mixed", cache=None, side=8).shape == (2, 8, 8, 3)


@pytest.mark.parametrize(
    ("settings", "named"),
    [({"side": 0}, "side"), ({"target": "x"}, "target"), ({"split": 1}, "split")],
)
def test_impossible_settings_are_refused_by_name(settings, named, small_folder):
    with pytest.raises(ConfigError, match=f"^{named}: "):
        load_ham10000(small_folder, **settings)


def test_an_unknown_diagnosis_is_named(small_folder):
    with np.load(small_folder / "ham10000.npz") as arrays:
        changed = dict(arrays)
    changed["dx"] = np.array(["nv"] * 39 + ["wart"])
    np.savez(small_folder / "ham10000.npz", **changed)
    with pytest.raises(DataError, match="found 'wart'"):
        load_ham10000(small_folder, target="diagnosis")


def test_the_real_sets_have_their_published_counts(real_data):
    mnist = load_mnist(real_data)
    assert (len(mnist.train), len(mnist.test)) == (60000, 10000)
    assert np.bincount(mnist.train.labels).tolist() == [
        *(5923, 6742, 5958, 6131, 5842),
        *(5421, 5918, 6265, 5851, 5949),
    ]
    femnist = load_femnist(real_data)
    assert len(femnist.train) == 5997
    assert femnist.train.sites.count("client 2") == 544
    samples = femnist.train_samples()
    assert abs(samples.features.mean()) < 0.05
    assert abs(samples.features.std() - 1) < 0.05
