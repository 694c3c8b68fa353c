"""Rules that cover proposals: what they are, what they leave out, and that rows stay apart."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from securefair.config import BinaryColumn, CategoricalColumn, NumericColumn
from securefair.data import ColumnProposal, Proposal, encode, infer_classes, infer_table, propose
from securefair.data.rows import parse_rows
from securefair.errors import ConfigError, DataError

NORTH = ["id,age,sex,pain,note,bp,same,ill\n"]
NORTH += [
    f"{n},{34 + n % 25},{'fm'[n % 2]},{'abc'[n % 3]},text {n},{120 + n}.5,1,{n % 2}\n"
    for n in range(30)
]
SOUTH = ["ill,id,sex,pain,note,bp,same,age\n", "0,1,m,d,x,NA,1,81\n", "2,2,f,a,y,90,1,\n"]


def summary(lines, label="ill", **settings):
    rows = parse_rows(lines, "t.csv")
    return propose(rows, label=label, at_least=1, missing=("", "NA"), **settings)


def inferred(**changes):
    return infer_table({"north": summary(NORTH, **changes), "south": summary(SOUTH, **changes)})


def test_every_kind_is_recognised_over_all_participants():
    found = inferred()
    assert found.spec.columns == (
        NumericColumn(name="age", low=30, high=90, optional=True),
        BinaryColumn(name="sex", no="f", yes="m"),
        CategoricalColumn(name="pain", levels=("a", "b", "c", "d")),
        NumericColumn(name="bp", low=90, high=150, optional=True),
    )
    assert found.spec.target.groups == (("0",), ("1",), ("2",))
    assert found.unused == {
        "id": "looks like an identifier",
        "note": "more than 20 different texts",
        "same": "always the same",
    }


@pytest.mark.parametrize(
    ("name", "values", "used"),
    [
        ("Patient", ("Smith", "Jones"), False),
        ("home_zip", ("10115", "10117"), False),
        ("postal code", ("1", "2"), False),
        ("admitted", ("2024-01-31", "2024-02-01"), False),
        ("admitted", ("2024-01-31 10:15", "2024-02-01T09:00:00"), False),
        ("seen", ("31.1.2024", "1.2.24"), False),
        ("in_patient", ("yes", "no"), True),
        ("ratio", ("1/2", "1/3"), True),
        ("range", ("10-20-x", "2024-02-01"), True),
    ],
)
def test_what_names_a_person_or_a_day_is_no_feature(name, values, used):
    lines = [f"{name},age,ill\n", *(f"{value},{at},{at % 2}\n" for at, value in enumerate(values))]
    lines += [f"{values[0]},7,0\n"]
    found = infer_table({"a": summary(lines)})
    assert (name in [column.name for column in found.spec.columns]) == used
    assert (name in found.unused) == (not used)


@pytest.mark.parametrize(
    ("cells", "why"),
    [
        (["Ann", "Bea", "Cem", "Dan", "Eve", "Fay", "Ann"], "texts that hardly repeat"),
        (["Smith, Ann", "Jones, Bea"] * 4, "names of persons"),
        ([str(40_000_000 + 1_237 * n) for n in range(50)], "whole numbers that hardly repeat"),
        ([str(1_237 * n) for n in range(50)], "whole numbers that never repeat"),
        ([str(n) for n in range(101, 121)], "whole numbers that never repeat"),
    ],
)
def test_values_that_identify_are_left_out_under_any_heading(cells, why):
    tables = {"a": cells, "b": [*cells[::-1]], "few": cells[:2]}
    lines = {
        name: ["note,age,ill\n", *(f'"{cell}",{n % 7},{n % 2}\n' for n, cell in enumerate(own))]
        for name, own in tables.items()
    }
    found = infer_table({name: summary(own) for name, own in lines.items()})
    assert [column.name for column in found.spec.columns] == ["age"]
    assert why in found.unused["note"]


def test_one_table_where_values_repeat_is_enough_to_take_a_column():
    apart = ["note,ill\n", *(f"{text},{n % 2}\n" for n, text in enumerate("abcdef"))]
    repeated = ["note,ill\n", *(f"{text},{n % 2}\n" for n, text in enumerate("abcabc"))]
    found = infer_table({"a": summary(apart), "b": summary(repeated)})
    assert [column.name for column in found.spec.columns] == ["note"]


def test_the_rules_read_every_table_they_came_from():
    spec = inferred().spec
    for lines in (NORTH, SOUTH):
        samples = encode(parse_rows(lines, "t.csv"), spec)
        assert abs(samples.features).max() <= 1


def test_given_classes_are_kept():
    assert inferred(classes=[["0"], ["1", "2"]]).spec.target.groups == (("0",), ("1", "2"))


def test_codes_of_fractions_are_read_however_they_are_spelt():
    lines = ["dose,ill\n", "0.50,1.50\n", ".5,2.5\n", "1.5,1.5\n"]
    spec = infer_table({"a": summary(lines)}).spec
    assert encode(parse_rows(lines, "t.csv"), spec).labels.tolist() == [0, 1, 0]


@given(
    st.floats(-1e12, 1e12),
    st.floats(1e-9, 1e12),
)
def test_ranges_are_wider_than_what_they_came_from_and_of_few_digits(low, span):
    high = low + span
    values = [low, (low + high) / 2, high]
    if len({repr(value) for value in values}) < 3:
        return
    lines = ["x,y\n", *(f"{value!r},{at % 2}\n" for at, value in enumerate(values))]
    (column,) = infer_table({"a": summary(lines, "y")}).spec.columns
    assert column.low <= low
    assert high <= column.high
    # Each side moves by less than one unit of the span's first digit.
    assert column.high - column.low <= 3 * (high - low) * (1 + 1e-6)


def test_columns_that_not_everyone_has_are_left_out_and_named():
    other = [NORTH[0].replace("age", "years"), *NORTH[1:]]
    found = infer_table({"north": summary(NORTH), "south": summary(other)})
    assert found.unused["age"] == "only in the table of north"
    assert found.unused["years"] == "only in the table of south"
    assert "age" not in [column.name for column in found.spec.columns]


def test_a_column_that_names_the_hospital_is_left_out():
    def table(site, ward):
        return summary(["site,ward,ill\n", *(f"{site},{ward},{n % 2}\n" for n in range(4))])

    everywhere = {"a": table("A", 1), "b": table("B", 1), "c": table("C", 2)}
    with pytest.raises(DataError, match=r"site: one value at each participant.*ward: one value"):
        infer_table(everywhere)
    varying = {"a": table("A", 1), "b": summary(["site,ward,ill\n", "B,1,0\n", "B,2,1\n"])}
    found = infer_table(varying)
    assert [column.name for column in found.spec.columns] == ["ward"]
    assert list(found.unused) == ["site"]


def test_one_value_beside_missing_ones_is_no_name_of_a_hospital():
    """Whether it was measured may tell something of a patient."""
    tables = {site: summary([f"x,ill\n{site},0\n,1\n"]) for site in ("a", "b")}
    assert [column.name for column in infer_table(tables).spec.columns] == ["x"]


def test_spellings_of_a_class_are_refused_or_joined():
    sites = {"a": summary(["x,ill\n", "1,Yes\n", "2,No\n"]), "b": summary(["x,ill\n", "1,YES\n"])}
    with pytest.raises(DataError, match=r"differ in their spelling only \(found 'YES and Yes'"):
        infer_table(sites)
    spec = infer_table(sites, joined=True).spec
    assert spec.target.groups == (("No",), ("YES",))
    assert encode(parse_rows(["x,ill\n", "1,yes\n", "2,NO\n"], "t"), spec).labels.tolist() == [1, 0]


def test_codes_of_missing_values_and_slips_set_no_range():
    ages = [str(20 + 2 * (n % 30)) for n in range(60)]
    lines = ["age,ill\n", *(f"{age},{n % 2}\n" for n, age in enumerate([*ages, "-999", "4000"]))]
    (column,) = infer_table({"a": summary(lines)}).spec.columns
    assert (column.low, column.high, column.missing, column.optional) == (20, 80, ("-999",), True)


@pytest.mark.parametrize(
    ("label", "words"),
    [
        ("illl", ("t.csv", "not a column", "'illl'")),
        ("note", ("column note", "more than 20", "2 to 20 classes")),
        ("same", ("column same", "found '1'")),
    ],
)
def test_a_label_that_cannot_be_one(label, words):
    with pytest.raises(DataError) as caught:
        infer_table({"north": summary(NORTH, label)})
    for word in words:
        assert word in str(caught.value)


def test_a_table_without_features_is_refused():
    lines = ["id,ill\n", "1,0\n", "2,1\n"]
    with pytest.raises(DataError, match=r"no column.*id: looks like an identifier"):
        infer_table({"a": summary(lines)})


def test_classes_alone_are_everyones_codes_by_size():
    lines = ["ill\n", "10\n", "9.0\n", "x\n"]
    summaries = {"a": summary(lines), "b": summary(["ill\n", "09\n"])}
    assert infer_classes(summaries) == (("9",), ("10",), ("x",))


@pytest.mark.parametrize(
    ("codes", "found"),
    [([str(n) for n in range(21)], "more than 20 different numbers"), (["1", "1.0"], "1")],
)
def test_classes_that_are_none_are_refused_before_they_reach_a_configuration(codes, found):
    lines = ["ill\n", *(f"{code}\n" for code in codes)]
    with pytest.raises(DataError, match=r"not a class|not name a few classes") as error:
        infer_classes({"a": summary(lines)})
    assert error.value.found == found


def two_sites(age, crp, ill, classes=()):
    """Proposals of two tables; for each column the values of both."""
    return {
        site: summary(
            ["age,crp,ill\n"]
            + [f"{age[at][n]},{crp[at][n]},{ill[at][n]}\n" for n in range(len(age[at]))],
            classes=classes,
        )
        for at, site in enumerate(("north", "south"))
    }


AGES = [[20 + n % 11 for n in range(30)]] * 2
CRP = [[n / 8 for n in range(30)]] * 2
ILL = [["no", "yes"] * 15] * 2


def test_classes_that_nobody_shares_are_refused():
    """Yes and no at one site, 1 and 0 at the other were four classes."""
    sites = two_sites(AGES, CRP, [ILL[0], [0, 1] * 15])
    with pytest.raises(DataError, match="no other participant has a class in common") as refused:
        infer_table(sites)
    assert refused.value.where == "participant north, column ill"
    with pytest.raises(DataError, match="no other participant"):
        infer_classes(sites)
    agreed = [["no", "0"], ["yes", "1"]]
    named = infer_table(two_sites(AGES, CRP, [ILL[0], [0, 1] * 15], agreed))
    assert named.spec.target.groups == (("no", "0"), ("yes", "1"))
    assert infer_classes(two_sites(AGES, CRP, [ILL[0], ["no"] * 30])) == (("no",), ("yes",))


def test_numbers_that_one_site_wrote_with_a_unit_are_told():
    percents = [CRP[0], [f"{one}%" for one in CRP[1]]]
    found = infer_table(two_sites(AGES, percents, ILL))
    assert found.unused == {"crp": 'numbers at north, but "0.0%" and other texts at south'}


def proposal(*columns, label="ill", classes=(), levels=("0", "1")):
    ill = ColumnProposal(name=label, levels=levels)
    return Proposal(label=label, classes=classes, columns=(*columns, ill))


def only(*parts):
    """The rule of one column that every participant says something of, or why there is none."""
    found = infer_table(
        {
            f"site {at}": proposal(part, ColumnProposal(name="age", low=20, high=90))
            for at, part in enumerate(parts)
        }
    )
    return found.unused.get("x") or found.spec.columns[0]


def said(**facts):
    return ColumnProposal(name="x", **facts)


def test_a_range_covers_everyones_and_no_other_number():
    column = only(said(low=30, high=70), said(low=10, high=60, optional=True))
    assert column == NumericColumn(name="x", low=10, high=70, optional=True)
    assert only(said(low=0, high=4), said(low=0, high=1, levels=("0", "1"))).high == 4


def test_levels_of_all_are_taken():
    column = only(said(levels=("a", "b")), said(levels=("b", "c"), missing=("-9",)))
    assert column == CategoricalColumn(name="x", levels=("a", "b", "c"), missing=("-9",))
    both = said(low=0, high=1, levels=("0", "1"))
    assert only(both, said(low=0, high=0, levels=("0",), rare=1)) == BinaryColumn(name="x")


def test_a_column_that_never_varies_at_one_site_is_a_feature():
    constant = said(low=50, high=60, levels=("54",))
    assert only(constant, said(low=30, high=70)) == NumericColumn(name="x", low=30, high=70)
    assert only(said(), said(levels=("a", "b"))) == BinaryColumn(name="x", no="a", yes="b")


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        ((said(), said()), "empty"),
        ((said(rare=3), said()), "no value is shared by enough patients"),
        ((said(levels=("a",), rare=2), said(levels=("a",))), "only one value is shared"),
        ((said(low=5, high=5, levels=("5", "<5", ">5")), said()), "always the same"),
        ((said(low=0, high=9), said(levels=("low", "high"))), 'numbers at site 0, but "low"'),
        ((said(levels=tuple("abc"), rare=18), said(levels=tuple("abc"))), "more than 20"),
        ((said(unused="looks like dates"), said(levels=("a", "b"))), "looks like dates"),
    ],
)
def test_why_a_column_is_no_feature(parts, why):
    assert why in only(*parts)


def test_participants_who_predict_something_else_have_no_common_rules():
    one = proposal(said(low=0, high=9))
    with pytest.raises(ConfigError, match="predict different columns"):
        infer_table({"a": one, "b": proposal(said(low=0, high=9), label="dead")})
    agreed = [proposal(said(), classes=c) for c in ((("0",), ("1",)), (("0",), ("1", "2")))]
    with pytest.raises(ConfigError, match=r"agreed on different classes.*0 \| 1, 2"):
        infer_table(dict(zip("ab", agreed, strict=True)))


def test_a_small_hospital_and_a_row_that_stands_twice_hide_no_numbers_of_records():
    def lines(numbers):
        return ["NB,age,ill\n", *(f"{one},{n % 7},{n % 2}\n" for n, one in enumerate(numbers))]

    large = summary(lines([*range(10_000, 10_100), 10_003]))
    small = summary(lines(range(70_000, 70_012)))
    found = infer_table({"large": large, "small": small})
    assert found.unused == {"NB": "whole numbers that hardly repeat, as identifiers do"}
    (told,) = [one for one in large.columns if one.name == "NB"]
    assert (told.low, told.levels) == (None, ())  # nor is their range told


def test_a_column_that_differs_by_an_accent_is_no_column_of_its_own():
    tables = {
        site: summary(
            [f"{name},sex,ill\n", *(f"{n},{'fm'[n % 2]},{n // 2 % 2}\n" for n in range(30, 70))]
        )
        for site, name in (("north", "Âge"), ("south", "AGE"))
    }
    found = infer_table(tables)
    assert found.further == {}
    assert found.unused["Âge"] == 'only in the table of north; others have "AGE"'
