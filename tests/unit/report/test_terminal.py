"""The summary at the end of a run."""

import io

import pytest
from rich.console import Console

from securefair.report import summary
from securefair.report.fitting import FittingTable, TableColumn


def shown(run, width=120, **changes):
    console = Console(file=io.StringIO(), width=width, color_system=None)
    arguments = {
        "ledger": run.ledger,
        "traffic": run.traffic,
        "source": run.config.data.source,
    } | changes
    console.print(summary(run.result, **arguments))
    return console.file.getvalue().replace("\u00a0", " ")


def line_with(text, start):
    (line,) = [line for line in text.splitlines() if line.strip().startswith(start)]
    return line.split()


def test_each_hospital_has_a_line(run):
    text = shown(run)
    hospitals = text.split("Hospitals")[1].split("Algorithms")[0]
    assert line_with(hospitals, "Cleveland") == [
        *("Cleveland", "303", "101", "54.1", "81.2", "82.2", "83.2", "+1.0")
    ]


def test_algorithms_traffic_and_disclosure_are_shown(run):
    text = shown(run)
    algorithms = text.split("Algorithms")[1].split("What crossed")[0]
    assert line_with(algorithms, "CYCle") == ["CYCle", "83.2", "+3.1", "+1.4", "1.2"]
    assert line_with(algorithms, "Stopped early ") == ["Stopped", "early", "81.8", "+1.7"]
    assert line_with(text, "Questions") == ["Questions", "480", "53.8", "kB"]
    assert "VA Long Beach" in text.split("What was disclosed")[1]
    assert "128-bit security" in text


@pytest.mark.parametrize("width", [60, 80, 120])
def test_nothing_is_cut_or_wrapped_in_a_table(make_run, width):
    run = make_run(seeds=(0, 1))
    text = shown(run, width)
    assert max(map(len, text.splitlines())) <= width
    assert "\u2026" not in text
    for name, gain in (("VA Long Beach", "±0.0 ± 1.2"), ("Switzerland", "+1.5 ± 1.2")):
        lines = text.split("(accuracy in %")[1].splitlines()
        (line, *_) = [one for one in lines if one.startswith(name)]
        assert line.rstrip().endswith(gain)
    assert line_with(text.split("Algorithms")[1], "Alone")[:4] == ["Alone", "80.0", "±", "0.3"]


def test_what_does_not_fit_is_left_out_whole(run):
    assert "for test" in shown(run, 120)
    narrow = shown(run, 50)
    for heading in ("for test", "Most common", "Patients"):
        assert heading not in narrow
    assert "VA Long Beach   70.1" in narrow


def test_a_gain_over_stopping_early_is_left_out_where_nobody_stopped(make_run):
    text = shown(make_run(algorithms=("standalone", "cycle")))
    assert "stopped early" not in text.lower()


def test_names_are_not_markup(make_run):
    assert "[red]Evil[/red]" in shown(make_run(names=("A", "[red]Evil[/red]", "C")))


def test_many_pairs_become_one_line_a_teacher(make_run):
    run = make_run(names=tuple(f"Hospital {i}" for i in range(6)), rounds=5)
    disclosed = shown(run).split("What was disclosed")[1]
    assert len([line for line in disclosed.splitlines() if "Hospital" in line]) == 6


def test_alone_there_is_nothing_to_share(make_run):
    text = shown(make_run(algorithms=("standalone",), backend=None))
    for heading in ("Gain", "MCG", "crossed the wire", "disclosed", "encrypted"):
        assert heading not in text


def test_spread_over_seeds_is_shown(make_run):
    assert "+1.0 \u00b1 1.2" in shown(make_run(seeds=(0, 1)))


@pytest.mark.parametrize(("width", "told"), [(80, True), (12, False)])
def test_a_note_stands_only_below_what_it_explains(width, told):
    columns = [
        TableColumn("Name", ["north"], numbers=False),
        TableColumn("Sensitivity", ["1.000 [0.68, 1.00]"], dispensable=1),
    ]
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(FittingTable("Scores", columns, note="In brackets: an interval", mark="["))
    assert ("In brackets" in console.export_text()) == told
