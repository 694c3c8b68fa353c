"""From an empty folder to results on tables, by the commands that `new` prints."""

import json
import re
from itertools import pairwise

import pytest
import typer

from securefair.cli import app
from securefair.collaboration.kinds import REGISTERED, kind_of, refuse_unread, unread_keys
from securefair.config import demo_config, given_keys, load_config, parse_config
from securefair.user import tables as own_tables

NORTH = "".join(
    ["age,sex,ill\n", *(f"{30 + n % 37},{'fm'[n % 2]},{int(n % 5 > 2)}\n" for n in range(40))]
)


@pytest.fixture
def tables(tmp_path):
    (tmp_path / "north.csv").write_text(NORTH)
    (tmp_path / "south.csv").write_text(NORTH.replace("39,m", "85,m"))
    return ("--data", "north.csv", "--data", "south.csv", "--label", "ill")


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
            assert unread_keys(config).isdisjoint(given_keys(config))
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
            raise OSError(28, "No space left on device", str(target))

        monkeypatch.setattr("os.replace", full)
        assert invoke("new", "mine").exit_code == 2
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
        assert "388 B a peer under masks, and encrypt nothing: fits are linear" in said
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
        assert set(unread_keys(config)).isdisjoint(given_keys(config))
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


def site(text, rows=60, shift=0):
    """A table of two measurements and an outcome that none of them gives away."""
    lines = ["age,chol,ill"]
    for n in range(rows):
        ill = text[(n * 7 + n // 3) % 2]
        lines.append(f"{20 + (n * 13 + shift) % 50},{150 + (n * 29 + shift) % 90},{ill}")
    return "\n".join(lines) + "\n"


class TestOptionsOfNew:
    def made(self, invoke, tmp_path, *options):
        done = invoke("new", "p", *options)
        assert done.exit_code == 0, done.output
        return load_config(tmp_path / "p" / "config.toml").table

    def test_names_columns_codes_and_classes(self, invoke, tmp_path):
        for name, text in (("a", ["no", "ja"]), ("b", ["0", "1"])):
            (tmp_path / name).mkdir()
            rows = site(text, shift=len(name)).splitlines()
            table = [f"{row},{n}" for n, row in enumerate(rows[1:])]
            table[4] = table[4].replace(table[4].split(",")[0], "weiss nicht", 1)
            (tmp_path / name / "t.csv").write_text("\n".join([f"{rows[0]},bed", *table]) + "\n")
        tables = ("--data", "north=a/t.csv", "--data", "south=b/t.csv", "--label", "ill")
        asked = invoke("new", "p", *tables)
        assert asked.exit_code == 2
        assert "Do these mean no and yes? Then say so: --class 0,no --class 1,ja" in asked.stderr
        classes = ("--class", "0,no", "--class", "1,ja")
        options = (*tables, *classes, "--missing", "weiss nicht", "--drop", "bed")
        table = self.made(invoke, tmp_path, *options)
        assert table.classes == (("0", "no"), ("1", "ja"))
        assert [one.name for one in table.columns] == ["age"]
        assert table.columns[0].optional
        assert "weiss nicht" in table.missing
        config = load_config(tmp_path / "p" / "config.toml")
        assert [one.name for one in config.participants] == ["north", "south"]

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            (("--drop", "wieght"), "no table has this column"),
            (("--drop", "ill"), "tables need a column to predict"),
            (("--class", "no", "--class", "maybe"), "belong to no class"),
        ],
    )
    def test_what_no_table_has_is_refused(self, invoke, tables, options, words):
        refused = invoke("new", "p", *tables, *options)
        assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
        assert words in refused.stderr

    def test_options_of_tables_need_some(self, invoke):
        assert "--missing needs tables" in invoke("new", "p", "--missing", "x").stderr


class TestFindings:
    def test_programs_get_them_as_a_list(self, invoke, tmp_path):
        (tmp_path / "north.csv").write_text(site(["no", "yes"]).replace("20,150,", "-999,150,", 1))
        (tmp_path / "south.csv").write_text(site(["no", "yes"], shift=1).replace(",", ";"))
        made = invoke("new", "p", "--data", "north.csv", "--data", "south.csv", "--label", "ill")
        assert made.exit_code == 0, made.output
        assert 'north, column age, line 2: "-999" stands once' in made.stdout
        assert "The configuration counts it as missing" in made.stdout
        (tmp_path / "north.csv").write_text(
            (tmp_path / "north.csv").read_text().replace("-999,", "-999.0,")
        )  # the same number
        done = invoke("check", "p/config.toml", "--json")
        assert done.exit_code == 0, done.output
        (one,) = json.loads(done.stdout)["findings"]
        assert (one["site"], one["column"], one["line"], one["kind"]) == (
            "south",
            None,
            1,
            "separator",
        )
        assert {"message", "remedy"} <= one.keys()  # and -999 is a missing value by now

    def test_people_get_a_line_each_and_a_run_counts_them(self, invoke, tmp_path):
        (tmp_path / "north.csv").write_text(site(["no", "yes"]))
        (tmp_path / "south.csv").write_text(site(["no", "yes"], shift=1).replace(",", ";"))
        invoke("new", "p", "--data", "north.csv", "--data", "south.csv", "--label", "ill")
        said = invoke("check", "p/config.toml").stdout.splitlines()
        (line,) = [one for one in said if one.startswith("south, line 1: ")]
        assert line.endswith("Nothing to do if the columns are right.")
        text = " ".join(" ".join(said).split())
        assert "Everything is in order; nothing was run" in text  # a note is nothing to do
        south = (tmp_path / "south.csv").read_text().splitlines()
        (tmp_path / "south.csv").write_text("".join(f"{one};é\n" for one in south), "latin-1")
        text = " ".join(invoke("check", "p/config.toml").stdout.split())
        assert "It can be run; nothing was run. 1 point to look at in the tables" in text
        assert "Everything is in order" not in text
        run = ("run", "p/config.toml", "--backend", "clear", "--out")
        assert "1 point to look at in the tables: securefair check" in invoke(*run, "a").stdout
        assert "point" not in invoke(*run, "b", "--quiet").stdout

    def test_what_makes_every_figure_wrong_has_a_line_of_its_own_in_a_run(self, invoke, tmp_path):
        (tmp_path / "north.csv").write_text(site(["no", "yes"]))
        header, *lines = site(["no", "yes"], shift=1).splitlines()
        cells = [line.split(",") for line in lines]
        other = [f"{age},{int(chol) / 38.67:.2f},{ill}" for age, chol, ill in cells]
        (tmp_path / "south.csv").write_text("\n".join([header, *other]) + "\n")
        invoke("new", "p", "--data", "north.csv", "--data", "south.csv", "--label", "ill")
        said = " ".join(invoke("run", "p/config.toml", "--backend", "clear").stdout.split())
        assert "north, column chol: half of the values lie between" in said
        assert "times higher than at south: the unit may differ" in said
        assert "to look at in the tables" not in said  # there is nothing else

    def test_what_makes_results_wrong_goes_with_them(self, invoke, tmp_path):
        for shift, name in enumerate(("north", "south")):
            header, *lines = site(["no", "yes"], shift=shift).splitlines()
            told = [f"{line},{'drug' if line.endswith('yes') else 'rest'}" for line in lines]
            (tmp_path / f"{name}.csv").write_text("\n".join([f"{header},therapy", *told]) + "\n")
        invoke("new", "p", "--data", "north.csv", "--data", "south.csv", "--label", "ill")
        assert invoke("run", "p/config.toml", "--backend", "clear", "--out", "out").exit_code == 0
        found = json.loads((tmp_path / "out" / "metrics.json").read_text())["findings"]
        assert list(found) == ["north", "south"]
        assert all(
            "column therapy: this column alone tells 100%" in one[0] for one in found.values()
        )
        page = (tmp_path / "out" / "report.html").read_text()
        assert "north: column therapy: this column alone tells 100%" in page
        card = (tmp_path / "out" / "models" / "south" / "card.md").read_text()
        assert "In the table it was trained on: column therapy" in " ".join(card.split())

    def test_tables_are_read_once(self, invoke, tmp_path, monkeypatch):
        for name in ("north", "south"):
            (tmp_path / f"{name}.csv").write_text(site(["no", "yes"], shift=len(name)))
        read = []
        real = own_tables.read_rows
        monkeypatch.setattr(own_tables, "read_rows", lambda path: read.append(path) or real(path))
        given = ("--data", "north.csv", "--data", "south.csv", "--label", "ill")
        assert invoke("new", "p", *given).exit_code == 0
        assert len(read) == 2
        assert invoke("check", "p/config.toml").exit_code == 0
        assert len(read) == 4

    def test_a_refusal_is_in_the_list_and_ends_with_2(self, invoke, tmp_path):
        (tmp_path / "north.csv").write_text(site(["no", "yes"]))
        (tmp_path / "south.csv").write_text(site(["NO", "YES"], shift=1))
        tables = ("--data", "north.csv", "--data", "south.csv", "--label", "ill")
        refused = invoke("new", "p", *tables)
        assert refused.exit_code == 2
        assert "differ in their spelling only" in refused.stderr
        assert invoke("new", "p", *tables, "--join-spellings").exit_code == 0
        config = tmp_path / "p" / "config.toml"
        lines = config.read_text().splitlines()
        config.write_text(
            "\n".join(line for line in lines if not line.startswith(("classes =", "spellings =")))
        )
        done = invoke("check", config, "--json")
        assert done.exit_code == 2
        said = json.loads(done.stdout)["findings"]
        assert {one["kind"] for one in said if one["severity"] == "refusal"} == {
            "spelling",
            "refused",
        }
