import gzip
import sys
from pathlib import Path

import numpy as np
import pytest

from securefair.errors import DataError
from securefair_lab.data.tables import (
    load_adult,
    load_auction,
    load_coimbra,
    load_maternal,
    load_naticus,
    load_students,
)
from securefair_lab.data.tables.adult import ADULT_SPEC
from securefair_lab.data.tables.forests import (
    AUCTION_SPEC,
    COIMBRA_SPEC,
    MATERNAL_SPEC,
    STUDENTS_SPEC,
)

FORESTS = [
    (load_coimbra, COIMBRA_SPEC, "coimbra"),
    (load_maternal, MATERNAL_SPEC, "maternal"),
    (load_auction, AUCTION_SPEC, "auction"),
    (load_students, STUDENTS_SPEC, "students"),
]


def write_csv(path, columns):
    lines = [columns, *zip(*columns.values(), strict=True)]
    text = "\n".join(",".join(map(str, line)) for line in lines) + "\n"
    path.write_bytes(gzip.compress(text.encode()))


@pytest.fixture
def adult(tmp_path):
    """Four people; the second is of unknown work, the last has more than any range."""
    write_csv(
        tmp_path / "adult.csv.gz",
        {
            "split": ["train", "train", "test", "train"],
            "age": [17, 90, 53, 40],
            "workclass": ["Private", "?", "Local-gov", "Private"],
            "fnlwgt": [1, 2, 3, 4],
            "education": ["HS-grad"] * 4,
            "education-num": [9, 1, 16, 9],
            "marital-status": ["Divorced"] * 4,
            "occupation": ["Sales", "?", "Sales", "Sales"],
            "relationship": ["Wife"] * 4,
            "race": ["White"] * 4,
            "sex": ["Male", "Female", "Male", "Male"],
            "capital-gain": [0, 10000, 20000, 99999],
            "capital-loss": [0] * 4,
            "hours-per-week": [40] * 4,
            "native-country": ["Cuba"] * 4,
            "income": ["<=50K", "<=50K", ">50K", ">50K"],
        },
    )
    return tmp_path


def column(samples, name):
    return samples.features[:, ADULT_SPEC.features.index(name)].tolist()


def test_adult_by_hand(adult):
    data = load_adult(adult)
    train = data.train.samples()
    assert train.features.shape == (3, 90)
    assert column(train, "age") == [-1.0, 1.0, pytest.approx(2 * 23 / 73 - 1)]
    assert column(train, "workclass=Private") == [1, 0, 1]
    assert column(train, "workclass?") == [0, 1, 0]
    assert column(train, "sex") == [1, -1, 1]
    assert column(train, "capital-gain") == [-1, 0, 1]
    assert train.labels.tolist() == [0, 0, 1]
    assert data.test.samples().labels.tolist() == [1]


def test_adult_merged_has_both_parts(adult):
    data = load_adult(adult, merged=True)
    assert data.test is None
    assert data.train.labels.tolist() == [0, 0, 1, 1]


def test_adult_is_read_once(adult, tmp_path, monkeypatch):
    cache = tmp_path / "cache"
    first = load_adult(adult, cache=cache).train.samples()
    # the package's attributes hide its modules
    module = sys.modules["securefair_lab.data.tables.adult"]

    def refuse(*_):
        raise AssertionError("read again")

    monkeypatch.setattr(module, "read_rows", refuse)
    again = load_adult(adult, cache=cache).train.samples()
    assert (again.features == first.features).all()
    assert (again.labels == first.labels).all()


def test_adult_needs_a_known_split(adult):
    text = gzip.decompress((adult / "adult.csv.gz").read_bytes()).replace(b"test", b"exam")
    (adult / "adult.csv.gz").write_bytes(gzip.compress(text))
    with pytest.raises(DataError, match=r"column split: unknown code \(found 'exam'"):
        load_adult(adult)


@pytest.mark.parametrize(("load", "spec", "name"), FORESTS)
def test_tables_of_numbers_keep_their_order_of_values(load, spec, name, tmp_path):
    rng = np.random.default_rng(0)
    values = {c.name: rng.uniform(c.low, c.high, 12) for c in spec.columns}
    codes = [code for group in spec.target.groups for code in group]
    labels = [codes[i % len(codes)] for i in range(12)]
    write_csv(tmp_path / f"{name}.csv.gz", values | {spec.target.name: labels})
    data = load(tmp_path)
    assert data.name == name
    assert data.test is None
    samples = data.train.samples()
    assert samples.labels.tolist() == [i % len(codes) for i in range(12)]
    assert np.abs(samples.features).max() < 1
    for x, written in zip(samples.features.T, values.values(), strict=True):
        assert (np.argsort(x) == np.argsort(written)).all()


@pytest.mark.parametrize(("load", "spec", "name"), FORESTS)
def test_missing_and_damaged_tables_are_named(load, spec, name, tmp_path):
    with pytest.raises(DataError, match=f"Put {name}.csv.gz there"):
        load(tmp_path)
    path = tmp_path / f"{name}.csv.gz"
    for content in (b"no gzip", gzip.compress(b"a,b\n" * 99)[:-9], gzip.compress(b"\x81")):
        path.write_bytes(content)
        with pytest.raises(
            DataError, match=f"{name}.csv.gz: (cannot read the table|the table is in no encoding)"
        ):
            load(tmp_path)


def test_naticus_has_permissions_as_zero_and_one(tmp_path):
    bits = np.random.default_rng(0).integers(0, 2, size=(6, 5), dtype=np.int8)
    np.savez(tmp_path / "naticus.npz", X=bits, y=np.array([1, 0, 1, 0, 1, 0], dtype=np.int8))
    samples = load_naticus(tmp_path).train.samples()
    assert samples.features.dtype == np.float64
    assert (samples.features == bits).all()
    assert samples.labels.tolist() == [1, 0, 1, 0, 1, 0]


def test_the_real_tables_have_their_published_counts(real_data: Path):
    for load, counts in (
        (load_coimbra, [52, 64]),
        (load_maternal, [406, 336, 272]),
        (load_auction, [1781, 262]),
        (load_students, [1420, 794, 2209]),
        (load_naticus, [10270, 10261]),
    ):
        pool = load(real_data).train
        assert np.bincount(pool.labels).tolist() == counts
        # nothing is clipped together: a forest sees every difference
        features = pool.samples().features
        assert ((np.abs(features) < 1) | (features == np.round(features))).all()
