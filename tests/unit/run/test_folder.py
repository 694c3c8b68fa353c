import io
import json
from dataclasses import replace

import pytest
from rich.console import Console

from securefair.config import demo_config, override
from securefair.errors import DataError
from securefair.prediction.versions import versions
from securefair.report import show_progress
from securefair.run.checkpoint import FOLDER as UNFINISHED
from securefair.run.folder import MEASURED, read_run, write_outcome, write_page
from support.experiments import run_experiment

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def config():
    settings = {
        "run.algorithms": ["standalone", "vpdl", "cycle"],
        "run.smaller": None,
        "encryption.backend": "clear",
        "model.kind": "linear",
        "distillation.q": 16,
        "training.rounds": 2,
        "training.local_epochs": 2,
        "run.seeds": [0],
    }
    return override(demo_config(), settings, source="test")


@pytest.fixture(scope="module")
def outcome(config):
    with show_progress(Console(file=io.StringIO())) as progress:
        return run_experiment(config, progress)


@pytest.fixture
def folder(outcome, config, tmp_path):
    write_outcome(outcome, tmp_path)
    return tmp_path


def test_what_is_written_reads_back_equal(folder, outcome, config):
    read, written = vars(read_run(folder)), vars(outcome)
    assert [one.card for one in read.pop("models")] == [one.card for one in outcome.models]
    assert read == {name: value for name, value in written.items() if name != "models"}
    assert outcome.config == config
    assert outcome.versions == versions()


def test_what_cannot_repeat_is_kept_apart(folder, outcome):
    metrics = (folder / "metrics.json").read_text()
    measured = (folder / "measured.json").read_text()
    for name in MEASURED:
        assert f'"{name}"' not in metrics
        assert f'"{name}"' in measured
    assert repr(outcome.result.encryption.seconds) in measured


def test_the_page_is_rebuilt_from_the_files_alone(folder):
    page = (folder / "report.html").read_bytes()
    (folder / "report.html").unlink()
    write_page(read_run(folder), folder)
    assert (folder / "report.html").read_bytes() == page


@pytest.mark.parametrize(
    "name", ["measured.json", "rounds.jsonl", "exchanges.jsonl", "ledger.json", "traffic.json"]
)
def test_a_missing_or_damaged_file_is_named(folder, name):
    (folder / name).write_text("{")
    with pytest.raises(DataError) as caught:
        read_run(folder)
    assert name in str(caught.value)
    (folder / name).unlink()
    with pytest.raises(DataError) as caught:
        read_run(folder)
    assert name in str(caught.value)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 1}', '{"encryption": 3}', "\xff"])
def test_metrics_that_are_none_are_refused(folder, text):
    (folder / "metrics.json").write_text(text)
    with pytest.raises(DataError, match=r"metrics.json"):
        read_run(folder)


@pytest.mark.parametrize("found", [1, 3, None, "2"])
def test_results_of_another_version_are_refused_by_name(folder, found):
    path = folder / "metrics.json"
    written = json.loads(path.read_text())
    path.write_text(json.dumps({**written, "format": found}))
    (folder / "measured.json").unlink()  # whatever else is there, the version is what is told
    message = rf"metrics.json: the run was written by another version.*format {found}.*format 2"
    with pytest.raises(DataError, match=message):
        read_run(folder)


def test_another_folder_is_no_run(tmp_path):
    with pytest.raises(DataError, match="no folder of a finished run") as caught:
        read_run(tmp_path)
    assert "A run writes runs/NAME" in str(caught.value)


def test_a_site_is_no_run_and_its_report_is_named(tmp_path):
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "report.html").write_text("")
    for folder in (tmp_path, tmp_path / "results"):
        with pytest.raises(DataError, match=r"A site wrote its report: .*report\.html"):
            read_run(folder)


def test_a_run_in_the_place_of_an_earlier_one_leaves_none_of_it(folder, outcome):
    """Else a report would show small hospitals, or coefficients, that this run never had."""
    write_outcome(replace(outcome, smaller=outcome), folder)
    assert read_run(folder).smaller is not None
    (folder / "estimates.csv").write_text("of an earlier run")
    write_outcome(outcome, folder)
    assert read_run(folder).smaller is None
    assert not (folder / "smaller").exists()
    assert not (folder / "estimates.csv").exists()


def test_what_no_run_wrote_stays(folder, outcome):
    """Notes beside the models, and those beside a checkpoint, are somebody's work."""
    name = outcome.models[0].model.record.hospital
    beside = (f"models/{name}/notes.txt", f"{UNFINISHED}/notes.txt")
    kept = ("models/mine/x", "models/read.me", *beside)
    for each in kept:
        (folder / each).parent.mkdir(exist_ok=True)
        (folder / each).write_text("mine")
    (folder / "models" / name).rename(folder / "models" / "of an earlier run")
    (folder / UNFINISHED / "config.toml").write_text("")
    write_outcome(outcome, folder)
    kept = [each.replace(name, "of an earlier run") for each in kept]
    assert {(folder / each).read_text() for each in kept} == {"mine"}
    assert [path.name for path in (folder / UNFINISHED).iterdir()] == ["notes.txt"]
    left = [path.name for path in (folder / "models" / "of an earlier run").iterdir()]
    assert left == ["notes.txt"]
    assert len(read_run(folder).models) == len(outcome.models)


def test_models_in_a_folder_of_no_run_stay(outcome, tmp_path):
    """As those in a site's results."""
    place = tmp_path / "models" / "a"
    place.mkdir(parents=True)
    (place / "model.json").write_text("mine")
    write_outcome(replace(outcome, models=[]), tmp_path)
    assert (place / "model.json").read_text() == "mine"


def test_what_no_run_wrote_stays_beside_a_smaller_one_too(folder, outcome):
    write_outcome(replace(outcome, smaller=outcome), folder)
    (folder / "smaller" / "notes.txt").write_text("mine")
    write_outcome(outcome, folder)
    assert [path.name for path in (folder / "smaller").iterdir()] == ["notes.txt"]
