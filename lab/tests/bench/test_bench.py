"""Benchmarks run rarely; at least what they import is there."""

import importlib
import runpy
from pathlib import Path

import pytest

from securefair.errors import DataError

BENCH = Path(__file__).parents[3] / "bench"


SCRIPTS = sorted([*BENCH.glob("*.py"), BENCH / "peers" / "head.py"])


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_benchmark_can_be_imported(script, monkeypatch):
    monkeypatch.syspath_prepend(script.parent)
    importlib.import_module(script.stem)


@pytest.fixture
def page(monkeypatch):
    monkeypatch.syspath_prepend(BENCH)
    return importlib.import_module("page")


def test_tables_are_put_between_their_markers(page, tmp_path):
    path = tmp_path / "page.md"
    path.write_text("a\n<!-- one -->\nold\n<!-- /one -->\nb\n")
    page.replace_tables(path, {"one": "new"})
    assert path.read_text() == "a\n<!-- one -->\n\nnew\n\n<!-- /one -->\nb\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "the page cannot be read"),
        (b"\xff", "the page cannot be read"),
        (b"no markers", "no single place for a table .*0 places"),
        (b"<!-- one -->\n<!-- /one -->\n" * 2, "no single place for a table .*2 places"),
    ],
)
def test_a_page_without_a_place_is_told_and_left(page, tmp_path, monkeypatch, text, message):
    path = tmp_path / "page.md"
    if text is not None:
        path.write_bytes(text)
    with pytest.raises(DataError, match=message):
        page.replace_tables(path, {"one": "new"})
    monkeypatch.setattr("sys.argv", ["bench/one.py"])
    with pytest.raises(SystemExit, match=f"^one.py: .*{message}"):
        page.run_script(lambda: page.replace_tables(path, {"one": "new"}))
    assert path.exists() == (text is not None)
    if text is not None:
        assert path.read_bytes() == text


def test_a_missing_page_is_told_before_anything_is_measured(page, capsys, monkeypatch):
    def main(write: page.PageOption = None) -> None:
        raise AssertionError(write)

    monkeypatch.setattr("sys.argv", ["one.py", "--write", "absent.md"])
    with pytest.raises(SystemExit) as ended:
        page.run_script(main)
    assert ended.value.code == 2
    assert "does not exist" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("script", ["run", "train"])
@pytest.mark.parametrize("folder", ["", "/nowhere"])
def test_the_public_benchmark_says_that_its_data_are_missing(script, folder, monkeypatch):
    path = BENCH / "fhe_benchmark" / f"{script}.py"
    monkeypatch.setenv("SECUREFAIR_DATA", folder)
    monkeypatch.setattr("sys.argv", [str(path)])
    monkeypatch.syspath_prepend(path.parent)
    with pytest.raises(SystemExit, match=rf"^{script}\.py: .*SECUREFAIR_DATA.*docs/data.md"):
        runpy.run_path(str(path), run_name="__main__")
