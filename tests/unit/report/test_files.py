"""Files are whole or absent, and equal records give equal bytes."""

import json
import os
import stat

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from securefair.errors import DataError
from securefair.records import RoundRecord, RunResult
from securefair.report import (
    check_new_file,
    check_new_folder,
    read_json,
    read_json_lines,
    write_json,
    write_json_lines,
    write_text,
)
from securefair.report.files import filled_or_empty, written_together


class Row(msgspec.Struct, frozen=True):
    zulu: float
    alpha: str | None
    values: list[list[float | None]]


FLOATS = st.floats(allow_nan=False, allow_infinity=False)
ROWS = st.builds(
    Row,
    zulu=FLOATS,
    alpha=st.none() | st.text(st.characters(exclude_categories=["Cs"])),
    values=st.lists(st.lists(st.none() | FLOATS, max_size=3), max_size=3),
)


@given(rows=st.lists(ROWS, max_size=5))
def test_rows_read_back_equal(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    write_json_lines(path, rows)
    assert read_json_lines(path, Row) == rows


@given(row=ROWS)
def test_a_document_reads_back_equal(tmp_path_factory, row):
    path = tmp_path_factory.mktemp("row") / "row.json"
    assert read_json(write_json(path, row), Row) == row


def test_fields_keep_their_order_and_floats_their_repr(tmp_path):
    path = write_json(tmp_path / "row.json", Row(0.1 + 0.2, "é", [[None, 1e-7]]))
    text = path.read_text(encoding="utf-8")
    assert text.index("zulu") < text.index("alpha")
    assert "0.30000000000000004" in text
    assert "1e-07" in text
    assert '"é"' in text


def test_equal_records_give_equal_bytes(tmp_path, make_run):
    paths = []
    for name in ("first", "second"):
        run = make_run.__wrapped__()
        paths.append(write_json(tmp_path / name / "metrics.json", run.result))
        write_json_lines(tmp_path / name / "rounds.jsonl", run.rounds)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    rounds = [path.with_name("rounds.jsonl").read_bytes() for path in paths]
    assert rounds[0] == rounds[1]
    other = write_json(tmp_path / "third.json", make_run(seeds=(1,)).result)
    assert other.read_bytes() != paths[0].read_bytes()


def test_the_records_of_a_run_survive(tmp_path, run):
    assert read_json(write_json(tmp_path / "m.json", run.result), RunResult) == run.result
    rounds = write_json_lines(tmp_path / "r.jsonl", run.rounds)
    assert read_json_lines(rounds, RoundRecord) == run.rounds


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_json_cannot_write_is_refused(tmp_path, number):
    path = write_json(tmp_path / "row.json", Row(1.0, None, []))
    before = path.read_bytes()
    with pytest.raises(DataError, match=r"row\.json: a number is NaN or infinite"):
        write_json(path, Row(number, None, []))
    assert path.read_bytes() == before


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = write_text(tmp_path / "note.txt", "old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_text(path, "new")
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_the_data_is_on_disk_before_the_name_points_to_it(tmp_path, monkeypatch):
    calls = []
    for name in ("fsync", "replace"):
        original = getattr(os, name)

        def recorded(*arguments, _name=name, _original=original):
            calls.append(_name)
            return _original(*arguments)

        monkeypatch.setattr(os, name, recorded)
    write_text(tmp_path / "note.txt", "new")
    assert calls == ["fsync", "replace", "fsync"]


def test_folders_are_made_and_the_umask_is_obeyed(tmp_path):
    mask = os.umask(0o027)
    try:
        path = write_text(tmp_path / "a" / "b" / "note.txt", "x")
    finally:
        os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.parametrize(
    "line", ["{", '{"zulu": "text", "alpha": null, "values": []}', '{"zulu": 1.0}', "\xff"]
)
def test_a_damaged_line_is_named(tmp_path, line):
    good = json.dumps({"zulu": 1.0, "alpha": None, "values": []})
    path = tmp_path / "rows.jsonl"
    path.write_bytes(f"{good}\n{line}\n".encode("latin-1"))
    with pytest.raises(DataError, match="line 2"):
        read_json_lines(path, Row)


def test_a_missing_record_is_named(tmp_path):
    with pytest.raises(DataError, match=r"absent\.json"):
        read_json(tmp_path / "absent.json", Row)


def test_a_link_to_nowhere_is_not_replaced_unasked(tmp_path):
    link = tmp_path / "scores.csv"
    link.symlink_to("not mounted/scores.csv")
    with pytest.raises(DataError, match="exists already"):
        check_new_file(link, force=False)
    check_new_file(link, force=True)
    for wanted in (link, link / "deeper"):  # no folder can be made there
        with pytest.raises(DataError, match="is not a folder"):
            check_new_folder(wanted, force=True)


def test_a_failed_write_leaves_no_folder_that_was_made_for_it(tmp_path, monkeypatch):
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    (tmp_path / "mine").mkdir()
    for place in ("pages", "mine"):
        with pytest.raises(OSError, match="No space left"):
            write_text(tmp_path / place / "deeper" / "report.html", "page")
    assert list(tmp_path.rglob("*")) == [tmp_path / "mine"]


@pytest.mark.parametrize("there", [False, True])
def test_a_folder_that_was_not_filled_is_left_as_it_was(tmp_path, there):
    folder = tmp_path / "out"
    if there:
        folder.mkdir()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "x").touch()
    before = sorted(tmp_path.rglob("*"))

    def fill(*, room):
        write_text(folder / "models" / "north" / "card.md", "card")
        write_text(folder / "report.md", "report")
        (folder / "link").symlink_to(tmp_path / "mine")
        if not room:
            raise OSError("full")

    with pytest.raises(OSError, match="full"), filled_or_empty(folder):
        fill(room=False)
    assert sorted(tmp_path.rglob("*")) == before
    with filled_or_empty(folder):
        fill(room=True)
    assert len(list(folder.iterdir())) == 3


@pytest.mark.parametrize("there", [False, True])
def test_files_of_one_answer_are_there_together_or_not_at_all(tmp_path, there):
    folder = tmp_path / "new" / "out"
    if there:
        write_text(folder / "north.html", "old")
        write_text(folder / "notes.txt", "mine")
    before, visible = sorted(tmp_path.rglob("*")), list(folder.glob("*"))

    def write(*, room):
        with written_together(folder) as place:
            write_text(place / "north.html", "page")
            assert sorted(folder.glob("*.*")) == sorted([*visible, place])
            if not room:
                raise OSError("full")
            write_text(place / "south.html", "page")

    with pytest.raises(OSError, match="full"):
        write(room=False)
    assert sorted(tmp_path.rglob("*")) == before
    if there:
        assert (folder / "north.html").read_text() == "old"
    write(room=True)
    names = {"north.html", "south.html"} | ({"notes.txt"} if there else set())
    assert {one.name for one in folder.iterdir()} == names
    assert (folder / "north.html").read_text() == "page"
