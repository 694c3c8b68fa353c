"""Two hospitals whose tables name images: each has its images and its copy of the weights."""

import csv
import shutil

import pytest

from securefair.model import image_columns
from securefair.model.image_columns import weights_digest
from support.operators import PASSPHRASE, kept_models, securefair
from support.tiny_network import torchvision, write_pictures, write_weights

NAMES = ("north", "south")
SETTINGS = """
[transfer]
q = 8
[table]
label = "finding"
classes = [["blue"], ["red"]]
[[table.columns]]
kind = "image"
name = "photo"
architecture = "resnet18"
weights = "net.safetensors"
sha256 = "{digest}"
features = 5
side = 32
limit = 0.5
"""


@pytest.fixture(scope="module")
def signed(tmp_path_factory):
    """A signed project of images; each hospital's table, images and weights lie in its folder."""
    tmp_path = tmp_path_factory.mktemp("signed")
    secret = tmp_path / "passphrase"
    secret.touch(mode=0o600)
    secret.write_text(PASSPHRASE, encoding="ascii")
    for at, name in enumerate(NAMES):
        write_pictures(tmp_path / f"{name}-data", 40, seed=at)
        write_weights(tmp_path / f"{name}-data" / "net.safetensors")
        securefair("identity", "new", name, "--out", tmp_path, "--passphrase-file", secret)
    digest = weights_digest(tmp_path / "north-data" / "net.safetensors")
    (tmp_path / "settings.toml").write_text(SETTINGS.format(digest=digest), encoding="utf-8")
    cards = [part for name in NAMES for part in ("--card", tmp_path / f"{name}.card")]
    project = tmp_path / "skin.toml"
    options = ("--max-samples", 60, "--settings", tmp_path / "settings.toml", "--out", project)
    securefair("project", "new", "skin", *cards, *options)
    for name in NAMES:
        keys = ("--identity", tmp_path / f"{name}.keys", "--passphrase-file", secret)
        securefair("project", "sign", project, *keys)
    (tmp_path / "shared").mkdir()
    return tmp_path


@pytest.fixture
def ward(signed, tmp_path, monkeypatch):
    """A copy of it."""
    monkeypatch.setattr(image_columns, "import_torchvision", torchvision)
    image_columns._LAST.clear()
    yield shutil.copytree(signed, tmp_path, dirs_exist_ok=True)
    image_columns._LAST.clear()


def init(ward, name, **said):
    return securefair(
        *("site", "init", ward / name, "--project", ward / "skin.toml"),
        *("--identity", ward / f"{name}.keys", "--data", ward / f"{name}-data" / "images.csv"),
        *("--shared-folder", ward / "shared", "--passphrase-file", ward / "passphrase"),
        **said,
    )


def test_sites_of_images_keep_models_that_predict_without_them(ward):
    for name in NAMES:
        assert "27 training and 13 test samples" in init(ward, name)
    said = securefair("site", "check", ward / "north", "--passphrase-file", ward / "passphrase")
    assert "data" in said
    north, south = kept_models([ward / name for name in NAMES])
    shutil.rmtree(ward / "north-data")  # the model has a copy of the weights
    new = ward / "south-data" / "images"
    securefair("predict", north, new, "--out", ward / "p.csv")
    rows = list(csv.DictReader((ward / "p.csv").read_text().splitlines()))
    assert len(rows) == 40
    right = [row["class"] == ("red" if int(row["image"][:2]) % 2 else "blue") for row in rows]
    assert sum(right) >= 36
    assert "evaluate" not in securefair("evaluate", south, ward / "south-data" / "images.csv")


@pytest.mark.parametrize("present", [True, False])
def test_weights_that_were_not_agreed_on_make_no_site(ward, present):
    weights = ward / "south-data" / "net.safetensors"
    weights.unlink()
    if present:
        write_weights(weights, seed=9)
    said = init(ward, "south", fails=True)
    assert said.startswith("securefair: ")
    assert "net.safetensors" in said
    assert ("these are not" in said) == present
    assert not (ward / "south").exists()
