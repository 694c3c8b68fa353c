"""The summary at the end of a run."""

import io

from rich.console import Console

from securefair.report import summary


def shown(run, **changes):
    console = Console(file=io.StringIO(), width=120, color_system=None)
    arguments = {"ledger": run.ledger, "traffic": run.traffic, "config": run.config} | changes
    console.print(summary(run.result, **arguments))
    return console.file.getvalue().replace("\u00a0", " ")


def line_with(text, start):
    (line,) = [line for line in text.splitlines() if line.strip().startswith(start)]
    return line.split()


def test_each_hospital_has_a_line(run):
    text = shown(run)
    hospitals = text.split("Hospitals")[1].split("Algorithms")[0]
    assert line_with(hospitals, "Cleveland") == [
        *("Cleveland", "303", "101", "54.1", "%", "81.2", "%", "83.2", "%", "+2.0")
    ]


def test_algorithms_traffic_and_disclosure_are_shown(run):
    text = shown(run)
    algorithms = text.split("Algorithms")[1].split("What crossed")[0]
    assert line_with(algorithms, "CYCle")[-2:] == ["+3.1", "1.2"]
    assert line_with(text, "Questions") == ["Questions", "480", "53.8", "kB"]
    assert "VA Long Beach" in text.split("What was disclosed")[1]
    assert "128-bit security" in text


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
    assert "+2.0 \u00b1 1.2" in shown(make_run(seeds=(0, 1)))
