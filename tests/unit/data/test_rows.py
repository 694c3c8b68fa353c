import pytest

from securefair.data import read_rows
from securefair.errors import DataError


def table(tmp_path, text, encoding="utf-8"):
    path = tmp_path / "ward.csv"
    path.write_bytes(text.encode(encoding))
    return path


def test_reads_fields_by_name_with_their_place(tmp_path):
    rows = read_rows(table(tmp_path, 'age, name\n63,"Ng, A."\n\n 41 ,"two\nlines"\n50,x\n'))
    assert [dict(row.fields) for row in rows] == [
        {"age": "63", "name": "Ng, A."},
        {"age": "41", "name": "two\nlines"},
        {"age": "50", "name": "x"},
    ]
    assert [(row.source, row.line) for row in rows] == [
        ("ward.csv", 2),
        ("ward.csv", 5),  # the line on which the record ends
        ("ward.csv", 6),
    ]


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_a_byte_order_mark_and_windows_line_ends_are_no_part_of_the_data(tmp_path, ending):
    path = table(tmp_path, f"age,sex{ending}63,1{ending}", encoding="utf-8-sig")
    assert [dict(row.fields) for row in read_rows(path)] == [{"age": "63", "sex": "1"}]


def test_a_header_alone_is_a_table_without_rows(tmp_path):
    assert read_rows(table(tmp_path, "age,sex\n")) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: the table is empty"),
        ("\n63,1\n", "line 1: the table is empty"),
        ("age,sex,age\n", "share a name .*'age'"),
        ("age;sex\n63;1\n", "not separated by commas"),
        (
            "age,sex\n63,1\n41\n",
            r"ward.csv, line 3: wrong number of fields \(found 1, expected 2\)",
        ),
        ("age,sex\n63,1,2\n", "line 2: wrong number of fields"),
        ('age,sex\n63,"1\n', "line 2: not comma-separated text"),
    ],
)
def test_errors_name_file_and_line(tmp_path, text, message):
    with pytest.raises(DataError, match=message):
        read_rows(table(tmp_path, text))


def test_other_encodings_are_refused_rather_than_guessed(tmp_path):
    with pytest.raises(DataError, match="not UTF-8"):
        read_rows(table(tmp_path, "name\nZürich\n", encoding="latin-1"))


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(DataError, match=r"absent\.csv: cannot read the table"):
        read_rows(tmp_path / "absent.csv")
