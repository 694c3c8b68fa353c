"""What a site began with stays the same: its samples, and the model that answers."""

import msgspec
import numpy as np
import pytest

from securefair.data import ParticipantData, Samples
from securefair.errors import ConfigError, DataError, SecureFairError
from securefair.sites.couriers.interface import CourierSettings
from securefair.sites.project.terms import checked_terms
from securefair.sites.site.folder import SiteSettings, read_settings, write_settings
from securefair.sites.site.samples import check_same_samples, own_columns, own_samples
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
