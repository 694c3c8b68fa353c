import unicodedata

import numpy as np
import pytest

from securefair.data import read_rows
from securefair.data.rows import parse_rows
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
    assert len(read_rows(table(tmp_path, "age,sex\n"))) == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: the table is empty"),
        ("\n\n", "line 1: the table is empty"),
        ("Ward 3, May\n\nage,sex,bmi\n63,1,20\n", 'must name the columns; here it is "Ward 3, May'),
        ("age,sex,age\n", "share a name .*'age'"),
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


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16"])
def test_other_encodings_are_read_and_noted(tmp_path, encoding):
    found = read_rows(table(tmp_path, "name\nZürich\n", encoding=encoding))
    assert found[0].fields == {"name": "Zürich"}
    assert [note.kind for note in found.notes] == ["encoding"]


def test_bytes_of_no_encoding_are_refused(tmp_path):
    path = tmp_path / "ward.csv"
    path.write_bytes(b"name\n\x81\xff\n")
    with pytest.raises(DataError, match="no encoding that is known"):
        read_rows(path)


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_other_separators_are_told_and_noted(tmp_path, separator):
    text = "age,sex\n63,1\n41,0\n".replace(",", separator)
    found = read_rows(table(tmp_path, text))
    assert [row.fields for row in found] == [{"age": "63", "sex": "1"}, {"age": "41", "sex": "0"}]
    assert [note.kind for note in found.notes] == ["separator"]


def test_decimal_commas_become_points_and_are_noted(tmp_path):
    found = read_rows(table(tmp_path, "a;b;c\n1,5;x,y;3\n;1,2;4\n2;z;<1,5\n"))
    assert [row.fields["a"] for row in found] == ["1.5", "", "2"]
    assert [row.fields["b"] for row in found] == ["x,y", "1,2", "z"]  # texts stay
    assert [(one.column, one.line) for one in found.notes if one.kind == "decimal comma"] == [
        ("a", 2)
    ]


def test_thousands_or_decimals_are_decided_by_another_column_or_left(tmp_path):
    unsure = read_rows(table(tmp_path, "a;b\n1,234;1\n5,678;2\n"))
    assert [row.fields["a"] for row in unsure] == ["1,234", "5,678"]
    assert [one.kind for one in unsure.notes][1:] == ["ambiguous number"]
    sure = read_rows(table(tmp_path, "a;b\n1,234;1,5\n5,678;2\n"))
    assert [row.fields["a"] for row in sure] == ["1.234", "5.678"]


def test_a_compressed_table_and_a_workbook_read_alike(tmp_path):
    import gzip

    openpyxl = pytest.importorskip("openpyxl")
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"age,sex\n63,f\n,m\n"))
    book = openpyxl.Workbook()
    for row in (["age", "sex"], [63, "f"], [None, "m"]):
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    rows = [[row.fields for row in read_rows(tmp_path / name)] for name in ("t.csv.gz", "t.xlsx")]
    assert rows[0] == rows[1] == [{"age": "63", "sex": "f"}, {"age": "", "sex": "m"}]


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(DataError, match=r"absent\.csv: cannot read the table"):
        read_rows(tmp_path / "absent.csv")


ROWS = "age,ill\n31,no\n45,yes\n"


@pytest.mark.parametrize(
    ("text", "line", "kind"),
    [
        (ROWS.replace("\n", "\r"), 2, "line ends"),
        ("sep=,\n" + ROWS, 3, None),
        ("sep=;\r\n" + ROWS.replace(",", ";").replace("\n", "\r\n"), 3, "separator"),
        ('"sep=;"\n' + ROWS.replace(",", ";"), 3, "separator"),
        ("# ward 7, March\n# by hand\n" + ROWS, 4, "comments"),
        ("#age,ill\n31,no\n45,yes\n", 2, None),
        ('# a "title"\n' + ROWS.replace("45", '"45"'), 3, "comments"),
    ],
)
def test_what_stands_above_and_between_rows(text, line, kind):
    table = parse_rows([text], "t.csv")
    assert [one.lstrip("#") for one in table.columns] == ["age", "ill"]
    assert [row.fields["ill"] for row in table] == ["no", "yes"]
    assert (table.line_of(0), table[1].line) == (line, line + 1)
    assert kind in [None, *(one.kind for one in table.notes)]
    assert bool(table.notes) == (kind is not None)


@pytest.mark.parametrize(
    "above", ["Export of 2023\n", "Export of 2023,,\n", "Export,,\nas of 2023,,\n"]
)
def test_a_title_above_the_column_names_is_told(above):
    with pytest.raises(DataError, match=r"title \(found 'Export.*Delete the lines above the head"):
        parse_rows([above + "age,sex,ill\n63,f,no\n"], "t.csv")


def test_a_title_that_hides_the_separator_is_told():
    with pytest.raises(DataError, match=r'must name the columns; here it is "Export of 2023"'):
        parse_rows(["Export of 2023\nage;chol\n63;5,2\n71;5,9\n"], "t.csv")


@pytest.mark.parametrize("rows", ["age,\n31,no\n", ",age\nfirst,unknown\n"])
def test_a_column_without_a_name_is_no_title(rows):
    with pytest.raises(DataError, match="a column has no name"):
        parse_rows([rows], "t.csv")


def test_the_name_of_the_only_column_is_no_title():
    assert len(parse_rows(["ward\nsurgery\n"], "t.csv")) == 1


@pytest.mark.parametrize("code", ["k.A.", "#NV", "n/a", "-", "fehlt"])
def test_decimal_commas_beside_a_code_of_a_missing_value(code):
    cells = [f"{n},{n % 7}" for n in range(30)]
    table = parse_rows(["crp\n" + "".join(f'"{one}"\n' for one in [*cells, code])], "t.csv")
    assert [row.fields["crp"] for row in table] == [
        *(one.replace(",", ".") for one in cells),
        code,
    ]


def test_codes_of_a_missing_value_say_nothing_of_commas(tmp_path):
    text = "crp;asa\n7,9;1\nNC;2\nNC;3\n"
    assert read_rows(table(tmp_path, text)).columns["crp"].texts == ["7,9", "NC"]
    assert read_rows(tmp_path / "ward.csv", missing=["NC"]).columns["crp"].texts == ["7.9", "NC"]


def test_one_text_among_many_decimal_commas_is_a_code_however_often_it_stands():
    cells = [*(f'"{n},{n % 7}"' for n in range(30)), *["NC"] * 30]
    column = parse_rows(["crp\n", *(f"{one}\n" for one in cells)], "t.csv").columns["crp"]
    assert np.isfinite(column.numbers).sum() == 30
    lists = [f'"{n},{n + 1}"' for n in range(30)] + [f'"{n},2,3"' for n in range(30)]
    column = parse_rows(["codes\n", *(f"{one}\n" for one in lists)], "t.csv").columns["codes"]
    assert "1,2" in column.texts


def test_the_index_that_pandas_writes_is_named():
    with pytest.raises(DataError, match="a column has no name") as refused:
        parse_rows([",age,ill\n", "0,31,no\n"], "t.csv")
    assert "column 1 of 3" in str(refused.value)
    assert "index=False" in str(refused.value)


@pytest.mark.parametrize("above", ["\n\n", " \n", ",,\n;;\n", "# exported\n\n", "\n# exported\n"])
def test_nothing_above_and_nothing_below_is_no_patient(tmp_path, above):
    rows = read_rows(table(tmp_path, f"{above}age,sex\n63,1\n,\n41,2\n,\n , \n"))
    assert [list(row.fields.values()) for row in rows] == [["63", "1"], ["41", "2"]]
    first = above.count("\n") + 2
    assert [row.line for row in rows] == [first, first + 2]
    before, between = rows.notes
    assert "above the table" in before.message
    assert (between.line, between.settled) == (first + 1, True)
    kept = read_rows(tmp_path / "ward.csv", torn=True)  # predictions have a row for each
    assert [list(row.fields.values()) for row in kept] == [["63", "1"], ["", ""], ["41", "2"]]


def test_headings_that_look_the_same_are_the_same(tmp_path):
    names = ["Âge", "Score ASA", "Coût (EUR)"]
    for change in (
        lambda name: unicodedata.normalize("NFD", name),
        lambda name: name.replace(" ", "\xa0"),
        lambda name: f"{name} ".replace(" ", "\u202f"),
    ):
        written = ";".join(map(change, names))
        assert list(read_rows(table(tmp_path, f"{written}\n1;2;3\n")).columns) == names


def test_a_quotation_mark_that_stays_open_is_named_with_its_line():
    lines = ["age,sex\n", "1,f\n", '2,"m\n', *(f"{at},f\n" for at in range(40))]
    with pytest.raises(DataError, match="line 3: a quotation mark is opened here"):
        parse_rows(lines, "t.csv")


def test_a_torn_row_has_no_value_and_keeps_its_place(tmp_path):
    file = tmp_path / "ward.csv"
    file.write_text('age,sex\n63,"f"\n\n70\n71,m,2\n72,m\n73,m\n74\n')
    table = read_rows(file, torn=True)
    assert [row.fields["age"] for row in table] == ["63", "", "", "72", "73", ""]
    assert [row.line for row in table] == [2, 4, 5, 6, 7, 8]  # the last is no empty end of a sheet
    (note,) = table.notes
    assert note.message == (
        "line 4 has 1, line 5 has 3, line 8 has 1 fields, where the header has 2: nothing in them "
        "was read"
    )
    with pytest.raises(DataError, match="line 4: wrong number of fields"):
        read_rows(file)


def test_a_table_of_torn_rows_has_another_header_or_separator(tmp_path):
    (tmp_path / "ward.csv").write_text("age,sex\n63,f\n70\n71\n")
    with pytest.raises(DataError, match="line 3: wrong number of fields"):
        read_rows(tmp_path / "ward.csv", torn=True)


def test_a_workbook_with_a_title_a_second_sheet_or_a_password(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in ([], [None], ["age", "sex"], [63, "f"], [70, "m"]):
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    rows = read_rows(tmp_path / "t.xlsx")
    assert [(row.line, row.fields["age"]) for row in rows] == [(4, "63"), (5, "70")]
    book.active.title = "info"
    book.create_sheet("data")
    book.save(tmp_path / "t.xlsx")
    assert read_rows(tmp_path / "t.xlsx").source == "t.xlsx, sheet info (not read: data)"
    (tmp_path / "p.xlsx").write_bytes(bytes.fromhex("d0cf11e0a1b11ae1") + bytes(600))
    with pytest.raises(DataError, match=r"an old one, or one under a password.*without a password"):
        read_rows(tmp_path / "p.xlsx")


def test_a_typographic_minus_is_a_minus(tmp_path):
    (tmp_path / "ward.csv").write_text("excess\n\N{MINUS SIGN}2.1\n1.3\n-4\n", encoding="utf-8")
    column = read_rows(tmp_path / "ward.csv").columns["excess"]
    assert column.numbers[column.codes].tolist() == [-2.1, 1.3, -4.0]


@pytest.mark.parametrize("apart", [" ", "'", "\N{NARROW NO-BREAK SPACE}"])
def test_thousands_that_are_set_apart_are_told(apart):
    lines = ["plt,ill\n", *(f"{n}{apart}500,{n % 2}\n" for n in range(150, 180))]
    (note,) = parse_rows(lines, "t.csv").notes
    assert (note.column, note.kind, note.settled) == ("plt", "ambiguous number", False)
    assert "thousands apart" in note.message


def test_points_set_thousands_apart_where_decimals_have_commas():
    lines = ["crp;leuko\n", *(f"{n},5;{n % 9 + 1}.{n:03d}\n" for n in range(100, 130))]
    read = parse_rows(lines, "t.csv")
    assert read.columns["leuko"].numbers[0] == 2100
    assert {one.kind for one in read.notes} >= {"decimal comma", "thousands"}


def test_a_point_that_may_set_thousands_apart_is_asked_about():
    lines = ["leuko;ill\n", *(f"{n % 9 + 1}.{n:03d};1\n950;0\n" for n in range(100, 130))]
    read = parse_rows(lines, "t.csv")
    assert read.columns["leuko"].numbers[0] == pytest.approx(2.1)
    assert any("may set thousands apart" in one.message for one in read.notes)
    decimals = ["crea;ill\n", *(f"{n % 9 + 1}.{n:03d};1\n" for n in range(100, 130))]
    assert {one.kind for one in parse_rows(decimals, "t.csv").notes} <= {"separator"}
