"""Progress is live on a terminal and plain in a log."""

import io
import itertools
import sys
from types import SimpleNamespace

import pytest
from rich.console import Console

from securefair.report import show_progress
from securefair.report.progress import PlainProgress


def run_through(console, rounds, seed=None):
    with show_progress(console) as progress:
        part = progress.start("cycle", len(rounds), seed)
        for record in rounds:
            part.advance(record)
        part.finish()
    return console.file.getvalue()


def test_a_log_gets_a_few_plain_lines(run):
    rounds = [record for record in run.rounds if record.algorithm == "cycle"]
    lines = run_through(Console(file=io.StringIO(), width=40), rounds).splitlines()
    assert len(lines) == 5
    assert lines[0] == "CYCle: 40 rounds"
    assert lines[1].startswith("CYCle: round 10 of 40, accuracy ")
    assert lines[-1].startswith("CYCle: round 40 of 40")


def test_a_log_tells_the_time_that_is_left(run):
    rounds = [record for record in run.rounds if record.algorithm == "cycle"]
    console, clock = Console(file=io.StringIO(), width=80), itertools.count(100.0, 0.5)
    part = PlainProgress(console, lambda: next(clock)).start("cycle", 40, done=4)
    for record in rounds[4:]:  # half a second each
        part.advance(record)
    lines = console.file.getvalue().splitlines()
    assert [line.partition("%")[2] for line in lines] == [
        "",
        ", about 15\u00a0s left",
        ", about 10\u00a0s left",
        ", about 5\u00a0s left",
        "",
    ]


def test_one_round_tells_no_time(make_run):
    console = Console(file=io.StringIO(), width=80)
    records = [r for r in make_run(rounds=4).rounds if r.algorithm == "cycle"]
    lines = run_through(console, records).splitlines()
    assert "left" not in lines[1]  # its time is not known before a second round is over
    assert lines[2].endswith(", about 1\u00a0s left")


def test_repetitions_are_told_apart(run):
    console = Console(file=io.StringIO(), width=80)
    lines = run_through(console, run.rounds[:1], seed=2).splitlines()
    assert all(line.startswith("CYCle (seed 2): ") for line in lines)


def test_parts_that_go_on_at_once_say_which_they_are(run):
    console = Console(file=io.StringIO(), width=80)
    progress = PlainProgress(console)
    whole, small = progress.start("cycle", 2, 1), progress.start("cycle", 1, 1, small=True)
    small.advance(run.rounds[0])
    whole.advance(run.rounds[0])
    said = [line.partition(", accuracy")[0] for line in console.file.getvalue().splitlines()]
    assert said == [
        "CYCle (seed 1): 2 rounds",
        "CYCle (small hospitals, seed 1): 1 round",
        "CYCle (small hospitals, seed 1): round 1 of 1",
        "CYCle (seed 1): round 1 of 2",
    ]


@pytest.mark.parametrize("rounds", [1, 3, 7, 11])
def test_the_last_round_is_always_told(make_run, rounds):
    records = [r for r in make_run(rounds=rounds).rounds if r.algorithm == "cycle"]
    lines = run_through(Console(file=io.StringIO(), width=80), records).splitlines()
    assert len(lines) == min(rounds, 4) + 1
    assert lines[-1].startswith(f"CYCle: round {rounds} of {rounds}")


def test_a_terminal_gets_a_bar(run):
    rounds = [record for record in run.rounds if record.algorithm == "cycle"]
    console = Console(file=io.StringIO(), force_terminal=True, width=80, legacy_windows=False)
    text = run_through(console, rounds, seed=2)
    assert "40/40" in text
    assert "CYCle (seed 2)" in text
    assert f"accuracy {sum(rounds[-1].accuracy) / 4 * 100:.1f}" in text


def test_the_cursor_comes_back_after_an_error(run):
    console = Console(file=io.StringIO(), force_terminal=True, width=80, legacy_windows=False)
    with pytest.raises(AttributeError):
        run_through(console, [run.rounds[0], None])
    assert console.file.getvalue().rstrip().endswith("\x1b[?25h")


def test_a_notebook_gets_a_bar_that_moves(run, monkeypatch):
    shown = []

    class Handle:
        def update(self, bar):
            shown.append(bar)

    def display(bar, display_id):
        shown.append(bar)
        return Handle()

    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    with show_progress(Console(force_jupyter=True)) as progress:
        part = progress.start("cycle", 2, 7)
        part.advance(run.rounds[0])
        part.finish()
    assert [(bar.done, bar.rounds) for bar in shown] == [(0, 2), (1, 2)]
    assert '<progress value="1" max="2">' in shown[1]._repr_html_()
    assert repr(shown[1]).startswith("CYCle (seed 7): accuracy")
