import io
import shutil
from html.parser import HTMLParser

import pytest
from rich.console import Console

from securefair.config import demo_config, override
from securefair.errors import ConfigError, DataError
from securefair.report import show_progress
from securefair.run.folder import write_outcome
from securefair_lab.runs.comparing import compare_runs, comparison_rows, write_comparison
from support.experiments import run_experiment

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("few")]

SMALL = {
    "run.algorithms": ["standalone", "vpdl", "cycle"],
    "run.smaller": None,
    "encryption.backend": "clear",
    "model.kind": "linear",
    "distillation.q": 16,
    "training.rounds": 2,
    "training.local_epochs": 2,
    "run.seeds": [0],
    "report.html": False,
}


def run_into(folder, **changes):
    config = override(demo_config(), SMALL | changes, source="test")
    with show_progress(Console(file=io.StringIO())) as progress:
        write_outcome(run_experiment(config, progress), folder)
    return folder


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    base = tmp_path_factory.mktemp("runs")
    return [
        run_into(base / "a"),
        run_into(base / "b <i>", **{"training.rounds": 3, "run.seeds": [0, 1]}),
        run_into(base / "c", **{"run.algorithms": ["standalone"]}),
    ]


def test_figures_are_those_of_the_runs(folders):
    from securefair.run.folder import read_run

    comparison = compare_runs(folders)
    for run, folder in zip(comparison.runs, folders, strict=True):
        outcome = read_run(folder)
        assert [one.name for one in run.algorithms] == list(outcome.result.algorithms)
        assert set(outcome.result.controls) <= {one.name for one in run.algorithms}
        for one in run.algorithms:
            figure = outcome.result.algorithms[one.name]
            assert (one.mva, one.mcg, one.accuracy) == (figure.mva, figure.mcg, figure.accuracy)
    first = comparison.runs[0]
    ledger = [r for r in read_run(folders[0]).ledger if r.algorithm == "cycle"]
    by_teacher = {r.teacher: 0 for r in ledger}
    for row in ledger:
        by_teacher[row.teacher] += row.numbers_total
    assert first.most_disclosed == max(by_teacher.values())
    assert comparison.runs[2].bytes is None


def test_rows_tell_only_what_there_is(folders):
    headings, rows = comparison_rows(compare_runs(folders))
    assert {len(row) for row in rows} == {len(headings)}
    assert [row[1] for row in rows].count("CYCle") == 2
    alone = rows[-1]
    assert (alone[0], alone[1]) == (str(folders[2]), "Alone")
    assert alone[headings.index("Score")].startswith("Log-loss 0.")
    assert {cell for at, cell in enumerate(alone[3:], 3) if headings[at] != "Score"} == {""}
    together = next(row for row in rows if row[1] == "CYCle")
    assert together[headings.index("Gain over best control")].endswith(")")


def test_what_makes_runs_hard_to_compare_is_said(folders):
    text = " ".join(compare_runs(folders[:2]).cautions)
    for words in ("different seeds", "numbers of rounds", "clear encrypted nothing", "single seed"):
        assert words in text
    assert "participants" not in text


def test_another_task_on_the_same_participants_is_said(folders, tmp_path):
    for name, label in (("one", "ill"), ("two", "well")):
        shutil.copytree(folders[0], tmp_path / name)
        people = "".join(f'[[participants]]\nname = "{n}"\nfile = "{name}-{n}.csv"\n' for n in "ab")
        (tmp_path / name / "config.toml").write_text(
            f'[run]\nname = "x"\n[data]\nsource = "files"\n[table]\nlabel = "{label}"\n{people}'
        )
    text = " ".join(compare_runs([tmp_path / "one", tmp_path / "two"]).cautions)
    assert "different data sets" in text
    shutil.copytree(tmp_path / "one", tmp_path / "again")
    again = compare_runs([tmp_path / "one", tmp_path / "again"])
    assert "different" not in " ".join(again.cautions)


class Text(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.text = [], ""

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.text += data


def test_the_page_loads_nothing_and_escapes_names(folders, tmp_path):
    page = write_comparison(compare_runs(folders), tmp_path / "deep" / "c.html")
    parser = Text()
    parser.feed(page.read_text("utf-8"))
    assert not any(attributes.keys() & {"src", "href"} for _, attributes in parser.tags)
    assert "i" not in {tag for tag, _ in parser.tags}
    for words in ("b <i>", "CYCle", "VA Long Beach"):
        assert words in parser.text


@pytest.mark.parametrize("chosen", [[0], [0, 0]])
def test_one_run_is_no_comparison(folders, chosen):
    with pytest.raises(ConfigError, match="two different runs"):
        compare_runs([folders[at] for at in chosen])


def test_a_folder_without_a_run_is_named(folders, tmp_path):
    with pytest.raises(DataError, match="no folder of a finished run") as caught:
        compare_runs([folders[0], tmp_path])
    assert str(tmp_path) in str(caught.value)
