"""What a site began with stays the same: its samples, and the model that answers."""

import numpy as np
import pytest

from securefair.data import ParticipantData, Samples
from securefair.errors import DataError
from securefair.sites.site.samples import check_same_samples
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
