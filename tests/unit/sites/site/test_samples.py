"""What a site began with stays the same: its samples, and the model that answers."""

import logging
from dataclasses import replace
from hashlib import sha256

import msgspec
import numpy as np
import pytest

from securefair.data import ParticipantData, Samples
from securefair.errors import ConfigError, DataError, SecureFairError
from securefair.sites.couriers.interface import CourierSettings
from securefair.sites.project.terms import checked_terms
from securefair.sites.site.folder import SiteSettings, read_settings, write_settings
from securefair.sites.site.samples import (
    PARTS_OF_SAMPLES,
    SAMPLES,
    check_same_samples,
    own_columns,
    own_samples,
    unquoted,
)
from securefair.storage import Store


def own(seed=0):
    x = np.random.default_rng(seed).uniform(-1, 1, (4, 2))
    samples = Samples(x, np.array([0, 1, 0, 1]), 2)
    return ParticipantData("north", samples, samples)


def test_other_samples_or_another_model_are_refused(tmp_path):
    vendor = tmp_path / "vendor.onnx"
    vendor.write_bytes(b"first")
    with Store.open(tmp_path / "store") as store:
        check_same_samples(store, own(), str(vendor))
        check_same_samples(store, own(), str(vendor))
        for data, teacher in ((own(1), str(vendor)), (own(), None), (own(), "forest")):
            with pytest.raises(DataError, match="not those that this site began with"):
                check_same_samples(store, data, teacher)
        vendor.write_bytes(b"second")
        with pytest.raises(DataError, match="the model that answers"):
            check_same_samples(store, own(), str(vendor))


@pytest.mark.parametrize("part", ["values", "weights", "patients"])
@pytest.mark.parametrize("of", ["train", "test"])
def test_whatever_else_is_known_of_patients_stays_as_well(tmp_path, part, of):
    """The attack: two sums tell of the one patient whose time changed in between."""
    given = {
        "values": np.ones((4, 2)),
        "weights": np.ones(4),
        "patients": np.arange(4),
    }
    found = own()
    samples = replace(found.train, outcome="time", **given)
    changed = given[part].copy()
    changed[2] += 1
    other = replace(samples, **{part: changed})
    both = replace(found, train=samples, test=samples)
    with Store.open(tmp_path / "store") as store:
        check_same_samples(store, both)
        check_same_samples(store, both)
        with pytest.raises(DataError, match="not those that this site began with"):
            check_same_samples(store, replace(both, **{of: other}))


def test_a_store_of_an_earlier_version_is_checked_by_what_it_knows(tmp_path):
    with Store.open(tmp_path / "store") as store:
        check_same_samples(store, own())
        with store.transaction() as tx:  # as it noted it
            tx.memory.put(PARTS_OF_SAMPLES, older_digest(own()))
            tx.memory.delete(SAMPLES)
        with pytest.raises(DataError, match="not those that this site began with"):
            check_same_samples(store, own(1))
        check_same_samples(store, own())
        with store.view() as tx:
            assert tx.memory.get(SAMPLES) is not None


def older_digest(data):
    digest = sha256()
    for part in (data.train, data.test):
        for array in (part.features, part.labels):
            digest.update(repr((array.shape, array.dtype.str)).encode())
            digest.update(array.tobytes())
    return digest.digest()


def terms(algorithm="transfer"):
    project = {
        "name": "heart",
        "algorithm": algorithm,
        "max_samples": 50,
        "valid_from": 0,
        "valid_until": 1000,
        "protocol": 1,
    }
    table = {
        "label": "ill",
        "classes": [["0"], ["1"]],
        "columns": [{"name": "age", "kind": "numeric", "low": 20.0, "high": 90.0}],
    }
    return checked_terms({"project": project, "table": table}, source="test")


@pytest.fixture
def settings(tmp_path):
    lines = [f"{30 + n},{n % 7},{'abc'[n % 3]},{n},{n % 2}" for n in range(30)]
    path = tmp_path / "own.csv"
    path.write_text("\n".join(["age,crp,ward,patient_id,ill", *lines]) + "\n")

    def make(*wanted, algorithm="transfer"):
        rules = own_columns(terms(algorithm), "north", str(path), wanted)
        return SiteSettings(
            name="north",
            data=str(path),
            courier=CourierSettings(kind="flare"),
            columns=tuple(rule.model_dump(mode="json") for rule in rules),
        )

    return make


def test_a_site_uses_columns_that_others_have_not(settings, tmp_path):
    found = own_samples(settings("crp", "ward"), terms(), seed=0)
    assert (found.train.further, found.train.common.features.shape[1]) == (4, 1)
    write_settings(tmp_path, settings("crp"))
    assert read_settings(tmp_path) == settings("crp")
    assert "columns" not in msgspec.to_builtins(settings())
    assert own_samples(settings(), terms(), seed=0).train.further == 0


@pytest.mark.parametrize(
    ("column", "problem"),
    [
        ("age", "everybody has"),
        ("ill", "everybody has"),
        ("height", "no such column"),
        ("patient_id", "is no feature"),
    ],
)
def test_what_is_no_own_column_is_refused(settings, column, problem):
    with pytest.raises(SecureFairError, match=problem):
        settings(column)


def test_a_kind_that_takes_none_refuses_them(settings):
    with pytest.raises(ConfigError, match="columns that others have not"):
        own_samples(settings("crp", algorithm="vpdl"), terms("vpdl"), seed=0)


def test_warnings_of_data_come_back_after_threads_that_wanted_none():
    """Two sites of one process began to hush them in turn, and ended in the same order."""
    log = logging.getLogger("securefair.data")
    before, (first, second) = log.level, (unquoted(), unquoted())
    for one in (first, second):
        one.__enter__()
        assert log.level == logging.ERROR
    first.__exit__(None, None, None)
    assert log.level == logging.ERROR
    second.__exit__(None, None, None)
    assert log.level == before
