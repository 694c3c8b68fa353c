"""Tables whose patients have several rows: whose each row is, and where all rows of one go."""

import numpy as np
import pytest

import securefair as sf
from securefair.config import check_settings, load_config, parse_config
from securefair.data.groups import patients_of
from securefair.data.rows import parse_rows
from securefair.errors import ConfigError, DataError
from securefair.user.participants import load_participants
from securefair.user.tables import ReadTables, resolve
from securefair.user.template import new_project
from support.commands import invoke as invoke

VISITS = 3


def lines(seed, patients=40, name="case_id"):
    """Visits of patients: what tells the outcome is who came."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(patients), VISITS)
    ill = rng.integers(0, 2, patients)[who]
    marker = rng.normal(size=patients)[who] + 0.01 * rng.normal(size=len(who))
    order = rng.permutation(len(who))
    rows = [f"P{who[i]},{20 + who[i]},{marker[i]:.4f},{ill[i]}" for i in order]
    return "\n".join([f"{name},age,marker,ill", *rows]) + "\n"


@pytest.fixture
def tables(tmp_path):
    for seed, name in enumerate(("north", "south")):
        (tmp_path / f"{name}.csv").write_text(lines(seed))
    return [tmp_path / "north.csv", tmp_path / "south.csv"]


def whose(path, rows):
    """Names of the patients of some rows of a table."""
    everyone = [line.split(",")[0] for line in path.read_text().splitlines()[1:]]
    return {everyone[row] for row in rows}


def test_a_new_project_names_the_patients_and_none_is_in_both_parts(tables, tmp_path):
    made = new_project(tmp_path / "made", tables=tables, label="ill")
    assert made.patients == "case_id"
    assert "case_id" not in made.unused
    assert [one.kind for one in made.findings if one.column == "case_id"] == []
    config = load_config(tmp_path / "made/config.toml")
    assert config.table.patient_column == "case_id"
    assert {one.name for one in config.table.columns} == {"age", "marker"}
    for one, path in zip(load_participants(config, 0, ReadTables()), tables, strict=True):
        train, test = np.split(one.rows, [len(one.train)])
        assert whose(path, train).isdisjoint(whose(path, test))
        assert one.test.people == len(one.test) / VISITS


def test_a_command_says_so(tables, invoke):
    told = invoke("new", "said", "--label", "ill", *(f"--data={table}" for table in tables))
    assert "Column case_id names patients" in told.output


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("person", "south has no such column: give it one of this name"),
        ("", "south has no such column: give it one of this name"),
        ("case_id ", "names nobody: say whose it is, or delete it"),
    ],
)
def test_a_column_that_one_hospital_lacks_names_nobody(tables, tmp_path, name, why):
    tables[1].write_text(lines(1, name=name.strip() or "visit"))
    if name.strip() == "case_id":  # there, and empty once
        tables[1].write_text(lines(1).replace("P7,", ",", 1))
    made = new_project(tmp_path / "made", tables=tables, label="ill")
    assert made.patients == ""
    (told,) = [one for one in made.findings if one.column == "case_id"][:1]
    assert told.kind == "several_rows"
    assert why in told.remedy  # first, since the key alone would be refused
    assert "as patient_column in [table] then" in told.remedy


@pytest.mark.parametrize("key", ["ill", "age"])
def test_patients_are_neither_the_label_nor_a_feature(tables, tmp_path, key):
    new_project(tmp_path / "made", tables=tables, label="ill")
    text = (tmp_path / "made/config.toml").read_text()
    with pytest.raises(ConfigError, match="a feature or the label"):
        parse_config(text.replace('= "case_id"', f'= "{key}"'), source="here")


def test_tables_of_a_call_are_divided_by_patients(tables):
    pandas = pytest.importorskip("pandas")
    frames = {path.stem: pandas.read_csv(path) for path in tables}
    settings = {"label": "ill", "backend": "clear", "progress": False}
    by_rows = sf.collaborate(frames, **settings)
    assert any(one.kind == "several_rows" for one in by_rows.findings)
    told = sf.collaborate(frames, patient_column="case_id", **settings)
    assert [one.kind for one in told.findings if one.column == "case_id"] == []
    assert not any(one.kind == "several_rows" for one in told.findings)


def test_a_table_of_a_call_without_them_is_refused(tables):
    with pytest.raises(DataError, match=r"north.*not in the table"):
        sf.collaborate(
            {path.stem: path for path in tables}, label="ill", patient_column="who", backend="clear"
        )


def test_what_is_said_of_a_table_holds_where_its_columns_are_inferred(tables):
    """Nothing that somebody wrote is passed over because something else is looked up."""
    said = {
        "label": "ill",
        "classes": [["1"], ["0"]],
        "class_names": ["ill", "well"],
        "positive": "1",
        "fill": True,
        "same_unit": ["marker"],
        "patient_column": "case_id",
    }
    people = [{"name": path.stem, "file": str(path)} for path in tables]
    config = check_settings(
        {
            "run": {"name": "said"},
            "data": {"source": "files"},
            "table": said,
            "participants": people,
        },
        source="here",
    )
    table = resolve(config, ReadTables()).config.table
    assert table.columns
    assert table.names == ("well", "ill")
    assert table.groups == (("0",), ("1",))
    assert (table.fill, table.same_unit, table.patient_column) == (True, ("marker",), "case_id")


@pytest.mark.parametrize("column", [3, "ill"])
def test_what_names_no_patients_is_refused_by_name(tables, column):
    with pytest.raises(ConfigError, match="a column of its own names patients"):
        sf.collaborate({path.stem: path for path in tables}, label="ill", patient_column=column)


def test_codes_of_missing_are_no_patient_and_spellings_of_a_number_are_one(tmp_path):
    for name in ("NA", "?", ""):
        table = parse_rows(f"id,age\n1,3\n{name},4\n", source="here.csv")
        with pytest.raises(DataError, match="a row without a patient"):
            patients_of(table, "id")
    table = parse_rows("id,age\n1,3\n1.0,4\n01,4\n2,5\n", source="here.csv")
    assert patients_of(table, "id").tolist() == [0, 0, 0, 1]
