"""What `new`, `check` and `run` make of own tables, and say of them."""

import json

import pytest

from securefair.config import load_config
from securefair.user import tables as own_tables


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
            (("--drop", "ill"), "the column to predict cannot be left out"),
            (("--class", "no", "--class", "maybe"), "belong to no class"),
            (("--class", "", "--class", "yes"), "a class needs codes"),
            (("--image", "photo"), "the table has no such column"),
        ],
    )
    def test_what_no_table_has_is_refused(self, invoke, tables, options, words):
        refused = invoke("new", "p", *tables, *options)
        assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
        assert words in refused.stderr

    def test_yes_is_positive_wherever_it_stands(self, invoke, tmp_path):
        for name in ("north", "south"):
            (tmp_path / f"{name}.csv").write_text(site(["nein", "ja"], shift=len(name)))
        tables = ("--data", "north.csv", "--data", "south.csv", "--label", "ill")
        assert self.made(invoke, tmp_path, *tables).positive == "ja"

    def test_what_leaves_a_column_out_is_told(self, invoke, tmp_path):
        for name in ("north", "south"):
            header, *lines = site(["no", "yes"], shift=len(name)).splitlines()
            cells = [line.split(",") for line in lines]
            rows = [f"{age},{age}.5 kg/m2,{chol},{ill}" for age, chol, ill in cells]
            header = f"age,bmi,{'Chol' if name == 'south' else 'chol'},ill"
            (tmp_path / f"{name}.csv").write_text("\n".join([header, *rows]) + "\n")
        tables = ("--data", "north.csv", "--data", "south.csv", "--label", "ill")
        said = invoke("new", "p", *tables, "--missing", "-77,-88").stdout
        assert '.5 kg/m2" hold a number and a text' in said
        assert 'Column chol is not used: only in the table of north; others have "Chol".' in said
        assert 'no table has the code "-77,-88" that was given as missing' in said

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

    @pytest.mark.slow  # a whole run
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
        run = invoke("run", "p/config.toml", "--backend", "clear")
        assert run.exit_code == 2
        assert "column chol: half of the values are" in run.output
        config = tmp_path / "p" / "config.toml"
        meant = config.read_text().replace("same_unit = []", 'same_unit = ["chol"]')
        config.write_text(meant)
        said = " ".join(invoke("run", "p/config.toml", "--backend", "clear").stdout.split())
        assert "which the range 3 to 240 makes nearly equal" in said
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
        monkeypatch.setattr(
            own_tables, "read_rows", lambda path, **how: read.append(path) or real(path, **how)
        )
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


@pytest.mark.parametrize("option", [("--extractor", "resnet50"), ("--features", 9)])
def test_what_only_images_have_is_refused_without_them(invoke, tables, option):
    done = invoke("new", "mine", *tables, *option)
    assert done.exit_code == 2
    assert "only a column of images" in done.stderr


def test_a_check_says_how_far_a_stand_in_is_from_the_model_that_is_brought(invoke, tmp_path):
    for name, shift in (("north", 0), ("south", 5)):
        (tmp_path / f"{name}.csv").write_text(site(["no", "yes"], shift=shift))
    tables = ("--data", "north.csv", "--data", "south.csv", "--label", "ill")
    assert invoke("new", "p", *tables).exit_code == 0
    config = tmp_path / "p" / "config.toml"
    text = config.read_text()
    assert "stand-in" not in invoke("check", "p/config.toml").output
    config.write_text(text.replace("# teacher =", 'teacher = "forest"', 1))
    told = " ".join(invoke("check", "p/config.toml").output.split())
    run = invoke("run", "p/config.toml", "--backend", "clear", "--out", "done")
    assert run.exit_code == 0, run.stderr
    metrics = json.loads(next((tmp_path / "done").rglob("metrics.json")).read_text())
    found = metrics["algorithms"]["transfer"]["stand_ins"]
    assert list(found) == ["north"]
    assert 0 < found["north"]["own"] < 1
    assert f"their probabilities differ by {found['north']['own']:.3f} on average" in told
