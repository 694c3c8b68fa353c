"""The demonstration as a program: what it writes, that it repeats, and how it stops."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from html.parser import HTMLParser

import msgspec
import pytest
from typer.testing import CliRunner

from securefair.cli import app
from securefair.config import demo_config, override, to_toml
from securefair.records import RoundRecord
from securefair.run.folder import read_result
from support.alike import assert_runs_alike
from support.script_contract import assert_contract

PARTICIPANT_KEYS = {"name", "samples", "standalone_accuracy", "accuracy", "gain", "quantization"}
ALGORITHM_KEYS = {"mva", "mcg", "cgs"}
ENCRYPTION_KEYS = {
    "backend",
    "ring_degree",
    "log_qp",
    "security_bits",
    "release",
    "flooding_bits",
    "max_abs_error",
    "error_over_range",
    "bytes_up",
    "bytes_down",
    "answers",
    "declines",
    "seconds",
}
QUICK = ("--rounds", "3", "--seeds", "1")
SMALLER = """
[run]
name = "smaller"
seeds = [0]
algorithms = ["standalone", "vpdl", "cycle", "transfer"]
[data]
source = "python"
entry = "three:load"
most_training = 16
[training]
rounds = 3
local_epochs = 5
[distillation]
q = 8
[transfer]
q = 8
[encryption]
precision = 3.814697265625e-06
"""
"""Three of the demonstration's hospitals with few patients, for what is done to a run and not to
its figures; so precise that no noise decides who answers."""
THREE = """
from securefair.data import load_heart

def load():
    return {own.name: own for own in load_heart(seed=0)[:3]}
"""
FILES = {
    "config.toml",
    "estimates.csv",
    "exchanges.jsonl",
    "ledger.json",
    "measured.json",
    "metrics.json",
    "models",
    "report.html",
    "rounds.jsonl",
    "smaller",
    "traffic.json",
}


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """`securefair demo` with three rounds of one seed, encrypted by the default backend.

    In this process: what hospitals fit alone is shared with the run in the clear.
    """
    folder = tmp_path_factory.mktemp("demo")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        done = CliRunner(env={"COLUMNS": "100"}).invoke(app, ["demo", *QUICK])
    assert done.exit_code == 0, done.output
    return done, folder / "runs" / "demo"


@pytest.fixture(scope="module")
def clear(tmp_path_factory):
    """The same without encryption and without fewer patients, in this process."""
    folder = tmp_path_factory.mktemp("clear")
    changes = {"run.smaller": None, "report.html": False}
    config = override(demo_config(), changes, source="test")
    (folder / "clear.toml").write_text(to_toml(config), "utf-8")
    words = ["run", str(folder / "clear.toml"), *QUICK, "--backend", "clear"]
    done = CliRunner().invoke(app, [*words, "--out", str(folder / "out")])
    assert done.exit_code == 0, done.output
    return folder / "out"


@pytest.fixture(scope="module")
def smaller(tmp_path_factory):
    """A folder with the configuration of a smaller one, and its runs in this process."""
    folder = tmp_path_factory.mktemp("smaller")
    (folder / "smaller.toml").write_text(SMALLER, "utf-8")
    (folder / "three.py").write_text(THREE, "utf-8")
    for backend in ("clear", "rns"):
        where = ["--backend", backend, "--out", str(folder / backend)]
        done = CliRunner().invoke(app, ["run", str(folder / "smaller.toml"), *where])
        assert done.exit_code == 0, done.output
    return folder


@pytest.fixture(scope="module")
def interrupted(program, smaller):
    """A run, stopped by Ctrl-C in the middle of encrypted rounds."""
    with program.start("run", "smaller.toml", "--out", "out", cwd=smaller) as process:
        try:
            for text in process.stdout:
                if text.startswith("VPDL: round 1 of 3"):
                    break
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=program.timeout)
        finally:
            process.kill()
    return process.returncode, errors, smaller / "out"


@pytest.fixture(scope="module")
def resumed(program, interrupted):
    """The same, gone on with to its end."""
    *_, out = interrupted
    return program.run("resume", "out", "--json", "--trust", cwd=out.parent), out


def rounds(folder):
    lines = (folder / "rounds.jsonl").read_bytes().splitlines()
    return [msgspec.json.decode(line, type=RoundRecord) for line in lines]


class TestResults:
    def test_all_files_are_there_and_no_other(self, demo):
        done, out = demo
        assert {path.name for path in out.iterdir()} == FILES
        assert done.stderr == ""
        assert "Traceback" not in done.stdout

    def test_metrics_hold_everything_that_was_promised(self, demo):
        metrics = json.loads((demo[1] / "metrics.json").read_text("utf-8"))
        assert [own["name"] for own in metrics["participants"]] == [
            "Cleveland",
            "Hungary",
            "Switzerland",
            "VA Long Beach",
        ]
        assert [own["samples"] for own in metrics["participants"]] == [303, 294, 123, 200]
        for own in metrics["participants"]:
            assert own.keys() >= PARTICIPANT_KEYS
        for one in metrics["algorithms"].values():
            assert one.keys() >= ALGORITHM_KEYS
        names = [own["name"] for own in metrics["participants"]]
        assert_contract(metrics, names, learnt=["vpdl", "cycle", "transfer"])
        measured = json.loads((demo[1] / "measured.json").read_text("utf-8"))
        assert metrics["encryption"].keys() | measured["encryption"].keys() >= ENCRYPTION_KEYS

    def test_encryption_is_what_it_says_and_precise_enough(self, demo):
        result, _ = read_result(demo[1])
        facts = result.encryption
        assert (facts.backend, facts.release, facts.security_bits) == ("rns", "projection", 128)
        assert facts.flooding_bits >= 30
        # Noise that hides the model takes what the precision leaves of the range of logits.
        assert 0 < facts.error_over_range < 2e-3
        assert facts.max_abs_error < facts.error_bound
        assert facts.answers >= 12  # the forced round
        assert facts.bytes_up > facts.bytes_down > 0
        for own in result.participants:
            assert own.gain == pytest.approx(own.accuracy - own.standalone_accuracy)
            rounded = own.quantization
            assert rounded.accuracy_after == pytest.approx(rounded.accuracy_before, abs=0.02)

    def test_the_terminal_shows_progress_and_every_table(self, demo):
        done, _ = demo
        for words in (
            "CYCle: round 3 of 3",
            "VPDL: round 3 of 3",
            "Cleveland",
            "Mean gain",
            "What crossed the wire",
            "What was disclosed",
            "Results: runs/demo/report.html",
        ):
            assert words in done.stdout

    def test_a_second_time_it_shows_what_is_there(self, demo, monkeypatch):
        _, out = demo
        before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
        monkeypatch.chdir(out.parents[1])
        again = CliRunner(env={"COLUMNS": "100"}).invoke(app, ["demo", *QUICK])
        assert again.exit_code == 0
        for words in ("Mean gain", "--restart", "Results: runs/demo/report.html"):
            assert words in again.stdout
        assert "round" not in again.stdout.partition("Hospitals")[0]
        told = CliRunner().invoke(app, ["demo", *QUICK, "--json"])
        assert json.loads(told.stdout)["participants"]
        assert before == {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}

    def test_it_takes_no_other_results_for_its_own(self, demo, tmp_path, monkeypatch):
        shutil.copytree(demo[1], tmp_path / "runs" / "demo")
        monkeypatch.chdir(tmp_path)
        measured = tmp_path / "runs" / "demo" / "measured.json"
        refused = [CliRunner().invoke(app, ["demo", *QUICK, "--ceiling"])]  # other settings
        said = json.loads(measured.read_text("utf-8"))
        said["versions"]["securefair"] = "0.0.1"
        measured.write_text(json.dumps(said), encoding="utf-8")
        refused.append(CliRunner().invoke(app, ["demo", *QUICK]))
        measured.write_text("{", encoding="utf-8")
        refused.append(CliRunner().invoke(app, ["demo", *QUICK]))
        for done in refused:
            assert done.exit_code == 2
            assert "holds a finished run. Replace it with --restart" in done.stderr

    def test_it_does_not_hide_a_run_that_was_begun_after_it(self, demo, tmp_path, monkeypatch):
        """--restart, and an interrupt: what lies there can be gone on with."""
        begun = tmp_path / "runs" / "demo"
        shutil.copytree(demo[1], begun)
        (begun / "unfinished").mkdir()
        shutil.copy(begun / "config.toml", begun / "unfinished")
        monkeypatch.chdir(tmp_path)
        done = CliRunner().invoke(app, ["demo", *QUICK])
        assert done.exit_code == 2
        assert "holds an interrupted run. Go on with it: securefair resume" in done.stderr

    def test_encrypted_and_clear_runs_share_alike(self, demo, clear):
        encrypted, plain = rounds(demo[1]), rounds(clear)
        assert len(encrypted) == len(plain)
        found = Counter(record.algorithm for record in encrypted)
        assert (found["vpdl"], found["cycle"], found["transfer"]) == (3, 3, 1)
        for a, b in zip(encrypted, plain, strict=True):
            assert (a.algorithm, a.round) == (b.algorithm, b.round)
            assert (a.asked, a.answered) == (b.asked, b.answered)
            # Noise of answers may turn a patient or two of the smallest hospital, with 41.
            assert a.accuracy == pytest.approx(b.accuracy, abs=0.05)

    def test_sharing_decisions_of_seed_0_are_those_of_earlier_versions(self, clear):
        """Who is not asked, and who declines: (student, teacher); round 0 is forced."""
        unasked = [(0, 1), (0, 2), (0, 3), (1, 0), (1, 2)]
        declined = [(2, 0), (2, 1), (3, 0), (3, 1)]
        pairs = [(n, k) for n in range(4) for k in range(4) if n != k]
        found = [
            (
                [(n, k) for n, k in pairs if not one.asked[n][k]],
                [(n, k) for n, k in pairs if one.asked[n][k] and not one.answered[n][k]],
            )
            for one in rounds(clear)
            if one.algorithm == "cycle"
        ]
        assert found == [([], []), (unasked, declined), (unasked, declined)]

    def test_the_same_command_in_another_process_gives_the_same_rounds(self, program, smaller):
        done = program.run("run", "clear/config.toml", "--out", "again", cwd=smaller)
        assert done.returncode == 0, done.stderr
        for name in ("metrics.json", "rounds.jsonl", "ledger.json", "traffic.json"):
            first, second = (smaller / run / name for run in ("clear", "again"))
            assert first.read_bytes() == second.read_bytes()

    def test_an_interrupted_run_goes_on_to_equal_metrics_under_other_keys(self, smaller, resumed):
        """Opened values differ by the noise of answers, so what a hair decides could differ."""
        done, out = resumed
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["algorithm"] == "transfer"  # nothing but JSON on stdout
        for name in ("ledger.json", "traffic.json"):
            assert (smaller / "rns" / name).read_bytes() == (out / name).read_bytes()
        first, second = (
            json.loads((folder / "metrics.json").read_text("utf-8"))
            for folder in (smaller / "rns", out)
        )
        assert_runs_alike(first, second)


class Loads(HTMLParser):
    """What a page would make a browser fetch, and the texts of its styles and scripts."""

    def __init__(self):
        super().__init__()
        self.fetched, self.code, self.inside = [], [], ""

    def handle_starttag(self, tag, attributes):
        self.inside = tag
        for name, value in attributes:
            fetches = name in {"src", "srcset", "data", "poster", "background", "xlink:href"} or (
                name == "href" and tag != "a"
            )
            if fetches and value and not value.startswith(("data:", "#")):
                self.fetched.append((tag, name, value))
            if name == "style":
                self.code.append(value)

    def handle_endtag(self, tag):
        if tag == self.inside:
            self.inside = ""

    def handle_data(self, data):
        if self.inside in ("style", "script"):
            self.code.append(data)


def test_the_report_is_one_file_that_loads_nothing(demo):
    page = (demo[1] / "report.html").read_text("utf-8")
    parser = Loads()
    parser.feed(page)
    assert parser.fetched == []
    assert parser.code  # its styles are inside
    for text in parser.code:
        assert not re.search(r"@import|url\(\s*['\"]?(?!data:|#)|fetch\(|XMLHttpRequest", text)
    for words in ("Cleveland", "VA Long Beach", "CYCle", "VPDL"):
        assert words in page
    assert page.count("<svg") >= 2


class TestStopping:
    def test_an_interrupt_in_encrypted_rounds_is_one_line(self, interrupted):
        code, errors, _ = interrupted
        assert code == 130
        assert errors == (
            "securefair: Interrupted. Go on from the last finished round: "
            "securefair resume out --trust\n"
        )

    def test_ctrl_c_while_processes_begin_is_one_line(self, tmp_path):
        """A terminal tells all of them, and some begin only when whoever called them has ended."""
        process = subprocess.Popen(
            [sys.executable, "-m", "securefair", "demo", "--out", "out", "--processes", "2"],
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
        while process.poll() is None and not (tmp_path / "out/unfinished/config.toml").exists():
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 130
        (line,) = errors.splitlines()
        assert "Go on from the last finished round" in line

    def test_an_interrupt_ends_it_with_130_and_the_run_can_go_on(self, program, tmp_path):
        """Once training has begun, and long before it could end."""
        arguments = ("demo", "--backend", "clear", "--rounds", "20000", "--out", "out")
        with program.start(*arguments, cwd=tmp_path) as process:
            try:
                assert process.stdout.readline().startswith("VPDL")  # which takes longest
                process.send_signal(signal.SIGINT)
                _, errors = process.communicate(timeout=program.timeout)
            finally:
                process.kill()
        assert process.returncode == 130, errors
        assert errors.endswith("last finished round: securefair resume out\n")
        assert "Traceback" not in errors
        left = sorted(path.name for path in (tmp_path / "out").iterdir())
        assert left == ["smaller", "unfinished"]  # both runs were begun
        assert [path.name for path in (tmp_path / "out" / "smaller").iterdir()] == ["unfinished"]
        assert not list(tmp_path.rglob("*.tmp"))
        again = CliRunner().invoke(app, [*arguments[:-1], str(tmp_path / "out")])
        assert again.exit_code == 2
        assert "interrupted run" in again.stderr

    def test_a_mistake_ends_it_with_2_and_one_line(self, program, tmp_path):
        config = tmp_path / "c.toml"
        config.write_text('[run]\nname = "x"\nseed = 1\n[data]\nsource = "heart"\n')
        done = program.run("run", "c.toml", cwd=tmp_path)
        assert done.returncode == 2
        assert done.stdout == ""
        assert re.fullmatch(
            r"securefair: c.toml: run.seed: [^\n]*Did you mean seeds\n", done.stderr
        )
        assert list(tmp_path.iterdir()) == [config]
