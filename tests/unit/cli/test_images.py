"""Pictures from their files to predictions, with a network of a few numbers for torchvision's."""

import csv
import json
import shutil

import numpy as np
import pytest
from PIL import Image

import securefair as sf
from securefair.config import load_config
from securefair.model import image_columns
from securefair.model.image_columns import weights_digest
from securefair.prediction.pictures import strange_images
from support.tiny_network import torchvision, write_pictures, write_weights

NEW = ("new", "p", "--label", "finding", "--image", "photo", "--features", "5",
       "--extractor", "resnet18", "--weights", "net.safetensors")  # fmt: skip
DATA = ("--data", "north.csv", "--data", "south.csv")


@pytest.fixture(scope="module", autouse=True)
def small_network():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(image_columns, "import_torchvision", torchvision)
        yield


@pytest.fixture(autouse=True)
def forgotten():
    """No test finds in memory what another has extracted."""
    image_columns._LAST.clear()
    yield
    image_columns._LAST.clear()


def write_inputs(folder):
    write_weights(folder / "net.safetensors")
    for seed, name in enumerate(("north", "south")):
        write_pictures(folder, 40, seed=seed, name=name)


@pytest.fixture
def pictures(tmp_path):
    write_inputs(tmp_path)
    return tmp_path


def cut_off(picture):
    """Leave a file whose beginning is that of a picture."""
    picture.write_bytes(picture.read_bytes()[:-40])


def smaller(folder):
    """Pictures of 32 pixels, and features of the size that these have."""
    config = folder / "p" / "config.toml"
    text = config.read_text().replace("side = 224", "side = 32")
    config.write_text(text.replace("limit = 4.0", "limit = 0.5"))
    return config


@pytest.fixture(scope="module")
def finished(prepared, small_network):
    """A folder of a project that has run."""
    folder, invoke = prepared
    write_inputs(folder)
    invoke(*NEW, *DATA)
    smaller(folder)
    invoke("run", "p/config.toml", "--backend", "clear", "--out", "out")
    return folder


@pytest.fixture
def kept(finished, tmp_path):
    """The models of a copy of it."""
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    return tmp_path / "out" / "models"


def test_a_project_names_the_extractor_by_its_hash(invoke, pictures):
    made = invoke(*NEW, *DATA)
    assert made.exit_code == 0, made.output
    (column,) = load_config(pictures / "p" / "config.toml").table.columns
    assert column.sha256 == weights_digest(pictures / "net.safetensors")
    assert column.weights.resolve() == pictures / "net.safetensors"
    smaller(pictures)
    said = invoke("check", "p/config.toml")
    assert said.exit_code == 0, said.output
    assert "5 features (as configured): photo#1 to photo#5" in said.stdout
    assert not (pictures / ".securefair-features").exists()  # a check extracts nothing


def test_a_folder_of_pictures_gets_a_row_each(invoke, kept, tmp_path):
    new = tmp_path / "new"
    new.mkdir()
    for at in (3, 4, 5):
        shutil.copy(tmp_path / "south" / f"{at:02d}.png", new / f"{at}.png")
    (new / "notes.txt").write_text("")
    (tmp_path / "net.safetensors").unlink()  # the model has its own
    done = invoke("predict", kept / "north", "new", "--out", "p.csv")
    assert done.exit_code == 0, done.output
    assert "left out, as no image: notes.txt" in done.stderr
    rows = list(csv.DictReader((tmp_path / "p.csv").read_text().splitlines()))
    assert list(rows[0])[:4] == ["image", "probability_blue", "probability_red", "class"]
    assert [(row["image"], row["class"]) for row in rows] == [
        ("3.png", "red"), ("4.png", "blue"), ("5.png", "red"),
    ]  # fmt: skip
    said = json.loads(invoke("predict", kept / "north", "new", "--json").stdout)
    assert said["images"] == ["3.png", "4.png", "5.png"]


def test_what_is_no_picture_in_a_folder_is_left_out(invoke, kept, tmp_path):
    new = tmp_path / "new"
    new.mkdir()
    for at in (3, 4):
        shutil.copy(tmp_path / "south" / f"{at:02d}.png", new / f"{at}.png")
    cut_off(new / "4.png")
    (new / "0.png").write_bytes(b"a letter")
    (new / "9.png").write_bytes(b"")
    done = invoke("predict", kept / "north", "new", "--json")
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    assert (said["images"], len(said["class"])) == (["3.png"], 1)
    (warning,) = said["warnings"]
    assert warning.startswith("new: left out: 0.png (this is no image), 4.png (the image cannot")
    assert "9.png (the file of the image is empty)" in warning
    (new / "3.png").unlink()
    done = invoke("predict", kept / "north", "new")
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "0.png" in done.stderr


def test_what_is_no_table_of_pictures_is_named(invoke, kept):
    for place, words in (
        ("south/05.png", ("one image is no table of patients", "a folder of images")),
        ("nowhere", ("nowhere: cannot read the table", "it is not there")),
    ):
        done = invoke("predict", kept / "north", place)
        assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
        for word in words:
            assert word in done.stderr


def test_a_table_of_pictures_keeps_its_order(invoke, kept, tmp_path):
    (tmp_path / "some.csv").write_text("photo\nsouth/05.png\nsouth/02.png\nsouth/05.png\n")
    model = sf.load_model(kept / "north")
    found = model.predict_details("some.csv")
    assert found.images == ("south/05.png", "south/02.png", "south/05.png")
    assert found.chosen == ["red", "blue", "red"]
    np.testing.assert_array_equal(found.probabilities[0], found.probabilities[2])
    scored = json.loads(invoke("evaluate", kept / "north", "south.csv", "--json").stdout)
    assert scored["scores"]["accuracy"] == 1.0


def test_the_card_names_the_extractor(invoke, kept, tmp_path):
    digest = weights_digest(tmp_path / "net.safetensors")
    assert digest in (kept / "north" / "card.md").read_text()
    assert (kept / "north" / f"extractor-{digest[:16]}.weights").stat().st_mode & 0o077 == 0


def test_an_extraction_is_not_repeated(invoke, kept, monkeypatch):
    monkeypatch.setattr(image_columns, "read_image", None)
    done = invoke("run", "p/config.toml", "--backend", "clear", "--out", "again")
    assert done.exit_code == 0, done.output


def test_another_extractor_is_refused(invoke, kept, tmp_path):
    write_weights(tmp_path / "net.safetensors", seed=1)
    done = invoke("run", "p/config.toml", "--backend", "clear", "--out", "again")
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "not the weights that were agreed on" in done.stderr
    (weights,) = (kept / "north").glob("extractor-*")
    shutil.copy(tmp_path / "net.safetensors", weights)
    done = invoke("predict", kept / "north", "north")
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "not the weights that were agreed on" in done.stderr


@pytest.mark.parametrize(
    ("harm", "named"),
    [
        (lambda folder: (folder / "north" / "07.png").unlink(), "north.csv, line 9, column photo"),
        (lambda folder: cut_off(folder / "north" / "07.png"), "north.csv, line 9, column photo"),
        (
            lambda folder: (folder / "north" / "07.png").write_bytes(b"GIF"),
            "north.csv, line 9, column photo",
        ),
        (
            lambda folder: (folder / "north.csv").write_text(
                (folder / "north.csv").read_text() + ",red\n"
            ),
            "north.csv, line 42, column photo: a value is missing. Name an image, or leave",
        ),
    ],
)
def test_pictures_that_cannot_be_used_are_named_before_a_run(harm, named, invoke, pictures):
    assert invoke(*NEW, *DATA).exit_code == 0
    harm(pictures)
    for command in ("check", "run"):
        done = invoke(command, smaller(pictures))
        assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
        assert named in done.stderr


def test_pictures_that_repeat_are_found(invoke, pictures):
    shutil.copy(pictures / "north" / "03.png", pictures / "north" / "08.png")
    with (pictures / "north.csv").open("a") as table:
        table.write("north/01.png,red\n")
    made = json.loads(invoke(*NEW, *DATA, "--json").stdout)
    (found,) = made["findings"]
    assert (found["kind"], found["column"], found["line"]) == ("duplicate_images", "photo", 10)
    assert found["message"].startswith("2 rows")


def test_pictures_of_two_hospitals_are_found(invoke, pictures):
    for at in range(6):
        shutil.copy(pictures / "north" / f"{at:02d}.png", pictures / "south" / f"{39 - at}.png")
    made = json.loads(invoke(*NEW, *DATA, "--json").stdout)
    (found,) = made["findings"]
    assert (found["kind"], found["site"], found["line"]) == ("shared_images", "south", 36)
    assert found["severity"] == "grave"
    smaller(pictures)
    for command in (("check",), ("run", "--backend", "clear")):
        said = " ".join(invoke(*command, "p/config.toml").output.split())
        assert "6 of 40 rows show a picture that north has as well" in said


def test_few_pictures_are_no_shared_rows(invoke, tmp_path):
    """Rows that are all of one class would be equal if they were compared without their image."""
    write_weights(tmp_path / "net.safetensors")
    for seed, name in enumerate(("north", "south")):
        write_pictures(tmp_path, 3, seed=seed, name=name)
    made = json.loads(invoke(*NEW, *DATA, "--json").stdout)
    assert "shared_patients" not in {one["kind"] for one in made["findings"]}


def test_weights_are_looked_for_where_one_stands(invoke, tmp_path):
    write_weights(tmp_path / "net.safetensors")
    for seed, name in enumerate(("north", "south")):
        write_pictures(tmp_path / "data", 40, seed=seed, name=name)
    made = invoke(*NEW, "--data", "data/north.csv", "--data", "data/south.csv")
    assert made.exit_code == 0, made.output
    config = load_config(smaller(tmp_path))
    (column,) = config.table.columns
    assert column.weights.resolve() == tmp_path / "net.safetensors"
    assert 'weights = "../net.safetensors"' in (tmp_path / "p" / "config.toml").read_text()
    assert invoke("check", "p/config.toml").exit_code == 0


def test_other_columns_join_the_pictures(invoke, pictures):
    rng = np.random.default_rng(0)
    for name in ("north", "south"):
        lines = (pictures / f"{name}.csv").read_text().splitlines()
        rows = [f"{line},{rng.integers(20, 90)}" for line in lines[1:]]
        (pictures / f"{name}.csv").write_text("\n".join([f"{lines[0]},age", *rows]) + "\n")
    assert invoke(*NEW, *DATA).exit_code == 0
    kinds = [one.kind for one in load_config(pictures / "p" / "config.toml").table.columns]
    assert kinds == ["numeric", "image"]
    smaller(pictures)
    done = invoke("run", "p/config.toml", "--backend", "clear", "--out", "out")
    assert done.exit_code == 0, done.output
    done = invoke("predict", "out/models/north", "south.csv")
    assert done.exit_code == 0, done.output
    refused = invoke("predict", "out/models/north", "south")
    assert refused.exit_code == 2
    assert "a table with age, photo" in refused.stderr


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--extractor", "resnet18"), "needs its weights"),
        (("--extractor", "alexnet", "--weights", "net.safetensors"), "architecture"),
        (("--extractor", "resnet18", "--weights", "none"), "cannot be read"),
        (("--extractor", "efficientnet_lite0", "--weights", "net.safetensors"), "weights"),
        (("--extractor", "resnet18", "--weights", "net.safetensors", "--features", "9"), "not so"),
    ],
)
def test_impossible_extractors_are_refused_in_a_line(options, named, invoke, pictures):
    made = invoke("new", "p", "--label", "finding", "--image", "photo", *DATA, *options)
    assert (made.exit_code, made.stderr.count("\n")) == (2, 1)
    assert named in made.stderr
    assert not (pictures / "p").exists()


def test_a_picture_unlike_all_others_is_told(invoke, kept, tmp_path):
    """Of 40 pictures one like them lies outside of 2 x 5 / 41 features on average: too few to tell.

    All five would be 20 times as many; a green one is beyond the ranges of fewer.
    """
    model = sf.load_model(kept / "north")
    assert model.record.patients == 40
    new = tmp_path / "new"
    new.mkdir()
    Image.new("RGB", (32, 32), (0, 255, 0)).save(new / "green.png")
    assert model.predict_details(new).outside == ((),)
    beyond = np.zeros((3, 100), dtype=bool)
    beyond[1, :39], beyond[2, :40] = True, True
    assert strange_images(beyond, 99).tolist() == [False, False, True]


def test_chance_tells_few_pictures_from_their_like():
    """Markov's bound holds where all features are one: they leave their ranges together."""
    rng = np.random.default_rng(0)
    told = 0
    for _ in range(2000):
        values = np.repeat(rng.normal(size=(101, 1)), 64, axis=1)
        beyond = (values[100:] < values[:100].min(0)) | (values[100:] > values[:100].max(0))
        told += int(strange_images(beyond, 100)[0])
    assert told <= 0.05 * 2000
