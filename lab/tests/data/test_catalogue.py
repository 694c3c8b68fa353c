import numpy as np
import pytest

from securefair.errors import ConfigError, DataError
from securefair_lab.data.catalogue import CATALOGUE, ImageEntry, load_data_set, load_image_set
from securefair_lab.data.division import divide


@pytest.mark.parametrize("name", [n for n, entry in CATALOGUE.items() if entry.file is None])
def test_packaged_sets_need_no_folder(name, monkeypatch):
    monkeypatch.delenv("SECUREFAIR_DATA", raising=False)
    assert load_data_set(name).name == name


@pytest.mark.parametrize("name", [n for n, e in CATALOGUE.items() if isinstance(e, ImageEntry)])
def test_sets_of_images_come_as_bytes_and_as_pools(name, small_folder):
    images, data = load_image_set(name, small_folder), load_data_set(name, small_folder)
    assert images.name == data.name == name
    assert (data.train.labels == images.train.labels).all()
    assert CATALOGUE[name].sites == (data.train.sites is not None)
    rows = np.array([3, 1])
    made = data.train.take(rows).samples()
    assert (made.features == images.train_samples().features[rows]).all()


@pytest.mark.parametrize("name", [n for n, entry in CATALOGUE.items() if entry.file is not None])
def test_every_missing_file_is_named(name, tmp_path, monkeypatch):
    monkeypatch.setattr("securefair_lab.data.images.fashion.DEBIAN_FOLDER", tmp_path)
    with pytest.raises(DataError, match=f"Put {CATALOGUE[name].file.name} there"):
        load_data_set(name, tmp_path)


def test_heart_has_its_hospitals():
    hospitals = divide(load_data_set("heart"), seed=0, test="own")
    assert [own.name for own in hospitals] == [
        "Cleveland",
        "Hungary",
        "Switzerland",
        "VA Long Beach",
    ]
    assert [len(own.train) + len(own.test) for own in hospitals] == [303, 294, 123, 200]


def test_unknown_names_are_refused():
    with pytest.raises(ConfigError, match=r"no such data set .*found 'iris', expected 'mnist, "):
        load_data_set("iris")
    with pytest.raises(ConfigError, match=r"not a data set of images .*expected 'mnist, "):
        load_image_set("adult")
