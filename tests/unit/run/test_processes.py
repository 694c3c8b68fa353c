"""A run whose parts are computed by several processes."""

import contextlib
import importlib
import multiprocessing
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

from securefair.collaboration.controls import controls_of
from securefair.collaboration.kinds import libraries_of
from securefair.collaboration.resolved import ResolvedRun
from securefair.config import demo_config, override
from securefair.errors import SecureFairError
from securefair.run import parts, processes
from securefair.run.ahead import usual_processes
from securefair.run.checkpoint import is_unfinished
from securefair.run.execute import Begun
from securefair.run.folder import write_outcome
from securefair.run.results import Repetition
from securefair.user.participants import load_participants
from support.experiments import run_experiment
from support.fits import begin_quickly
from unit.run.test_execute import Listener

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("few")]

SMALL = {
    "run.algorithms": ["standalone", "vpdl"],
    "run.smaller": None,
    "encryption.backend": "clear",
    "model.kind": "linear",
    "distillation.q": 16,
    "training.rounds": 2,
    "training.local_epochs": 2,
    "run.seeds": [0, 1],
}


@pytest.fixture(scope="module")
def config():
    return override(demo_config(), SMALL, source="test")


@pytest.fixture(autouse=True)
def alike(monkeypatch):
    """Processes fit as quickly as this one."""
    monkeypatch.setattr(processes, "_begin", begin_quickly)


class Callback:
    def __init__(self):
        self.heard = []

    def on_round(self, record):
        self.heard.append(record)


def test_results_of_both_runs_and_what_is_heard_are_those_of_one_process(config, tmp_path):
    both, told, heard = override(config, {"run.smaller": 20}, source="test"), [], []
    for number in (1, 2):
        listener, callback, out = Listener(), Callback(), tmp_path / str(number)
        outcome = run_experiment(both, listener, out=out, processes=number, callbacks=[callback])
        write_outcome(outcome, out)
        told.append(sorted(map(str, listener.told)))  # of parts that go on at once
        heard.append([(one.seed, one.algorithm, one.round, one.accuracy) for one in callback.heard])
        assert not is_unfinished(out)
        assert not list(out.rglob("unfinished"))
    assert told[0] == told[1]
    assert heard[0] == heard[1]
    assert len(heard[0]) == 4  # two rounds of two seeds, and none of a control or of fewer patients
    for name in ("metrics.json", "rounds.jsonl", "config.toml"):
        for run in (".", "smaller"):
            first, second = (tmp_path / str(number) / run / name for number in (1, 2))
            assert first.read_bytes() == second.read_bytes()


def test_an_error_in_a_process_is_that_of_the_run(config, tmp_path):
    changes = {"training.learning_rate": 1e300, "training.clip_norm": 1e300}
    wild = override(config, changes, source="test")
    for number in (1, 2):  # of parts that go on at once, either may be the first to fail
        out = tmp_path / str(number)
        with pytest.raises(SecureFairError, match=r"^Cleveland, .*training diverged"):
            run_experiment(wild, Listener(), out=out, processes=number)
        assert not out.exists()


def test_an_error_ends_both_runs_and_leaves_nothing(config, tmp_path):
    changes = {"training.learning_rate": 1e300, "training.clip_norm": 1e300, "run.smaller": 20}
    wild, out = override(config, changes, source="test"), tmp_path / "out"
    with pytest.raises(SecureFairError, match="training diverged"):
        run_experiment(wild, Listener(), out=out)
    assert not out.exists()


def test_a_process_that_is_ended_leaves_a_run_to_go_on_with(config, tmp_path):
    class Killer(Listener):
        """Ends every other process once the first part is done."""

        def finish(self):
            super().finish()
            for child in multiprocessing.active_children():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child.pid, signal.SIGKILL)

    longer = override(config, {"training.rounds": 10}, source="test")
    with pytest.raises(ChildProcessError, match="--processes"):
        run_experiment(longer, Killer(), out=tmp_path, processes=2)
    assert is_unfinished(tmp_path)
    resumed = run_experiment(longer, Listener(), out=tmp_path, processes=2, resume=True)
    whole = run_experiment(longer, Listener())
    assert resumed.result.algorithms == whole.result.algorithms


def test_interrupted_nobody_goes_on_computing(config, tmp_path):
    class Interrupter(Listener):
        def advance(self, _):
            raise KeyboardInterrupt

    before = set(multiprocessing.active_children())
    with pytest.raises(KeyboardInterrupt):
        run_experiment(config, Interrupter(), out=tmp_path, processes=2)
    for child in set(multiprocessing.active_children()) - before:
        child.join(10)
        assert not child.is_alive()
    assert is_unfinished(tmp_path)


def test_what_cannot_be_sent_is_computed_here(config, monkeypatch):
    monkeypatch.setattr(processes, "_can_be_sent", lambda _: False)
    monkeypatch.setattr(
        processes, "carry_out", lambda part, *_: Repetition(part.seed, [], seconds={part.name: 1})
    )
    part = parts.Part(name="a", what=None, rounds=1, seed=0, data=[])
    with processes.carrying_out([part, part], Listener(), processes._nobody, 2) as every:
        assert [done.seconds for done in every] == [{"a": 1}, {"a": 1}]


def test_the_process_that_others_are_forked_from_loads_their_libraries(config, monkeypatch):
    """A kind's, and a control's; what they are is there to be loaded."""
    named = []
    context = multiprocessing.get_context("forkserver")
    monkeypatch.setattr(
        type(context), "set_forkserver_preload", lambda _, names: named.extend(names)
    )
    changes = {"run.algorithms": ["standalone", "transfer", "vpdl"]}
    resolved = ResolvedRun.of(override(config, changes, source="test")).load()
    every = Begun.of(resolved, None, resume=False).parts
    with processes._elsewhere(every, Listener(), processes._nobody, 2):
        pass
    assert named == [
        "securefair.run.loading",
        "securefair.run.processes",
        "securefair.collaboration.distillation.host",
        "sklearn.ensemble",
        "sklearn.gaussian_process",
        "securefair.run.loaded",
    ]
    for name in named[1:-1]:  # the first and the last are for that process alone
        importlib.import_module(name)
    # A command begins to load them before there are data.
    assert libraries_of(resolved.kinds, None, network=False) == named[2:-1]
    assert libraries_of({}, None, network=True) == []


FORKS = """
import gc, multiprocessing.forkserver as process, os, pathlib, re, signal, time
from securefair.run.ahead import forkserver
from securefair.run.processes import _begin

def blocked(number):
    status = pathlib.Path(f"/proc/{number}/status")
    if not status.exists():
        return "?"
    return int(re.search("SigBlk:(.*)", status.read_text())[1], 16) >> (signal.SIGINT - 1) & 1

def collects(told):
    told.put((gc.isenabled(), gc.get_freeze_count() > 10_000))
    signal.pause()

def wait(told):
    _begin(told, [])
    told.put(os.getpid())
    time.sleep(600)

if __name__ == "__main__":
    context = forkserver([])
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, set())
    loading = blocked(process._forkserver._forkserver_pid)
    told = context.SimpleQueue()
    another = context.Process(target=collects, args=(told,))
    another.start()
    collecting = told.get()
    print(loading, blocked(another.pid), *collecting)
    another.kill()  # maybe with a lock of its queue
    told = context.Queue()
    context.Process(target=wait, args=(told,)).start()
    print(told.get(), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(scope="module")
def forked(tmp_path_factory):
    """Words that a process prints which has forked none before, and which is killed in the end."""
    script = tmp_path_factory.mktemp("forked") / "script.py"
    script.write_text(FORKS, "utf-8")
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True) as done:
        words = [done.stdout.readline().split() for _ in range(2)]
    assert done.returncode == -signal.SIGKILL
    return words


@pytest.mark.skipif(not pathlib.Path("/proc/self/status").exists(), reason="signals are not told")
def test_ctrl_c_ends_no_import_but_every_process_that_is_forked_later(forked):
    """Whoever shows the run says that it is interrupted; other programs' processes hear of it."""
    assert forked[0][:2] == ["1", "0"]


def test_processes_collect_what_they_leave_behind_but_not_libraries(forked):
    assert forked[0][2:] == ["True", "True"]


def test_processes_end_with_a_run_that_is_killed(forked):
    """Each holds half a gigabyte, and nobody would end them."""
    number = int(forked[1][0])
    for _ in range(600):
        try:
            os.kill(number, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    os.kill(number, signal.SIGKILL)
    pytest.fail("the process is still there")


def test_the_longest_are_begun_first_and_what_shares_fits_stays_together(config):
    changes = {"run.algorithms": ["standalone", "vpdl", "transfer"], "run.smaller": 20}
    resolved = ResolvedRun.of(override(config, changes, source="test"))
    smaller, whole = resolved.smaller(), resolved.load()
    every = [part for run in (whole, smaller) for part in Begun.of(run, None, resume=False).parts]
    begun = [
        [(every[number].small, every[number].seed, every[number].name) for number in job]
        for job in processes.jobs(every)
    ]
    fits = ["standalone", "averaged_alone", "alone-forest", "alone-ensemble", "most_common"]
    alone = [(small, seed, "early_stopping") for small in (False, True) for seed in (0, 1)]
    together = [
        [(small, seed, name) for name in fits] for small in (False, True) for seed in (0, 1)
    ]
    assert begun[:6] == [
        [(False, 0, "vpdl")],
        [(False, 1, "vpdl")],
        [(False, 0, "transfer")],  # whose estimates are made as well
        [(True, 0, "transfer")],
        [(False, 1, "transfer")],
        [(True, 1, "transfer")],
    ]
    assert sorted(map(str, begun[6:])) == sorted(map(str, [*together, *([one] for one in alone)]))


def test_a_control_that_trains_networks_once_a_fold_is_begun_before_rounds():
    data = load_participants(demo_config(), 0)
    controls = controls_of(data, None, epochs=2, degree=1, fits=False)
    assert controls["standalone"].trainings > 1 > controls["early_stopping"].trainings


@pytest.mark.parametrize(("seeds", "cores", "usual"), [(1, 8, 1), (3, 2, 2), (50, 64, 8)])
def test_a_process_for_each_seed_as_cores_allow(seeds, cores, usual, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)), raising=False)
    assert usual_processes(seeds) == usual
