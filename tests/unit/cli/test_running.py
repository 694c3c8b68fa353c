"""The command line in this process: what it passes on, prints, and how it refuses.

`tests/system/test_demo.py` runs it as a program.
"""

import msgspec
import numpy as np
import pytest

from securefair.config import demo_config, parse_config
from securefair.data.dataset import ParticipantData, Samples
from securefair.errors import ModelError
from securefair.records import RunResult
from securefair.report import write_bytes
from securefair.run.folder import read_result
from securefair.user import participants

pytestmark = pytest.mark.slow

SMALL = """
[run]
name = "small"
algorithms = ["standalone", "vpdl", "cycle"]
[data]
source = "heart"
[model]
kind = "linear"
[training]
rounds = 1
local_epochs = 1
[encryption]
backend = "clear"
"""
ALONE = SMALL.replace('"small"', '"alone"').replace(', "vpdl", "cycle"', "")


@pytest.fixture
def captured(monkeypatch):
    """The configurations that would have been run; every run stops there."""
    configs = []

    def stop(resolved, progress, **_):
        configs.append(resolved.config)
        raise ModelError("enough")

    monkeypatch.setattr("securefair.run.execute.run_resolved", stop)
    return configs


def assert_refused(result, folder, *words):
    """Exit code 2, one line on stderr that says where and what, and nothing written."""
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("securefair: ")
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.output
    for word in words:
        assert word in result.stderr
    assert not folder.exists()


class TestConfig:
    def test_the_printed_template_is_the_demo(self, invoke):
        result = invoke("config")
        assert result.exit_code == 0
        assert parse_config(result.stdout, source="printed") == demo_config()


class TestOptions:
    def test_the_demo_is_the_packaged_configuration(self, invoke, captured):
        invoke("demo")
        assert captured == [demo_config()]

    def test_options_replace_what_the_configuration_says(self, invoke, captured, tmp_path):
        (tmp_path / "c.toml").write_text(SMALL)
        invoke("run", "c.toml", "--seeds", "3", "--rounds", "7", "--backend", "seal")
        (config,) = captured
        assert config.run.seeds == (0, 1, 2)
        assert config.training.rounds == 7
        assert config.encryption.backend == "seal"
        assert config.model.kind == "linear"

    @pytest.mark.parametrize("option", ["--seeds", "--rounds"])
    def test_counts_are_positive(self, option, invoke, captured):
        assert invoke("demo", option, "0").exit_code == 2
        assert captured == []

    def test_an_unknown_backend_is_refused_with_the_known_ones(self, invoke, captured, tmp_path):
        result = invoke("demo", "--backend", "sael")
        assert_refused(
            result, tmp_path / "runs", "command line: encryption.backend", "sael", '"seal"'
        )
        assert captured == []


class TestResults:
    def test_they_go_to_the_run_s_own_folder(self, invoke, tmp_path):
        (tmp_path / "c.toml").write_text(ALONE)
        result = invoke("run", "c.toml")
        assert result.exit_code == 0, result.output
        assert result.stdout.rstrip().endswith("Results: runs/alone/report.html")
        assert (tmp_path / "runs" / "alone" / "report.html").exists()

    def test_the_configuration_may_name_another_folder(self, invoke, tmp_path):
        (tmp_path / "c.toml").write_text(ALONE.replace("[data]", 'out = "mine"\n[data]'))
        assert invoke("run", "c.toml").exit_code == 0
        assert (tmp_path / "mine" / "alone" / "metrics.json").exists()

    def test_that_folder_is_seen_from_where_the_program_starts(self, invoke, tmp_path):
        (tmp_path / "deep").mkdir()
        text = ALONE.replace("[run]", '[run]\nout = "results"')
        (tmp_path / "deep" / "c.toml").write_text(text)
        assert invoke("run", "deep/c.toml").exit_code == 0
        assert (tmp_path / "results" / "alone" / "metrics.json").exists()
        assert "seen from where the program starts" in invoke("config").stdout

    def test_the_command_line_has_the_last_word(self, invoke, tmp_path):
        (tmp_path / "c.toml").write_text(ALONE.replace("[data]", 'out = "mine"\n[data]'))
        assert invoke("run", "c.toml", "--out", "here/there").exit_code == 0
        assert (tmp_path / "here" / "there" / "metrics.json").exists()
        assert not (tmp_path / "mine").exists()

    def test_json_is_all_that_stdout_gets(self, invoke, tmp_path):
        (tmp_path / "c.toml").write_text(SMALL)
        result = invoke("run", "c.toml", "--json", "--out", "out")
        assert result.exit_code == 0, result.output
        printed = msgspec.json.decode(result.stdout, type=RunResult)
        written, _ = read_result(tmp_path / "out")
        assert printed == written
        assert "CYCle: round 1 of 1" in result.stderr  # progress does not disturb a pipe

    def test_problems_of_peers_are_shown(self, invoke, tmp_path, monkeypatch):
        from securefair.run import execute as experiment

        (tmp_path / "c.toml").write_text(SMALL)
        run = experiment.run_resolved

        def troubled(resolved, progress, **others):
            outcome = run(resolved, progress, **others)
            outcome.result.problems["0"] = ["Cleveland blames Hungary: peer Hungary: [odd] bytes"]
            return outcome

        monkeypatch.setattr(experiment, "run_resolved", troubled)
        assert "Hungary: [odd] bytes" in invoke("run", "c.toml").stdout.replace("\n", " ")


MISTAKES = {
    "unknown key": (
        SMALL + "\n[fairness]\nalhpa = 0.5\n",
        ("fairness.alhpa", "Did you mean alpha"),
    ),
    "unknown section": (SMALL + "\n[fairnes]\nalpha = 0.5\n", ("fairnes", "no such key")),
    "wrong type": (
        SMALL.replace("rounds = 1", 'rounds = "one"'),
        ("training.rounds", "whole number"),
    ),
    "out of range": (SMALL.replace("rounds = 1", "rounds = 0"), ("training.rounds", "found 0")),
    "unknown data set": (SMALL.replace('"heart"', '"lungs"'), ("data.source", '"heart"')),
    "missing key": (SMALL.replace('source = "heart"', ""), ("data.source", "missing")),
    "a release that cannot train": (
        SMALL + '\n[distillation]\nrelease = "loss"\n',
        ("distillation.release", "only monitors", '"projection"'),
    ),
    "too few samples for q": (
        SMALL + "\n[distillation]\nq = 100\n",
        ("Switzerland, q", "82 samples", "q = 41 or less"),
    ),
    "too precise": (
        SMALL + "precision = 1e-12\n",
        ("Switzerland, precision", "at least", "larger error"),
    ),
    "diverging": (
        SMALL.replace("[training]", "[training]\nlearning_rate = 1e300\nclip_norm = 1e300"),
        ("diverged", "Lower the learning rate"),
    ),
    "keys that nothing reads": (
        SMALL.replace('"vpdl", "cycle"', '"transfer"') + "[distillation]\nrelease = 'logits'\n",
        (
            "model.kind, training.local_epochs, training.rounds, distillation.release",
            "no algorithm of this run learns by these keys",
            "distillation.release: vpdl and cycle",
        ),
    ),
    "not TOML": ("[run\nname =", ("not valid TOML", "line 1")),
}


class TestRefusals:
    @pytest.mark.parametrize(("text", "words"), MISTAKES.values(), ids=MISTAKES)
    def test_a_mistaken_configuration(self, text, words, invoke, tmp_path):
        (tmp_path / "c.toml").write_text(text)
        assert_refused(invoke("run", "c.toml", "--out", "out"), tmp_path / "out", *words)

    def test_a_file_that_is_not_there(self, invoke, tmp_path):
        result = invoke("run", "nowhere.toml", "--out", "out")
        assert_refused(result, tmp_path / "out", "nowhere.toml", "cannot be read", "TOML file")

    def test_a_file_that_is_not_text(self, invoke, tmp_path):
        (tmp_path / "c.toml").write_bytes(b"\xff\xfe\x00")
        assert_refused(invoke("run", "c.toml", "--out", "out"), tmp_path / "out", "not UTF-8")

    @pytest.mark.parametrize(
        ("features", "labels", "words"),
        [
            (np.array([[0.0], [np.nan]]), np.array([0, 1]), ("row 1", "NaN", "Fill missing")),
            (np.array([[0.0], [np.inf]]), np.array([0, 1]), ("row 1", "infinite", "Fill missing")),
            (np.zeros((2, 1)), np.array([0, 2]), ("label is out of range", "found 2", "0 to 1")),
            (np.zeros((2, 1)), np.array([-1, 0]), ("label is out of range", "found -1", "0 to 1")),
            (np.zeros((3, 1)), np.array([0, 1]), ("features and labels disagree", "(3, 1)")),
        ],
        ids=["NaN", "infinity", "label too large", "label negative", "lengths"],
    )
    def test_samples_that_cannot_be_used(
        self, features, labels, words, invoke, tmp_path, monkeypatch
    ):
        def load(*_, **__):
            samples = Samples(features, labels, 2)
            return [ParticipantData("ann", samples, samples)]

        monkeypatch.setitem(participants.PACKAGED, "heart", load)
        assert_refused(invoke("demo", "--out", "out"), tmp_path / "out", *words)

    def test_a_file_in_the_way_of_the_folder(self, invoke, captured, tmp_path):
        (tmp_path / "taken").write_text("mine")
        result = invoke("demo", "--out", "taken/deeper")
        assert_refused(
            result, tmp_path / "taken" / "deeper", "taken is not a folder", "Choose another"
        )
        assert captured == []  # found out before the run, not after it
        assert (tmp_path / "taken").read_text() == "mine"

    def test_a_folder_that_may_not_be_written(self, invoke, captured, tmp_path, monkeypatch):
        monkeypatch.setattr("os.access", lambda *_: False)  # root may write everywhere
        result = invoke("demo", "--out", "locked/out")
        assert_refused(result, tmp_path / "locked", "cannot write to locked/out", "--out")
        assert captured == []

    def test_a_disk_that_fills_up_leaves_no_metrics(self, invoke, tmp_path, monkeypatch):
        def full(path, rows):
            raise OSError(28, "No space left on device", str(path))

        (tmp_path / "c.toml").write_text(ALONE)
        monkeypatch.setattr("securefair.run.folder.write_json_lines", full)
        result = invoke("run", "c.toml", "--out", "out")
        assert result.exit_code == 2
        assert result.stderr == (
            "securefair: out/rounds.jsonl: No space left on device. "
            "Go on from the last finished round: securefair resume out\n"
        )
        left = sorted(path.name for path in (tmp_path / "out").iterdir())
        assert left == ["config.toml", "unfinished"]
        monkeypatch.undo()
        monkeypatch.chdir(tmp_path)
        assert invoke("resume", "out").exit_code == 0  # nothing has to be computed again
        assert (tmp_path / "out" / "metrics.json").exists()

    def test_a_disk_that_fills_up_in_a_round_can_be_gone_on_from(
        self, invoke, tmp_path, monkeypatch
    ):
        (tmp_path / "c.toml").write_text(SMALL.replace("rounds = 1", "rounds = 5"))
        written = []

        def full(path, data, **options):
            written.append(path)
            if len(written) > 6 * 2 + 3:  # after six controls, in the fourth round
                raise OSError(28, "No space left on device")
            return write_bytes(path, data, **options)

        monkeypatch.setattr("securefair.run.entry.write_bytes", full)
        result = invoke("run", "c.toml", "--out", "out")
        assert result.exit_code == 2
        assert result.stderr == (
            "securefair: No space left on device. "
            "Go on from the last finished round: securefair resume out\n"
        )
        monkeypatch.undo()
        monkeypatch.chdir(tmp_path)
        resumed = invoke("resume", "out")
        assert resumed.exit_code == 0, resumed.output
        assert "3 of them done before" in resumed.output

    def test_too_many_seeds_are_refused(self, invoke, captured):
        result = invoke("demo", "--seeds", "100000000000")
        assert result.exit_code == 2
        assert "--seeds" in result.stderr
        assert captured == []

    def test_too_little_memory_is_one_line(self, invoke, monkeypatch):
        def greedy(config, progress, **_):
            raise MemoryError

        monkeypatch.setattr("securefair.run.execute.run_resolved", greedy)
        result = invoke("demo")
        assert result.exit_code == 75  # may pass by itself
        assert result.stderr.startswith("securefair: there is not enough memory")

    def test_an_interrupt_while_results_are_written_says_how_to_go_on(
        self, invoke, tmp_path, monkeypatch
    ):
        def interrupted(path, rows):
            raise KeyboardInterrupt

        (tmp_path / "c.toml").write_text(ALONE)
        monkeypatch.setattr("securefair.run.folder.write_json_lines", interrupted)
        result = invoke("run", "c.toml", "--out", "out")
        assert result.exit_code == 130
        assert result.stderr.endswith("securefair resume out\n")

    def test_an_interrupted_run_ends_with_130(self, invoke, tmp_path, monkeypatch):
        def interrupted(config, progress, **_):
            raise KeyboardInterrupt

        monkeypatch.setattr("securefair.run.execute.run_resolved", interrupted)
        result = invoke("demo", "--out", "out")
        assert result.exit_code == 130
        assert "Interrupted" in result.stderr
        assert "Traceback" not in result.output
        assert not (tmp_path / "out").exists()

    def test_a_bug_is_not_hidden(self, invoke, monkeypatch):
        def broken(config, progress, **_):
            raise ZeroDivisionError("bug")

        monkeypatch.setattr("securefair.run.execute.run_resolved", broken)
        assert isinstance(invoke("demo").exception, ZeroDivisionError)


class TestFinishedRuns:
    ARGUMENTS = ("run", "c.toml", "--rounds", "1", "--backend", "clear", "--out", "out")

    @pytest.fixture
    def finished(self, invoke, tmp_path):
        (tmp_path / "c.toml").write_text(ALONE)
        assert invoke(*self.ARGUMENTS).exit_code == 0
        return tmp_path / "out"

    def test_they_are_replaced_only_on_request(self, invoke, finished):
        before = (finished / "metrics.json").stat().st_mtime_ns
        refused = invoke(*self.ARGUMENTS)
        assert refused.exit_code == 2
        assert "out holds a finished run. Replace it with --restart" in refused.stderr
        assert (finished / "metrics.json").stat().st_mtime_ns == before
        quiet = invoke(*self.ARGUMENTS, "--restart", "--quiet")
        assert (quiet.exit_code, quiet.stdout) == (0, "Results: out/report.html\n")


def test_results_replace_no_configuration(invoke, tmp_path):
    (tmp_path / "config.toml").write_text(ALONE)
    done = invoke("run", "config.toml", "--out", ".", "--restart")
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "holds a configuration" in done.stderr
    assert (tmp_path / "config.toml").read_text() == ALONE


@pytest.mark.parametrize("restart", [(), ("--restart",)])
@pytest.mark.parametrize(
    "name", ["models/mine/x", "report.html", "metrics.json", "unfinished/x", "smaller/metrics.json"]
)
def test_what_no_run_wrote_is_refused_before_anything_runs(
    invoke, captured, tmp_path, name, restart
):
    """A site's results, or anybody's: the folder may have been named by mistake."""
    (tmp_path / "c.toml").write_text(ALONE)
    kept = tmp_path / "out" / name
    kept.parent.mkdir(parents=True)
    kept.write_text("mine")
    done = invoke("run", "c.toml", "--out", "out", *restart)
    assert (done.exit_code, captured) == (2, [])
    assert done.stderr == "securefair: out: this folder is not empty. Name a new folder\n"
    assert [path for path in (tmp_path / "out").rglob("*") if path.is_file()] == [kept]


@pytest.mark.parametrize(
    "left",
    [[], ["checkpoint.json"], [".checkpoint.json.1.tmp"], [None]],
    ids=["empty", "crashed as it began", "crashed as it wrote", "crashed at the end"],
)
def test_a_folder_of_nothing_or_of_a_run_s_beginning_is_used(invoke, captured, tmp_path, left):
    (tmp_path / "c.toml").write_text(ALONE)
    (tmp_path / "out").mkdir()
    for name in left:
        (tmp_path / "out" / "unfinished").mkdir()
        if name is not None:
            (tmp_path / "out" / "unfinished" / name).write_text("{}")
    assert "enough" in invoke("run", "c.toml", "--out", "out").stderr
    assert len(captured) == 1
