"""Tables as they are named on a command line."""

from pathlib import Path

import pytest

from securefair.errors import ConfigError, DataError
from securefair.user.given_tables import check_column, named_table


@pytest.mark.parametrize(
    ("text", "name", "file"),
    [
        ("north.csv", "north", "north.csv"),
        ("a/north.csv.gz", "north", "a/north.csv.gz"),
        ("west=a/b=c.csv", "west", "a/b=c.csv"),
        ("a/b=c.csv", "b=c", "a/b=c.csv"),
    ],
)
def test_a_name_is_given_or_the_file_s(text, name, file):
    found = named_table(text)
    assert (found.name, found.file) == (name, Path(file))


@pytest.mark.parametrize("text", ["north=", "=north.csv"])
def test_half_a_name_is_refused(text):
    with pytest.raises(ConfigError, match="expected 'NAME=FILE'"):
        named_table(text)


@pytest.mark.parametrize(
    "text", ["https://x.org/n.csv", "north=https://x.org/n.csv", "s3://b/n.csv", "file:///n.csv"]
)
def test_nothing_is_fetched(text):
    with pytest.raises(DataError, match="read from a file of this machine"):
        named_table(text)


def test_a_column_that_is_asked_for_must_be_everywhere(tmp_path):
    for name in ("north", "south"):
        (tmp_path / f"{name}.csv").write_text(f"age,{name}\n1,2\n")
    paths = [tmp_path / "north.csv", tmp_path / "south.csv"]
    check_column(paths, "age")
    with pytest.raises(DataError, match=r"participant south.*expected 'north'"):
        check_column(paths, "north")
