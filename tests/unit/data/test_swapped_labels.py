"""Classes that are swapped at one hospital, and hospitals that only differ."""

import numpy as np
import pytest

from securefair.data.rows import parse_rows
from securefair.data.shape import shapes_of
from securefair.data.swapped import swapped_codes


def table(name, seed, *, swapped=False, patients=80, effect=1.0):
    rng = np.random.default_rng(seed)
    lines = ["age,crea,smoker,bmi,ill\n"]
    for _ in range(patients):
        age, crea, smoker = rng.normal(60, 10), rng.normal(1, 0.3), rng.random() < 0.3
        risk = effect * ((age - 60) / 10 + (crea - 1) / 0.3 + smoker)
        ill = rng.normal(risk, 1) > 0.3
        word = "yes" if ill != swapped else "no"
        lines.append(
            f"{age:.0f},{crea:.2f},{'j' if smoker else 'n'},{rng.normal(27, 4):.1f},{word}\n"
        )
    read = parse_rows(lines, name)
    return read, shapes_of(read, ("",))


def found(**tables):
    return list(swapped_codes(tables, "ill", joined=False))


def test_classes_that_are_swapped_at_one_hospital_are_told():
    (one,) = found(a=table("a", 1), b=table("b", 2, swapped=True))
    assert one.severity == "grave"
    assert "age, crea" in one.message
    assert "swapped" in one.message


@pytest.mark.parametrize("seed", range(40))
def test_hospitals_that_mean_the_same_are_not(seed):
    assert found(a=table("a", seed), b=table("b", 100 + seed), c=table("c", 200 + seed)) == []


def test_few_patients_and_no_effect_tell_nothing():
    assert found(a=table("a", 1, patients=12), b=table("b", 2, patients=12, swapped=True)) == []
    assert found(a=table("a", 1, effect=0.0), b=table("b", 2, effect=0.0, swapped=True)) == []


def test_codes_of_two_languages_are_not_taken_for_each_other():
    """By the order of its own codes, "m" stood first at one hospital and last at the other."""

    def hospital(seed, man, woman, yes, no):
        rng = np.random.default_rng(seed)
        lines = ["sex,smoker,ill\n"]
        for _ in range(200):
            is_man, smokes = rng.random() < 0.5, rng.random() < 0.5
            ill = rng.normal(2 * is_man + 2 * smokes, 1) > 2
            sex, smoker = man if is_man else woman, yes if smokes else no
            lines.append(f"{sex},{smoker},{'y' if ill else 'n'}\n")
        read = parse_rows(lines, "made up")
        return read, shapes_of(read, ("",))

    assert found(a=hospital(1, "m", "w", "ja", "nein"), b=hospital(2, "m", "f", "yes", "no")) == []
