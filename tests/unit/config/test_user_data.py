"""[[participants]] and [table]: what they accept, and how a mistake is named."""

import pytest

from securefair.config import CategoricalColumn, load_config, parse_config, to_toml
from securefair.errors import ConfigError

FILES = """
[run]
name = "own"
[data]
source = "files"
[table]
label = "ill"
classes = [0, [1, 2]]
[[table.columns]]
name = "age"
kind = "numeric"
low = 20
high = 90
[[table.columns]]
name = "sex"
kind = "binary"
no = "f"
yes = "m"
[[table.columns]]
name = "pain"
kind = "categorical"
levels = [1, 2, "x"]
optional = true
[[table.columns]]
name = "id"
kind = "ignored"
[[participants]]
name = "north"
file = "data/north.csv"
[[participants]]
name = "south"
file = "/data/south.parquet"
test_file = "later.csv"
"""
CODE = '[run]\nname = "own"\n[data]\nsource = "python"\nentry = "mine.sub:load"\n'


def test_codes_may_be_numbers_and_stand_alone():
    table = parse_config(FILES, source="t").table
    assert table.classes == (("0",), ("1", "2"))
    assert table.columns[2] == CategoricalColumn(
        name="pain", kind="categorical", levels=("1", "2", "x"), optional=True
    )


@pytest.mark.parametrize("comments", [True, False])
def test_what_is_written_reads_back_equal(comments):
    config = parse_config(FILES, source="t")
    written = to_toml(config, comments=comments)
    assert parse_config(written, source="t") == config
    assert written.count("[[table.columns]]") == 4


def test_comments_explain_each_kind_of_column_once():
    others = FILES[FILES.index("[[part") :].replace('"north"', '"n"').replace('"south"', '"s"')
    others = others.replace("data/", "more/")
    lines = to_toml(
        parse_config(FILES + others, source="t"),
        comments=True,
    ).splitlines()
    assert lines.count("# Where its samples are") <= 1
    assert sum("This value and all below become -1" in line for line in lines) == 1
    assert sum(line.startswith("# Its samples: .csv") for line in lines) == 1


def test_paths_are_relative_to_the_file(tmp_path):
    text = FILES.replace('name = "south"', 'name = "south"\nteacher = "vendor.onnx"')
    (tmp_path / "c.toml").write_text(
        text.replace('name = "north"', 'name = "north"\nteacher = "forest"')
    )
    north, south = load_config(tmp_path / "c.toml").participants
    assert (north.teacher, south.teacher) == ("forest", str(tmp_path / "vendor.onnx"))
    assert north.file == tmp_path / "data" / "north.csv"
    assert str(south.file) == "/data/south.parquet"
    assert south.test_file == tmp_path / "later.csv"


def test_the_folder_of_a_module_is_that_of_the_file(tmp_path):
    (tmp_path / "c.toml").write_text(CODE)
    assert load_config(tmp_path / "c.toml").data.module_folder == tmp_path


@pytest.mark.parametrize(
    ("old", "new", "where", "words"),
    [
        ('label = "ill"\n', "", "table.label", "a column to predict"),
        ('label = "ill"', 'labl = "ill"', "table.labl", "Did you mean label"),
        ('name = "south"', 'name = "north"', "participants", "listed twice"),
        ("low = 20", "low = 95", "table.columns[0].low", "less than high"),
        ("low = 20", "low = nan", "table.columns[0].low", "a number"),
        ('kind = "numeric"', 'kind = "number"', "table.columns[0].kind", '"numeric"'),
        ("high = 90", "hihg = 90", "table.columns[0].hihg", "Did you mean high"),
        ('name = "sex"', 'name = "age"', "table.columns", "listed twice"),
        ('name = "sex"', 'name = "ill"', "table.columns", "the label is among"),
        ("[0, [1, 2]]", "[[0, 1]]", "table.classes", "two or more"),
        ("[0, [1, 2]]", "[0, [1, 2]]\npositive = 3", "table.positive", "expected '0, 1, 2'"),
        ("[0, [1, 2]]", "[0, 1, 2]\npositive = 1", "table.positive", "found '3 classes'"),
        ("[0, [1, 2]]", "[0, [0, 1]]", "table.classes", "listed twice"),
        ('source = "files"', 'source = "heart"', "participants", 'data.source = "files"'),
        ('source = "files"', 'source = "files"\nentry = "a:b"', "data.entry", "means nothing"),
        (
            'source = "files"',
            'source = "files"\nfeature_range = [3, -3]',
            "data.feature_range",
            "smaller first",
        ),
        (
            'source = "files"',
            'source = "files"\npartition = {kind = "homogeneous", participants = 3}',
            "data.partition",
            "comes divided",
        ),
    ],
)
def test_a_mistake_is_named(old, new, where, words):
    assert old in FILES
    with pytest.raises(ConfigError) as caught:
        parse_config(FILES.replace(old, new), source="t.toml")
    assert caught.value.where == f"t.toml: {where}"
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("positive", "groups"),
    [
        ("", (("0",), ("1", "2"))),
        ("positive = 2", (("0",), ("1", "2"))),
        ("positive = 0", (("1", "2"), ("0",))),
    ],
)
def test_the_positive_class_is_the_last(positive, groups):
    text = FILES.replace("[0, [1, 2]]", f"[0, [1, 2]]\n{positive}")
    assert parse_config(text, source="t").table.groups == groups


def test_one_participant_is_not_enough():
    text = FILES[: FILES.index('[[participants]]\nname = "south"')]
    with pytest.raises(ConfigError, match=r"participants: files need at least two"):
        parse_config(text, source="t")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('entry = "mine.sub:load"\n', "", "data.entry: python needs something to call"),
        ("mine.sub:load", "mine.sub", "data.entry: a value cannot be used"),
        ('"python"', '"python"\ncenters = 3', "data.centers: this key means nothing for python"),
    ],
)
def test_a_mistaken_entry_is_named(old, new, words):
    with pytest.raises(ConfigError) as caught:
        parse_config(CODE.replace(old, new), source="t")
    assert words in str(caught.value)


def test_one_table_for_two_participants_is_refused():
    with pytest.raises(ConfigError, match=r"participants\[1\]: two participants bring the same"):
        parse_config(FILES.replace("/data/south.parquet", "data/./north.csv"), source="t")


@pytest.mark.parametrize("key", ["file", "test_file"])
def test_a_path_with_a_nul_character_is_refused_where_it_is_read(key):
    others = FILES.replace("data/north.csv", "so\\u0000uth.csv").replace("later", "la\\u0000ter")
    with pytest.raises(ConfigError, match=rf"participants.*\.{key}: no path has a NUL character"):
        parse_config(others, source="t")


@pytest.mark.parametrize(
    ("key", "named"),
    [
        ("data", "duckdb:no\\u0000rth.db?query=SELECT 1"),
        ("data", "duckdb:north.db?query=SELECT '\\u0000'"),
        ("teacher", "no\\u0000rth.onnx"),
        ("teacher", "for\\u0000est"),
    ],
)
def test_so_is_one_in_a_text_that_names_a_file(key, named):
    others = FILES.replace("[[participants]]", f'[[participants]]\n{key} = "{named}"', 1)
    if key == "data":
        others = others.replace('file = "data/north.csv"\n', "", 1)
    with pytest.raises(ConfigError, match=rf"participants.*\.{key}: no path has a NUL character"):
        parse_config(others, source="t")
