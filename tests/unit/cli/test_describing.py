import csv
import errno
import json

from securefair.report import files
from securefair.words import words_of


def table(folder, name, offset):
    rows = [f"{30 + 2 * ((7 * i + offset) % 13)},{'fm'[i % 2]},{i % 3 % 2}" for i in range(30)]
    (folder / f"{name}.csv").write_text("age,sex,ill\n" + "\n".join(rows) + "\n")


def test_three_hospitals_get_a_table_each_and_two_get_none(invoke, tmp_path):
    folder = tmp_path
    for at, name in enumerate(("north", "south", "west")):
        table(folder, name, at)
    data = [("--data", f"{name}.csv") for name in ("north", "south", "west")]
    invoke("new", "three", *(part for pair in data for part in pair), "--label", "ill")
    invoke("new", "two", *(part for pair in data[:2] for part in pair), "--label", "ill")
    done = invoke("describe", "three/config.toml", "--out", "table1")
    assert done.exit_code == 0, done.output
    assert "Patients" in done.stdout
    assert "90" in done.stdout
    rows = list(csv.reader((folder / "table1" / "west.csv").read_text().splitlines()))
    assert rows[0] == ["variable", "figure", "level", "all", "west"]
    assert ["sex", "level", "f", "45", "15"] in rows
    page = (folder / "table1" / "west.html").read_text()
    assert "age, mean (SD)" in page
    assert "north" not in page
    said = json.loads(invoke("describe", "three/config.toml", "--json").stdout)
    assert said["patients"] == 90
    told = json.loads((folder / "three" / "described.json").read_text())
    assert {one["numbers"] for one in told.values()} == {said["numbers"]}
    again = invoke("describe", "three/config.toml", "--out", "table1")
    assert (again.exit_code, "this folder is not empty" in again.stderr) == (2, True)
    forced = ("--out", "table1", "--force", "--language", "de")
    assert invoke("describe", "three/config.toml", *forced).exit_code == 0
    page = (folder / "table1" / "west.html").read_text()
    assert words_of("de")("described.title", name="three") in page
    table(folder, "west", 5)
    stopped = invoke("describe", "three/config.toml")
    assert stopped.exit_code != 0
    assert "of other patients" in stopped.output
    assert invoke("describe", "three/config.toml", "--again").exit_code == 0
    noted = json.loads((folder / "three" / "described.json").read_text())
    assert [noted[name]["descriptions"] for name in ("north", "west")] == [1, 2]
    refused = invoke("describe", "two/config.toml")
    assert refused.exit_code != 0
    assert "too few to be described together" in refused.output


def test_a_full_disk_leaves_no_part_of_an_answer(invoke, tmp_path, monkeypatch):
    names = ("north", "south", "west")
    for at, name in enumerate(names):
        table(tmp_path, name, at)
    data = [part for name in names for part in ("--data", f"{name}.csv")]
    invoke("new", "three", *data, "--label", "ill")
    written = []
    write = files.replace_file

    def full(path, data, **how):
        written.append(path)
        if len(written) == 3:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        write(path, data, **how)

    for command in ("describe", "validate"):
        written.clear()
        with monkeypatch.context() as patch:
            patch.setattr(files, "replace_file", full)
            backend = ("--backend", "clear") if command == "validate" else ()
            done = invoke(command, "three/config.toml", *backend, "--out", "out")
        assert done.exit_code != 0
        assert "No space left on device" in done.stderr
        assert len(written) == 3
        assert not (tmp_path / "out").exists()


def test_hospitals_that_the_terminal_has_no_room_for_are_named(invoke, tmp_path, monkeypatch):
    names = ("north", "south", "east", "west")
    for at, name in enumerate(names):
        table(tmp_path, name, at)
    data = [part for name in names for part in ("--data", f"{name}.csv")]
    invoke("new", "four", *data, "--label", "ill")
    monkeypatch.setenv("COLUMNS", "80")
    said = " ".join(invoke("describe", "four/config.toml").stdout.split())
    assert "Not shown, as the terminal is too narrow (--out writes a page of each): " in said
    monkeypatch.setenv("COLUMNS", "200")
    assert "Not shown" not in invoke("describe", "four/config.toml").stdout
