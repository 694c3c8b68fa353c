"""From an empty folder to results on tables, by the commands that `new` prints."""

import json
import re
from itertools import pairwise

import pytest
import typer

from securefair.cli import app
from securefair.collaboration.kinds import REGISTERED, kind_of, refuse_unread
from securefair.config import demo_config, load_config, parse_config
from support.tables import NORTH


class TestNew:
    @pytest.mark.slow  # a whole run
    def test_what_it_makes_checks_and_runs_as_it_is(self, invoke, tmp_path):
        made = invoke("new", "mine")
        assert made.exit_code == 0, made.output
        commands = re.findall(r"^  securefair (.*)$", made.stdout, re.MULTILINE)
        assert commands == ["check mine/config.toml", "run mine/config.toml"]
        assert invoke(*commands[0].split()).exit_code == 0
        ran = invoke(*commands[1].split(), "--backend", "clear")
        assert ran.exit_code == 0, ran.output
        assert (tmp_path / "runs" / "mine" / "report.html").exists()

    def test_the_example_is_the_heart_data(self, invoke, tmp_path):
        from securefair.data import load_heart
        from securefair.user.participants import load_participants

        invoke("new", "mine")
        config = load_config(tmp_path / "mine" / "config.toml")
        for mine, heart in zip(load_participants(config, 0), load_heart(0), strict=True):
            assert mine.name == heart.name
            assert (mine.train.features == heart.train.features).all()
            assert (mine.test.labels == heart.test.labels).all()

    def test_every_key_is_explained(self, invoke, tmp_path):
        invoke("new", "mine")
        lines = (tmp_path / "mine" / "config.toml").read_text().splitlines()
        for section in ("[training]", "[transfer]", "[encryption]", "[disclosure]"):
            at = lines.index(section)
            assert lines[at + 1].startswith("# "), section

    def test_no_key_is_written_that_its_algorithm_does_not_read(self, invoke, tmp_path, tables):
        for name, options in (("mine", ()), ("own", tables)):
            assert invoke("new", name, *options).exit_code == 0
            config = load_config(tmp_path / name / "config.toml")
            assert config.run.collaborative == ("transfer",)
            refuse_unread(config)
            text = (tmp_path / name / "config.toml").read_text()
            for section in ("[distillation]", "[fairness]", "[gossip]", "rounds ="):
                assert section not in text

    def test_own_tables_are_described(self, invoke, tmp_path, tables):
        result = invoke("new", "deep/mine", *tables)
        assert result.exit_code == 0, result.output
        config = load_config(tmp_path / "deep" / "mine" / "config.toml")
        assert [one.name for one in config.participants] == ["north", "south"]
        assert [column.kind for column in config.table.columns] == ["numeric", "binary"]
        assert config.table.origin == "participants"
        assert '"../../north.csv"' in (tmp_path / "deep" / "mine" / "config.toml").read_text()
        checked = invoke("check", "deep/mine/config.toml")
        assert checked.exit_code == 0, checked.output
        assert "Ranges and levels of columns come from the tables" in checked.output.replace(
            "\n", " "
        )

    def test_the_class_that_must_not_be_missed_is_named(self, invoke, tmp_path, tables):
        for name, given, others in (("last", (), "0"), ("first", ("--positive", "0"), "1")):
            assert invoke("new", name, *tables, *given).exit_code == 0
            checked = " ".join(invoke("check", f"{name}/config.toml").stdout.split())
            one = "1" if others == "0" else "0"
            assert f"Sensitivity is of class {one}; table.positive can name {others}." in checked
            facts = json.loads(invoke("check", f"{name}/config.toml", "--json").stdout)
            assert facts["classes"] == [others, one]
        assert "# positive =" in (tmp_path / "last" / "config.toml").read_text()

    def test_json_lists_what_was_made(self, invoke):
        facts = json.loads(invoke("new", "mine", "--json").stdout)
        assert facts["folder"] == "mine"
        assert "config.toml" in facts["files"]

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (("new", "taken"), "taken: the folder is taken"),
            (("new", "file"), "file: the folder is taken"),
            (("new", "..."), "cannot be named so"),
            (("new", "x", "--label", "ill"), "--label needs tables"),
            (("new", "x", "--positive", "ill"), "--positive needs tables"),
            (
                (
                    *("new", "x", "--data", "north.csv", "--data", "south.csv", "--label", "ill"),
                    *("--positive", "yes"),
                ),
                "table.positive: no class has this code (found 'yes', expected '0, 1')",
            ),
            (("new", "x", "--data", "north.csv"), "--label diagnosis"),
            (("new", "x", "--data", "no.csv", "--data", "north.csv", "--label", "ill"), "no.csv"),
            (("new", "x", "--data", "north.csv", "--label", "ill"), "two tables or more"),
            (
                ("new", "x", "--data", "north.csv", "--data", "north.csv", "--label", "ill"),
                "two have the same name (found 'north')",
            ),
        ],
    )
    @pytest.mark.usefixtures("tables")
    def test_refusals_make_nothing(self, invoke, tmp_path, arguments, words):
        (tmp_path / "taken").mkdir()
        (tmp_path / "taken" / "mine").touch()
        (tmp_path / "file").touch()
        before = sorted(tmp_path.rglob("*"))
        result = invoke(*arguments)
        assert result.exit_code == 2
        assert words in result.stderr
        assert result.stderr.count("\n") == 1
        assert sorted(tmp_path.rglob("*")) == before

    def test_a_failure_half_way_leaves_nothing(self, invoke, tmp_path, monkeypatch):
        def full(source, target):
            raise OSError(28, "No space left on device", str(source))

        monkeypatch.setattr("os.replace", full)
        failed = invoke("new", "mine")
        assert failed.exit_code == 75  # a disk may have room again
        assert failed.stderr.startswith("securefair: mine: No space left on device. Free some")
        assert list(tmp_path.iterdir()) == []


class TestCheck:
    def test_it_says_what_will_happen_and_runs_nothing(self, invoke, tmp_path, monkeypatch):
        monkeypatch.setattr("securefair.run.execute.run_resolved", None)
        invoke("new", "mine")
        result = invoke("check", "mine/config.toml")
        assert result.exit_code == 0, result.output
        said = " ".join(result.stdout.split())
        for words in ("Cleveland", "32 features", "Transfer", "12", "nothing was run"):
            assert words in said
        assert "392 B a peer under masks, and encrypt nothing: fits are linear" in said
        assert not (tmp_path / "runs").exists()

    def test_json_holds_the_same(self, invoke):
        invoke("new", "mine")
        facts = json.loads(invoke("check", "mine/config.toml", "--json").stdout)
        assert facts["participants"][0] == {
            "name": "Cleveland",
            "train": 202,
            "test": 101,
            "by_class": [164, 139],
        }
        assert facts["plan"] is None
        assert [row["permitted"] for row in facts["disclosure"]] == [True] * 4

    def test_what_is_encrypted_is_planned_and_said(self, invoke, tmp_path):
        invoke("new", "mine")
        path = tmp_path / "mine" / "config.toml"
        path.write_text(path.read_text().replace('sums = "auto"', 'sums = "none"'))
        said = " ".join(invoke("check", path).stdout.split())
        assert "machine once (with securefair-lab)" in said
        assert "128 bits" in said
        assert "under encryption: the settings say so" in said
        facts = json.loads(invoke("check", path, "--json").stdout)
        assert facts["plan"]["security_bits"] == 128

    def test_settings_that_nothing_reads_are_named(self, invoke, tmp_path):
        invoke("new", "mine")
        path = tmp_path / "mine" / "config.toml"
        given = "\n[training]\nrounds = 77\n[distillation]\nrelease = 'logits'\n"
        path.write_text(
            path.read_text().replace("\n[training]\n", given.split("[dis")[0], 1)
            + given[given.index("[dis") :]
        )
        for command in ("check", "run"):
            result = invoke(command, path)
            assert result.exit_code == 2
            assert "training.rounds, distillation.release: no algorithm" in result.stderr
            assert "distillation.release: vpdl and cycle" in result.stderr

    def test_a_mistake_is_one_line(self, invoke, tmp_path):
        invoke("new", "mine")
        table = tmp_path / "mine" / "data" / "hungary.csv"
        lines = table.read_text().splitlines(keepends=True)
        table.write_text("".join([*lines[:4], lines[4].replace(",", ",odd ", 1), *lines[5:]]))
        result = invoke("check", "mine/config.toml")
        assert result.exit_code == 2
        assert result.stderr.startswith(
            "securefair: participant Hungary, hungary.csv, line 5, column sex: unknown code"
        )
        assert result.stderr.count("\n") == 1


def every_command():
    group = typer.main.get_command(app)
    for name, command in group.commands.items():
        inner = getattr(command, "commands", {"": command})
        yield from ((f"{name} {sub}".strip(), one) for sub, one in inner.items())


@pytest.mark.parametrize(("name", "command"), list(every_command()), ids=str)
def test_every_command_has_help_with_an_example(name, command):
    assert f"Example: securefair {name}" in command.help


def test_a_broken_pipe_is_no_error(invoke, monkeypatch):
    def closed(*_, **__):
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr("typer.echo", closed)
    result = invoke("config")
    assert (result.exit_code, result.stderr) == (0, "")


class TestConfig:
    def test_every_key_of_the_template_is_explained(self, invoke):
        text = invoke("config").stdout
        assert parse_config(text, source="template") == demo_config()
        lines = [line for line in text.splitlines() if line and not line.startswith("[")]
        for before, line in pairwise(lines):
            assert line.startswith("#") or before.startswith("#"), line

    @pytest.mark.parametrize("name", REGISTERED)
    def test_that_of_one_algorithm_has_its_keys_only(self, invoke, name):
        text = invoke("config", "--algorithm", name).stdout
        config = parse_config(text, source="template")
        assert config.run.algorithms == ("standalone", name)
        refuse_unread(config)
        kind_of(name).check(config)
        assert "[distillation]" not in text or name in ("vpdl", "cycle")

    def test_an_algorithm_that_nobody_has_is_refused(self, invoke):
        done = invoke("config", "--algorithm", "transfr")
        assert (done.exit_code, done.stdout) == (2, "")
        assert "Did you mean transfer" in done.stderr

    def test_json_holds_the_same(self, invoke):
        assert json.loads(invoke("config", "--json").stdout)["training"]["rounds"] == 8


def test_every_command_has_json():
    without = [
        name
        for name, command in every_command()
        if "--json" not in {option for one in command.params for option in one.opts}
    ]
    assert without == []


def test_the_version_is_told(invoke):
    result = invoke("--version")
    assert result.exit_code == 0
    assert result.stdout.strip()


def test_the_rules_that_were_inferred_are_kept_though_a_table_changes(
    invoke, tmp_path, tables, monkeypatch
):
    from securefair.run import execute as experiment

    real = experiment.run_resolved

    def edited_meanwhile(*given, **settings):
        outcome = real(*given, **settings)
        (tmp_path / "north.csv").write_text(NORTH.replace("30,f", "990,f"))
        return outcome

    (tmp_path / "c.toml").write_text(
        '[run]\nname = "own"\nalgorithms = ["standalone"]\n[data]\nsource = "files"\n'
        '[table]\nlabel = "ill"\n[training]\nrounds = 1\n'
        '[[participants]]\nname = "n"\nfile = "north.csv"\n'
        '[[participants]]\nname = "s"\nfile = "south.csv"\n'
    )
    monkeypatch.setattr(experiment, "run_resolved", edited_meanwhile)
    assert invoke("run", "c.toml", "--out", "out").exit_code == 0
    (age, *_) = load_config(tmp_path / "out" / "config.toml").table.columns
    assert (age.name, age.high) == ("age", 90.0)
