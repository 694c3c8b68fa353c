"""Columns of two codes that are coded the other way round at one hospital, and honest ones."""

import numpy as np
import pytest

from securefair.data.heart import heart_rows
from securefair.data.rows import parse_rows
from securefair.data.shape import shapes_of
from securefair.data.swapped import swapped_codes


def table(seed, *, turned=(), share=0.1, sex=0.0, patients=80, codes=("0", "1")):
    """Diabetes of few patients, and a sex that tells as much of the outcome as `sex` says."""
    rng = np.random.default_rng(seed)
    lines = ["age,diabetes,sex,ill\n"]
    for _ in range(patients):
        age, man, sugar = rng.normal(60, 10), rng.random() < 0.5, rng.random() < share
        ill = rng.normal((age - 60) / 10 + sex * (man - 0.5), 1) > 0
        said = codes[int(sugar != ("diabetes" in turned))]
        lines.append(
            f"{age:.0f},{said},{'m' if man != ('sex' in turned) else 'f'},{'yn'[int(ill)]}\n"
        )
    read = parse_rows(lines, "made up")
    return read, shapes_of(read, ("",))


def found(label="ill", known=(), **tables):
    return list(swapped_codes(tables, label, joined=False, known=known))


def test_a_share_that_is_mirrored_at_one_hospital_is_told():
    (one,) = found(a=table(1), b=table(2, turned=["diabetes"]), c=table(3))
    assert (one.site, one.column, one.severity) == ("b", "diabetes", "grave")
    assert 'at b 92% of the patients have "1", and at a, c 2 to 8%' in one.message
    assert "may be swapped" in one.message
    assert "Ask what each code means" in one.remedy


def test_one_code_at_each_hospital_is_a_name_of_the_hospital():
    assert found(a=table(1, share=0.0), b=table(2, share=0.0, turned=["diabetes"])) == []


def test_words_and_two_hospitals_are_told_as_well():
    words = {"codes": ("no", "yes")}
    (one,) = found(a=table(1, **words), b=table(2, turned=["diabetes"], **words))
    assert (one.site, '"yes"' in one.message) == ("everyone", True)


def test_a_column_of_half_the_patients_is_told_by_what_it_says_of_the_outcome():
    (one,) = found(a=table(1, sex=2.0), b=table(2, sex=2.0, turned=["sex"]), c=table(3, sex=2.0))
    assert (one.site, one.column) == ("b", "sex")
    assert "with the other class of ill at " in one.message


@pytest.mark.parametrize("seed", range(60))
def test_hospitals_that_mean_the_same_are_not(seed):
    many = {name: table(10 * seed + at, sex=1.0) for at, name in enumerate("abc")}
    assert found(**many) == []
    few = {name: table(10 * seed + at, share=0.4, patients=25) for at, name in enumerate("abc")}
    assert found(**few) == []


def test_other_patients_are_not_other_codes():
    """Shares may be mirrored where the column clearly says the same of the outcome."""

    def hospital(seed, share):
        rng = np.random.default_rng(seed)
        lines = ["smoker,ill\n"]
        for _ in range(200):
            smoker = rng.random() < share
            lines.append(f"{int(smoker)},{int(rng.normal(2 * smoker, 1) > 1)}\n")
        read = parse_rows(lines, "made up")
        return read, shapes_of(read, ("",))

    assert found(a=hospital(1, 0.2), b=hospital(2, 0.8)) == []


def test_shares_that_are_no_mirror_few_patients_and_three_codes_tell_nothing():
    assert found(a=table(1, share=0.0), b=table(2, share=0.68)) == []
    assert found(a=table(1, patients=15), b=table(2, patients=15, turned=["diabetes"])) == []
    assert found(a=table(1), b=table(2, turned=["diabetes"], codes=("1", "2"))) == []


def test_the_four_hospitals_of_the_heart_data_code_alike():
    sites = {}
    for row in heart_rows():
        fields = {**row.fields, "num": str(int(row.fields["num"] != "0"))}
        sites.setdefault(fields.pop("hospital"), []).append(fields)

    def tables(turned, column):
        result = {}
        for site, rows in sites.items():
            lines = [",".join(rows[0]) + "\n"]
            for fields in rows:
                own = dict(fields)
                if site == turned and own[column] in ("0", "1"):
                    own[column] = str(1 - int(own[column]))
                lines.append(",".join(own.values()) + "\n")
            read = parse_rows(lines, site)
            result[site] = read, shapes_of(read, ("", "?"))
        return result

    assert list(swapped_codes(tables("", "sex"), "num", joined=False)) == []
    for site in ("Cleveland", "Hungary"):
        for column in ("fbs", "exang"):
            (one,) = swapped_codes(tables(site, column), "num", joined=False)
            assert one.column == column


@pytest.mark.parametrize("seed", range(20))
def test_events_that_are_coded_the_other_way_round_are_told(seed):
    def hospital(number, turned):
        rng = np.random.default_rng(number)
        lines = ["age,months,died\n"]
        for _ in range(160):
            time, end = rng.exponential(30), rng.uniform(6, 60)
            died = (time <= end) != turned
            lines.append(f"{rng.normal(60, 9):.0f},{min(time, end):.1f},{int(died)}\n")
        read = parse_rows(lines, "made up")
        return read, shapes_of(read, ("",))

    known = {"label": "months", "known": ("months", "died")}
    assert found(a=hospital(seed, False), b=hospital(100 + seed, False), **known) == []
    told = found(a=hospital(seed, False), b=hospital(100 + seed, True), **known)
    assert [one.column for one in told] == ["died"]


def test_a_column_that_says_the_opposite_of_a_measurement_is_told():
    def heights(seed, turned=False):
        rng = np.random.default_rng(seed)
        lines = ["height,sex,ill\n"]
        for _ in range(60):
            man = rng.random() < 0.5
            tall = rng.normal(178 if man else 165, 6)
            lines.append(f"{tall:.0f},{'12'[int(man != turned)]},{rng.choice(['y', 'n'])}\n")
        read = parse_rows(lines, "made up")
        return read, shapes_of(read, ("",))

    (one,) = found(a=heights(1), b=heights(2, turned=True), c=heights(3))
    assert (one.site, one.column) == ("b", "sex")
    assert '"2" goes with higher height at a, c, and with lower height at b' in one.message
    assert found(a=heights(1), b=heights(2), c=heights(3)) == []
