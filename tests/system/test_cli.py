"""The command line as somebody meets it: from nothing to results, and mistakes."""

import errno
import os
import shutil

import pytest
from typer.testing import CliRunner

from securefair.cli import app
from support.few import thin_tables

QUICK = ("--seeds", "1", "--backend", "clear")


def invoke(*arguments):
    return CliRunner().invoke(app, [str(one) for one in arguments])


def test_from_nothing_to_results(program, tmp_path):
    """The commands that `new` prints, as a newcomer types them."""
    made = program.run("new", "mine", cwd=tmp_path)
    assert (made.returncode, made.stderr) == (0, "")
    following = [
        line.split()[1:] for line in made.stdout.splitlines() if line.startswith("  securefair")
    ]
    assert [words[0] for words in following] == ["check", "run"]
    checked = program.run(*following[0], cwd=tmp_path)
    assert (checked.returncode, checked.stderr) == (0, "")
    assert not (tmp_path / "runs").exists()
    thin_tables(tmp_path / "mine" / "data", most=12)
    ran = program.fresh(*following[1], *QUICK, cwd=tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert (tmp_path / "runs" / "mine" / "report.html").exists()


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A new project and a finished run of it; tests change copies."""
    folder = tmp_path_factory.mktemp("cli")
    assert invoke("new", folder / "p").exit_code == 0
    thin_tables(folder / "p" / "data")
    done = invoke("run", folder / "p" / "config.toml", *QUICK, "--out", folder / "done")
    assert done.exit_code == 0, done.output
    return folder


@pytest.fixture
def workplace(project, tmp_path, monkeypatch):
    shutil.copytree(project, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def replaced(old, new):
    return lambda file: file.write_text(file.read_text("utf-8").replace(old, new, 1), "utf-8")


def line(number, change):
    def edit(file):
        lines = file.read_text("utf-8").splitlines(keepends=True)
        lines[number - 1] = change(lines[number - 1])
        file.write_text("".join(lines), "utf-8")

    return edit


def content(data):
    return lambda file: file.write_bytes(data)


def as_parquet(file):
    file.with_suffix(".parquet").write_bytes(b"PAR1" + bytes(200))
    replaced("hungary.csv", "hungary.parquet")(file.parent.parent / "config.toml")


def in_the_way(file):
    file.unlink()
    file.mkdir()


CONFIG, TABLE = "p/config.toml", "p/data/hungary.csv"
MISTAKES = {
    "no such file": ("check p/none.toml", "", None, ("p/none.toml", "Give the path")),
    "a folder": ("run p", "", None, ("p: ", "Is a directory")),
    "empty file": ("run", CONFIG, content(b""), ("config.toml", "run", "missing")),
    "binary file": ("run", CONFIG, content(b"\xff\xfe\x00"), ("not UTF-8",)),
    "broken TOML": ("run", CONFIG, content(b"[run\nname ="), ("not valid TOML", "line 1")),
    "unknown key": ("run", CONFIG, replaced("peers =", "peerz ="), ("peerz", "mean peers")),
    "wrong type": ("run", CONFIG, replaced("peers = 8", 'peers = "20"'), ("peers", "whole")),
    "negative": ("run", CONFIG, replaced("peers = 8", "peers = -3"), ("peers", "at least 2")),
    "huge": ("run", CONFIG, replaced("peers = 8", f"peers = 1{'0' * 30}"), ("at most",)),
    "not a number": (
        "check",
        CONFIG,
        replaced("fraction = 1.0", "fraction = nan"),
        ("disclosure.fraction", "above 0"),
    ),
    "another source": (
        "check",
        CONFIG,
        replaced('source = "files"', 'source = "hart"'),
        ("data.source", '"heart"'),
    ),
    "no label column": (
        "check",
        CONFIG,
        replaced('label = "num"', 'label = "ill"'),
        ("cleveland.csv", "'ill'", "age"),
    ),
    "no table": ("check", TABLE, lambda file: file.unlink(), ("Hungary", "hungary.csv")),
    "a folder for a table": ("check", TABLE, in_the_way, ("hungary.csv", "directory")),
    "empty table": ("check", TABLE, content(b""), ("hungary.csv", "empty")),
    "NaN": ("check", TABLE, line(2, lambda row: "NaN" + row[2:]), ("line 2, column age",)),
    "a word": ("check", TABLE, line(2, lambda row: "old" + row[2:]), ("line 2", "'old'")),
    "infinite": ("check", TABLE, line(2, lambda row: "inf" + row[2:]), ("line 2", "finite")),
    "too many fields": (
        "check",
        TABLE,
        line(3, lambda row: row.strip() + ",1\n"),
        ("line 3", "found 15, expected 14"),
    ),
    "latin-1": (
        "check",
        TABLE,
        lambda file: file.write_bytes(file.read_bytes() + b"\xe9"),
        ("hungary.csv", "line 62", "wrong number of fields"),
    ),
    "truncated Parquet": ("check", TABLE, as_parquet, ("hungary.parquet", "not a Parquet file")),
    "no run to report": ("report p", "", None, ("p: ", "no folder of a finished run")),
    "no run to compare": ("compare done p", "", None, ("p: ", "no folder of a finished run")),
    "one run to compare": ("compare done done", "", None, ("two different runs",)),
    "nothing to resume": ("resume done", "", None, ("done: ", "a finished run")),
    "damaged metrics": ("report done", "done/metrics.json", content(b"{}"), ("metrics.json",)),
    "odd metrics": (
        "report done",
        "done/metrics.json",
        content(b'{"encryption": [1]}'),
        ("metrics.json",),
    ),
    "damaged rounds": (
        "report done",
        "done/rounds.jsonl",
        lambda file: file.write_bytes(file.read_bytes()[:-20]),
        ("rounds.jsonl, line 7",),
    ),
    "edited config of a run": (
        "report done",
        "done/config.toml",
        replaced("peers =", "peerz ="),
        ("done/config.toml", "peerz"),
    ),
    "a file for results": ("demo --out p/config.toml", "", None, ("not a folder", "--out")),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_line_that_names_it(workplace, mistake):
    words, file, change, expected = MISTAKES[mistake]
    if change is not None:
        change(workplace / file)
    arguments = words.split()
    result = invoke(*arguments, *([CONFIG] if arguments in (["run"], ["check"]) else []))
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code == 2
    assert result.stderr.startswith("securefair: ")
    assert result.stderr.count("\n") == 1
    for part in expected:
        assert part in result.stderr
    assert result.stdout == ""


def test_a_run_whose_data_changed_is_not_gone_on_with(workplace, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("securefair.run.folder.write_json_lines", full)
    stopped = invoke("run", CONFIG, *QUICK, "--out", "out")
    assert stopped.exit_code == 2
    assert stopped.stderr.endswith("securefair resume out\n")
    monkeypatch.undo()
    monkeypatch.chdir(workplace)
    table = workplace / TABLE
    original = table.read_bytes()
    line(2, lambda row: "61" + row[2:])(table)
    refused = invoke("resume", "out")
    assert refused.exit_code == 2
    assert "the data changed" in refused.stderr
    table.write_bytes(original)
    assert invoke("resume", "out").exit_code == 0
    for name in ("metrics.json", "rounds.jsonl", "ledger.json", "traffic.json"):
        assert (workplace / "out" / name).read_bytes() == (workplace / "done" / name).read_bytes()
