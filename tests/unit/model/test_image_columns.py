from importlib.util import find_spec
from typing import get_args

import numpy as np
import pytest
import torch
from PIL import Image as Pillow
from safetensors.torch import save_file
from torch import nn

from securefair.config import ImageColumn
from securefair.errors import DataError, ModelError
from securefair.model import image_columns
from securefair.model.image_columns import (
    LITE0,
    ImageColumns,
    decoded_only,
    torchvision_extractor,
    weights_digest,
)
from support.tiny_network import network, torchvision, write_pictures, write_weights


@pytest.fixture
def rule(tmp_path, monkeypatch):
    monkeypatch.setattr(image_columns, "import_torchvision", torchvision)
    image_columns._LAST.clear()
    write_weights(tmp_path / "w.safetensors")
    digest = weights_digest(tmp_path / "w.safetensors")
    yield ImageColumn(
        name="p", architecture="resnet18", sha256=digest, features=6, side=32, limit=0.5
    )
    image_columns._LAST.clear()


@pytest.fixture
def images(tmp_path):
    write_pictures(tmp_path, 5)
    return [(path, f"line {at}") for at, path in enumerate(sorted((tmp_path / "images").iterdir()))]


def columns(tmp_path, rule, **options):
    return ImageColumns({rule.sha256: tmp_path / "w.safetensors"}, **options)


def pixels_of(path):
    image = Pillow.open(path).crop((0, 2, 32, 34))
    return torch.from_numpy(np.asarray(image).astype(np.float32)).permute(2, 0, 1)


def test_features_are_those_of_the_network_without_its_last_layer(tmp_path, rule, images):
    found = columns(tmp_path, rule)(rule, images)
    body = write_weights(tmp_path / "again.safetensors")
    body[4] = nn.Identity()
    mean, deviation = (torch.tensor(one)[:, None, None] for one in (rule.mean, rule.deviation))
    stacked = torch.stack([(pixels_of(path) / 255 - mean) / deviation for path, _ in images])
    with torch.inference_mode():
        expected = (body(stacked) / rule.limit).clamp(-1, 1).numpy()
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert found.shape == (5, 6)
    assert np.abs(found).max() <= 1


def test_fewer_features_are_the_directions_of_the_last_layer(tmp_path, rule, images):
    wide = ImageColumn(name="p", architecture="resnet18", sha256=rule.sha256, features=6, side=32,
                 limit=1e9)  # fmt: skip
    few = ImageColumn(name="p", architecture="resnet18", sha256=rule.sha256, features=2, side=32,
                limit=1e9)  # fmt: skip
    whole, found = (columns(tmp_path, rule)(one, images) * 1e9 for one in (wide, few))
    classifier = write_weights(tmp_path / "again.safetensors")[4][1].weight.detach().double()
    right = torch.linalg.svd(classifier)[2][:2].T.numpy()
    np.testing.assert_allclose(np.abs(found), np.abs(whole @ right), rtol=1e-4)


def test_other_weights_are_refused(tmp_path, rule, images):
    write_weights(tmp_path / "w.safetensors", seed=1)
    with pytest.raises(ModelError, match="not the weights that were agreed on") as refused:
        columns(tmp_path, rule)(rule, images)
    assert refused.value.expected == rule.sha256
    with pytest.raises(ModelError, match="no weights here"):
        ImageColumns({})(rule, images)
    (tmp_path / "w.safetensors").unlink()
    with pytest.raises(DataError, match="cannot be read"):
        columns(tmp_path, rule)(rule, images)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda state: state.pop("0.bias"), "do not fit"),
        (lambda state: state.update(more=torch.zeros(1)), "do not fit"),
        (lambda state: state.update({"0.bias": torch.zeros(7)}), "do not fit"),
        (lambda state: state.update({"0.bias": torch.full((6,), torch.nan)}), "not finite"),
    ],
)
def test_weights_of_another_network_are_refused(change, named, tmp_path, rule):
    state = network().state_dict()
    change(state)
    save_file(state, tmp_path / "odd.safetensors")
    with pytest.raises(ModelError, match=named):
        torchvision_extractor(rule, (tmp_path / "odd.safetensors").read_bytes())


def test_what_is_no_safetensors_file_is_refused(rule):
    with pytest.raises(ModelError, match="no safetensors file"):
        torchvision_extractor(rule, b"\x80\x04 a pickle would be here")


@pytest.mark.parametrize("features", [7, 100])
def test_more_features_than_there_are_are_refused(features, tmp_path, rule, images):
    more = ImageColumn(
        name="p", architecture="resnet18", sha256=rule.sha256, features=features, side=32
    )
    with pytest.raises(ModelError, match="not so many features") as refused:
        columns(tmp_path, rule)(more, images)
    assert refused.value.expected == "6, or fewer by these weights: 1 to 5"


def test_features_are_computed_once(tmp_path, rule, images, monkeypatch):
    cache = tmp_path / "kept"
    first = columns(tmp_path, rule, cache=cache)(rule, images)
    assert cache.stat().st_mode & 0o077 == 0
    with monkeypatch.context() as patched:
        patched.setattr(image_columns, "read_image", None)
        again = columns(tmp_path, rule, cache=cache)(rule, images)
    np.testing.assert_array_equal(first, again)
    Pillow.new("RGB", (32, 32)).save(images[0][0])
    changed = columns(tmp_path, rule, cache=cache)(rule, images)
    assert (changed[0] != first[0]).any()
    np.testing.assert_array_equal(changed[1:], first[1:])


def test_a_folder_that_cannot_be_written_computes_every_time(tmp_path, rule, images, monkeypatch):
    (tmp_path / "kept").mkdir()
    monkeypatch.setattr(image_columns.os, "access", lambda *_: False)
    found = columns(tmp_path, rule, cache=tmp_path / "kept")(rule, images)
    np.testing.assert_array_equal(found, columns(tmp_path, rule)(rule, images))
    assert not list((tmp_path / "kept").iterdir())


@pytest.mark.parametrize("cut", [lambda _: b"no picture", lambda whole: whole[:-40]])
def test_outlines_see_that_every_picture_is_whole(cut, rule, images):
    damaged = images[3][0]
    whole = damaged.read_bytes()
    damaged.write_bytes(cut(whole))
    with pytest.raises(DataError, match="line 3"):
        decoded_only(set(), rule, images)
    damaged.write_bytes(whole)
    assert decoded_only(set(), rule, images).shape == (5, 6)


def test_a_picture_is_decoded_once(rule, images, monkeypatch):
    decoded = set()
    decoded_only(decoded, rule, images[1:])
    seen = []
    monkeypatch.setattr(image_columns, "check_image", lambda path, **_: seen.append(path))
    assert decoded_only(decoded, rule, images).shape == (5, 6)
    assert seen == [images[0][0]]


@pytest.mark.skipif(find_spec("torchvision") is None, reason="the extra `vision`")
@pytest.mark.parametrize(
    "name",
    [one for one in get_args(ImageColumn.model_fields["architecture"].annotation) if one != LITE0],
)
def test_every_architecture_has_features(name):
    body = image_columns._network(name)
    last = image_columns._last_layer(body, name)
    parent, _, child = last.rpartition(".")
    width = body.get_parameter(f"{last}.weight").shape[1]
    setattr(body.get_submodule(parent), child, nn.Identity())
    with torch.device("meta"), torch.inference_mode():
        assert body(torch.zeros(2, 3, 224, 224)).shape == (2, width)


@pytest.mark.skipif(find_spec("torchvision") is None, reason="the extra `vision`")
def test_a_network_of_torchvision_looks_at_pictures(tmp_path, images):
    from securefair.data.torchvision_import import import_torchvision

    torch.manual_seed(0)
    whole = import_torchvision().models.shufflenet_v2_x1_0(weights=None)
    save_file(whole.state_dict(), tmp_path / "w.safetensors")
    digest = weights_digest(tmp_path / "w.safetensors")
    rule = ImageColumn(
        name="p", architecture="shufflenet_v2_x1_0", sha256=digest, features=8, side=32, limit=1.0
    )
    found = columns(tmp_path, rule)(rule, images)
    assert found.shape == (5, 8)
    assert len(np.unique(found, axis=0)) == 5
