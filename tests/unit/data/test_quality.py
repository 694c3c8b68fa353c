"""Findings in tables: each is made by a table that has it, and by none that has not."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

from securefair.config.defaults import MISSING
from securefair.data import quality
from securefair.data.between import findings_between, site_columns
from securefair.data.findings import Finding, by_weight, of_weight
from securefair.data.quality import site_findings
from securefair.data.rows import parse_rows
from securefair.data.shape import shapes_of


def table(columns):
    names = list(columns)
    lines = [
        ",".join(names),
        *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True)),
    ]
    return parse_rows([f"{line}\n" for line in lines], "t.csv")


def clean(seed=0, n=80, **others):
    rng = np.random.default_rng(seed)
    return {
        "age": rng.integers(20, 80, n),
        "chol": np.round(rng.normal(200, 30, n), 1),
        "sex": rng.choice(["f", "m"], n),
        "ward": rng.choice(["A", "B", "C"], n),
        "ill": rng.choice(["no", "yes"], n),
    } | others


def found(columns, label="ill"):
    made = table(columns)
    return list(site_findings("north", made, shapes_of(made, MISSING), label=label))


def changed(name, values):
    columns = clean()
    cells = list(map(str, columns[name]))
    for at, value in values.items():
        cells[at] = value
    return clean(**{name: cells})


def test_an_ordinary_table_has_nothing_to_look_at():
    assert found(clean()) == []


@pytest.mark.parametrize(
    ("columns", "kind", "column", "line"),
    [
        (changed("age", {5: "-999", 9: "-999"}), "sentinel", "age", 7),
        (changed("chol", {3: "9999"}), "sentinel", "chol", 5),
        (changed("chol", {3: "21000.5"}), "outlier", "chol", 5),
        (changed("chol", {4: "<5"}), "censored", "chol", 6),
        (changed("chol", {6: "haemolytic"}), "not_a_number", "chol", 8),
        (changed("age", {4: "-1", 9: "-1"}), "sentinel", "age", 6),
        (changed("chol", {3: "0"}), "sentinel", "chol", 5),
        (changed("chol", {6: "inf"}), "not_a_number", "chol", 8),
        (changed("ward", {6: "unbekannt"}), "missing_word", "ward", 8),
        (clean(seen=[f"2023{1 + n % 12:02}05" for n in range(80)]), "date", "seen", None),
        (clean(seen=[f"2023-{1 + n % 12:02}" for n in range(80)]), "date", "seen", None),
        (clean(seen=[f"{1 + n % 12:02}.2020" for n in range(80)]), "date", "seen", None),
        (clean(seen=[f"{1 + n % 28}. Jan. 2020" for n in range(80)]), "date", "seen", None),
        (clean(sex=["f"] * 80), "constant_column", "sex", None),
        (clean(patient_id=range(80)), "identifier", "patient_id", None),
        (clean(seen=[f"2024-01-{1 + n % 28:02}" for n in range(80)]), "date", "seen", None),
        (clean(ill=["no"] * 75 + ["yes"] * 5), "few_of_a_class", "ill", None),
    ],
)
def test_one_finding_of_its_kind(columns, kind, column, line):
    (one,) = found(columns)
    assert (one.site, one.column, one.line, one.kind) == ("north", column, line, kind)
    assert one.message
    assert one.remedy
    assert all(f'"{value}"' in one.message for value in one.values)
    assert bool(one.values) == ('"' in one.message and column != "ill")


@pytest.mark.parametrize(
    "values",
    [
        [n % 6 for n in range(80)],  # a score
        [n % 2 for n in range(80)],
        [5 * (n % 12) for n in range(80)],
        [n / 10 for n in range(80)],
        [n % 12 - 1 for n in range(79)] + [-2],  # a change
        [round(np.sin(n) * 4, 1) for n in range(80)],  # a base excess
    ],
)
def test_0_and_minus_1_among_values_like_them_are_values(values):
    assert [one.kind for one in found(clean(value=values)) if one.kind == "sentinel"] == []


@pytest.mark.parametrize(
    ("name", "of", "said"),
    [
        ("patient_id", 3, (53, 3, "grave")),
        ("Fallnummer", 1.05, (4, 3, "warning")),
        ("patient_id", 40, None),  # two patients: a ward
        ("visit_id", 3, None),
        ("zip", 3, None),
    ],
)
def test_several_rows_of_a_patient(name, of, said):
    columns = clean(**{name: [int(at / of) for at in range(80)]})
    told = [one for one in found(columns) if one.kind == "several_rows"]
    assert bool(told) == (said is not None)
    for one in told:
        assert one.column == name
        assert (int(re.search(r"\d+", one.message)[0]), one.line, one.severity) == said


def test_rows_without_a_patient_are_nobody_s_second_row():
    columns = clean(mrn=[at if at % 2 else "" for at in range(80)])
    assert [one.kind for one in found(columns)] == ["identifier"]


def test_a_column_that_gives_the_outcome_away():
    ill = clean()["ill"]
    (one,) = found(clean(therapy=[f"{'drug' if x == 'yes' else 'none'}" for x in ill]))
    assert (one.column, one.kind) == ("therapy", "leakage")
    score = [(30.0 if x == "yes" else 10.0) + n / 100 for n, x in enumerate(ill)]
    (one,) = found(clean(score=score))
    assert (one.column, one.kind) == ("score", "leakage")


@pytest.mark.parametrize(("n", "share"), [(60, 0.4), (80, 0.15), (1000, 0.02), (30_000, 0.02)])
def test_a_number_that_gives_a_rarer_outcome_away(n, share):
    ill = np.random.default_rng(0).permutation(n) < share * n
    score = np.random.default_rng(1).uniform(0, 10, n) + 20 * ill
    columns = clean(n=n, ill=np.where(ill, "yes", "no"))
    said = found(columns | {"score": score})
    assert [one.column for one in said if one.kind == "leakage"] == ["score"]


def test_missing_numbers_in_a_sorted_table_give_nothing_away():
    values = [*np.random.default_rng(0).uniform(0, 10, 30), *[""] * 50]
    mixed = [values[at] for at in np.random.default_rng(1).permutation(80)]
    columns = clean(score=mixed, ill=["no"] * 40 + ["yes"] * 40)
    assert "leakage" not in [one.kind for one in found(columns)]


def test_rows_that_repeat_but_for_identifiers():
    columns = {name: [*map(str, cells), str(cells[7])] for name, cells in clean().items()}
    (one,) = [one for one in found(columns | {"id": range(81)}) if one.column != "id"]
    assert (one.kind, one.line) == ("duplicate_rows", 82)


def between(north, south, **options):
    tables = {"north": table(north), "south": table(south)}
    sites = {name: site_columns(one, shapes_of(one, MISSING)) for name, one in tables.items()}
    return list(findings_between(sites, label="ill", **options))


def test_hospitals_that_code_alike_have_nothing_to_look_at():
    assert between(clean(0), clean(1)) == []


@pytest.mark.parametrize(
    ("south", "kind", "column", "severity"),
    [
        (clean(1, chol=np.random.default_rng(1).normal(5.2, 0.8, 80)), "units", "chol", "refusal"),
        (clean(1, sex=["F", "M"] * 40), "spelling", "sex", "warning"),
        (clean(1, ill=["NO", "YES"] * 40), "spelling", "ill", "refusal"),
        (clean(1, ward=["A", "B", "C", "D"] * 20), "level_of_one_site", "ward", "warning"),
        (
            clean(1, ill=["no", "yes", "so"] * 26 + ["no"] * 2),
            "class_of_one_site",
            "ill",
            "grave",
        ),
        (clean(1, ward=["A", "B", "C"] * 13 + [""] * 41), "mostly_missing", "ward", "warning"),
        (clean(1, extra=range(80)), "column_of_some_sites", "extra", "warning"),
        (clean(1, ill=["yes"] * 75 + ["no"] * 5), "prevalence", "ill", "warning"),
    ],
)
def test_what_differs_is_named(south, kind, column, severity):
    said = between(clean(0), south)
    assert {(one.kind, one.column, one.severity) for one in said} == {(kind, column, severity)}


def test_what_is_missing_at_both_hospitals_is_no_slip_of_one():
    both = [clean(at, ward=["A", "B", "C"] * 13 + [""] * 41) for at in (0, 1)]
    assert between(*both) == []


def test_another_unit_is_told_with_its_direction():
    mmol = clean(1, chol=np.round(np.random.default_rng(1).normal(5.2, 0.8, 80), 2))
    sites = {}
    for name, columns in (("north", clean()), ("south", mmol)):
        made = table(columns)
        sites[name] = site_columns(made, shapes_of(made, MISSING))
    (one,) = [one for one in findings_between(sites, label="ill") if one.kind == "units"]
    assert (one.site, one.column, one.severity) == ("south", "chol", "refusal")
    assert "as if one were in another unit (such as" in one.message
    assert "mmol/l of cholesterol and mg/dl" in one.message
    meant = findings_between(sites, label="ill", same_unit=("chol",))
    assert [one for one in meant if one.kind == "units"] == []


def test_a_ratio_without_a_known_conversion_is_told_with_its_direction():
    """As wide as before, so nobody multiplied: patients may differ."""
    sites = {}
    for name, chol in (("north", 15.0), ("south", 5.0)):
        values = np.random.default_rng(1).normal(chol, 0.4, 80)
        made = table(clean(chol=values))
        sites[name] = site_columns(made, shapes_of(made, MISSING))
    (one,) = [one for one in findings_between(sites, label="ill") if one.kind == "units"]
    assert (one.site, one.severity) == ("north", "grave")
    assert "times higher than at south: the unit may differ" in one.message


def test_spellings_that_are_joined_are_one_level():
    assert between(clean(0), clean(1, ill=["NO", "YES"] * 40), joined=True) == []


def test_numbers_that_no_two_hospitals_share_tell_whose_patient_it_is():
    files = [[100_000 + 7 * n % 50 for n in range(80)], [200_000 + 7 * n % 50 for n in range(80)]]
    (one,) = between(clean(0, case=files[0]), clean(1, case=files[1]))
    assert (one.kind, one.column, one.severity) == ("tells_sites", "case", "grave")


def test_half_the_values_beside_each_other_are_told_whatever_their_ratio():
    bmi = np.random.default_rng(2).normal(26, 2, 80).round(1)
    (one,) = between(clean(0, bmi=bmi), clean(1, bmi=(bmi * 1.6).round(1)))
    assert (one.kind, one.column, one.severity) == ("units", "bmi", "warning")
    assert "or the patients, may differ" in one.message


def test_many_levels_of_one_hospital_are_one_finding():
    north = clean(0, doctor=[f"{'ABC'[n % 3]}nna" for n in range(80)])
    south = clean(1, doctor=[f"{'DEF'[n % 3]}mil" for n in range(80)])
    said = between(north, south)
    assert [one.site for one in said] == ["north", "south"]
    assert all("names, or codes of its own, tell whose patient" in one.message for one in said)
    assert {one.severity for one in said} == {"grave"}


def test_a_grade_of_the_ill_alone_gives_the_outcome_away_by_missing():
    ill = ["yes" if n % 3 else "no" for n in range(60)]
    grade = [1 + n % 9 if one == "yes" else "" for n, one in enumerate(ill)]
    (one,) = found(clean(n=60, ill=ill, grade=grade))
    assert (one.column, one.kind, one.severity) == ("grade", "leakage", "grave")
    assert "by whether it is filled in" in one.message


def test_a_minus_beside_plus_is_asked_about():
    said = found(clean(marker=["-", "+"] * 40))
    assert ("sign_as_missing", "grave", 2) in [(one.kind, one.severity, one.line) for one in said]


def test_findings_come_by_weight():
    made = [
        Finding(site="a", column=None, line=None, kind=one, message="", remedy="", severity=one)
        for one in ("note", "warning", "grave", "refusal", "grave")
    ]
    assert [one.severity for one in by_weight(made)] == [
        "refusal", "grave", "grave", "warning", "note",
    ]  # fmt: skip
    assert [one.kind for one in of_weight(made)] == ["refusal", "grave", "grave"]


def test_a_number_of_few_values_that_gives_the_outcome_away():
    ill = ["yes" if n % 3 else "no" for n in range(60)]
    score = [50 + n % 9 if one == "yes" else 10 + n % 9 for n, one in enumerate(ill)]
    (one,) = found(clean(n=60, ill=ill, score=score))
    assert (one.column, one.kind) == ("score", "leakage")


def test_minus_1_in_what_is_never_negative_and_a_slip_that_repeats():
    kinds = [one.kind for one in found(changed("chol", {3: "-1", 9: "-1"}))]
    assert kinds == ["sentinel"]
    kinds = [one.kind for one in found(changed("chol", {3: "1e9", 9: "1e9", 12: "1e9"}))]
    assert kinds == ["outlier"]


def test_a_code_beside_measurements_is_told_where_it_stands_far_more_often():
    ages = np.random.default_rng(0).integers(30, 97, 90)
    piled = np.where(np.arange(90) % 6 == 0, 99, ages)
    kinds = {one.kind for one in found(clean(n=90) | {"age": piled})}
    assert "piled" in kinds
    assert "piled" not in {one.kind for one in found(clean(n=90) | {"age": ages})}


def test_a_single_sign_is_told():
    ages = np.random.default_rng(0).integers(30, 97, 80)
    (one,) = [
        each for each in found(clean() | {"age": [-61, *ages[1:]]}) if each.kind == "negative"
    ]
    assert (one.column, one.line) == ("age", 2)
    both = np.random.default_rng(0).normal(0, 1, 80).round(2)
    assert "negative" not in {each.kind for each in found(clean() | {"age": both})}


def test_a_word_of_a_program_that_means_nothing_may_be_a_missing_value():
    words = np.where(np.arange(80) % 3 == 0, "None", "A")
    assert "missing_word" in {one.kind for one in found(clean() | {"ward": words})}
    small = np.where(np.arange(80) % 3 == 0, "none", "A")
    assert "missing_word" not in {one.kind for one in found(clean() | {"ward": small})}


def test_seconds_since_1970_are_dates():
    times = 1_700_000_000 + 3600 * np.arange(80)
    assert "date" in {one.kind for one in found(clean() | {"chol": times})}


def test_a_code_at_the_end_of_what_is_rare_there_is_told():
    """99 stands not twice as often as an age of 55, and more often than all above 80."""
    rng = np.random.default_rng(3)
    ages = np.r_[np.clip(np.round(rng.normal(55, 12, 72)), 20, 90), np.full(8, 99)].astype(int)
    told = [one for one in found(clean(age=ages)) if one.column == "age"]
    assert [one.kind for one in told] == ["piled"]
    common = np.r_[np.round(rng.normal(93, 3, 72)).clip(80, 98), np.full(8, 99)].astype(int)
    assert found(clean(age=common)) == []  # a saturation, of which many are near 99


@pytest.mark.parametrize(
    ("values", "told"),
    [
        (lambda g: np.r_[g.normal(172, 9, 60), g.normal(1.72, 0.09, 20)].round(2), True),
        (lambda g: np.r_[g.normal(100, 12, 60), g.normal(5.5, 0.8, 20)].round(1), True),
        (lambda g: g.lognormal(1, 1.5, 80).round(2), False),
        (lambda g: np.r_[g.normal(172, 9, 79), 1.72].round(2), False),  # an outlier
    ],
)
def test_two_units_in_one_column_are_told(values, told):
    kinds = {one.kind for one in found(clean(chol=values(np.random.default_rng(5))))}
    assert ("two_units" in kinds) == told


def test_one_row_and_one_patient_are_not_many():
    columns = clean()
    columns = {name: np.r_[one, one[:1]] for name, one in columns.items()}
    (told,) = found(columns)
    assert told.message.startswith("1 row repeats an earlier row")
    rare = np.array(["no"] * 79 + ["yes"])
    assert any('only 1 patient is of class "yes"' in one.message for one in found(clean(ill=rare)))


def test_two_numbers_in_a_cell_are_told():
    pressures = [f"{120 + n}/{70 + n}" for n in range(80)]
    told = [one for one in found(clean(chol=pressures)) if one.column == "chol"]
    assert [one.kind for one in told] == ["two_numbers_in_cell"]


@pytest.mark.parametrize(("slip", "told"), [("180", ["stay"]), ("24", [])])
def test_a_slip_in_a_number_to_predict_is_told_though_days_repeat(slip, told):
    stay = [str(3 + n % 7) for n in range(79)]
    made = table(clean(stay=[*stay, slip]))
    own = site_findings("north", made, shapes_of(made, MISSING), label=None, known=["stay"])
    assert [one.column for one in own if one.kind == "outlier"] == told


@pytest.mark.parametrize(("first", "severity"), [("Total", "grave"), ("checked", "warning")])
def test_a_line_of_totals_is_no_patient(first, severity):
    columns = {name: [*cells, ""] for name, cells in clean(stay=range(80)).items()}
    (told,) = found(columns | {"ward": [*columns["ward"][:-1], first]}, label="stay")[:1]
    assert (told.kind, told.line, told.severity) == ("nearly_empty_row", 82, severity)
    assert "5 of 6 cells are empty" in told.message


def test_words_of_totals_are_looked_for_in_nearly_empty_rows_alone(monkeypatch):
    """In a long table a pattern over every different text takes seconds."""
    looked = []
    pattern = SimpleNamespace(fullmatch=looked.append)
    monkeypatch.setattr(quality, "_TOTAL", pattern)
    assert found(clean()) == []
    columns = {name: [*cells, ""] for name, cells in clean(stay=range(80)).items()}
    found(columns | {"ward": [*columns["ward"][:-1], "Sum"]})
    assert sorted(set(looked)) == ["", "Sum"]


def test_columns_that_few_patients_have_are_no_totals():
    sparse = {f"extra{at}": ["", *[str(n % 5) for n in range(79)]] for at in range(2)}
    assert "nearly_empty_row" not in {one.kind for one in found(clean(**sparse))}


@pytest.mark.parametrize("apart", [" ", "\xa0", "\u202f"])
def test_money_as_a_spreadsheet_writes_it_has_a_remedy(apart):
    cost = [f'"{n % 9 + 1}{apart}{100 + n},75{apart}EUR"' for n in range(80)]
    (told,) = [one for one in found(clean(cost=cost)) if one.column == "cost"]
    assert told.kind == "unit_in_cell"
    assert "nothing between thousands" in told.remedy


def test_classes_of_few_patients_are_told_in_one_line():
    (told,) = found(clean(ill=["a"] * 70 + ["b"] * 7 + ["c"] * 3))
    assert told.message == 'only 7 patients are of class "b", 3 of "c"'
