"""What a site began with stays the same: its samples, and the model that answers."""

from dataclasses import replace
from hashlib import sha256

import numpy as np
import pytest

from securefair.data import ParticipantData, Samples
from securefair.errors import DataError
from securefair.sites.site.samples import PARTS_OF_SAMPLES, SAMPLES, check_same_samples
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
