"""The chart of our numbers beside the paper's."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from securefair_lab.papers import comparison
from securefair_lab.papers.catalogue import experiment_named
from securefair_lab.papers.comparison import (
    ComparedNumber,
    Comparison,
    stand_ins,
    write_comparison,
    write_figure,
)
from securefair_lab.papers.experiment import Size


def compared(*numbers: tuple[str, str, float | None]) -> Comparison:
    """Of methods, metrics and the paper's numbers; ours is always 1."""
    return Comparison(
        experiment="any",
        paper="cffl",
        item="Table 1",
        size="cpu",
        seeds=2,
        unit="percent",
        note="",
        numbers=[
            ComparedNumber(
                fields={"dataset": "digits", "method": method},
                metric=metric,
                ours=1.0,
                spread=0.5,
                paper=paper,
                difference=None if paper is None else 1.0 - paper,
            )
            for method, metric, paper in numbers
        ],
        claims=[],
    )


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    """Every figure that is written."""
    figures: list[Figure] = []

    def keep(figure: Figure, path: Path, *, below: str = "") -> Path:
        figures.append(figure)
        return path

    monkeypatch.setattr(comparison, "write_figure", keep)
    return figures


def test_metrics_that_the_paper_does_not_print_are_left_to_the_table(
    drawn: list[Figure], tmp_path: Path
) -> None:
    numbers = [("fair", "gain", 2.0), ("fair", "p", None), ("equal", "gain", None)]
    write_comparison(compared(*numbers), tmp_path)
    (axes,) = drawn[0].axes
    assert axes.get_title() == "gain"
    assert [text.get_text() for text in axes.get_yticklabels()] == ["digits, fair", "digits, equal"]
    assert drawn[0].get_supxlabel() == "percent"
    assert [text.get_text() for text in drawn[0].legends[0].get_texts()] == ["ours", "paper"]


def test_without_the_paper_all_metrics_are_drawn(drawn: list[Figure], tmp_path: Path) -> None:
    write_comparison(compared(("fair", "gain", None), ("fair", "p", None)), tmp_path)
    assert [axes.get_title() for axes in drawn[0].axes] == ["gain", "p"]


@pytest.mark.parametrize(("size", "said"), [("smoke", True), ("cpu", True), ("paper", False)])
def test_files_say_what_stands_in_for_the_data_that_they_name(
    tmp_path: Path, size: Size, said: bool
) -> None:
    """Pictures and rows said CIFAR-10 and ResNet18 of digits and a small network."""
    experiment = experiment_named("cycle-table3")
    note = stand_ins(experiment, size)
    assert bool(note) == said
    figure = Figure(figsize=(4, 2))
    write_figure(figure, tmp_path / "figure.png", below=note)
    written = " ".join(text.get_text() for text in figure.texts)
    assert " ".join(written.split()) == note
    write_comparison(compared(("fair", "gain", 2.0)), tmp_path, stand_in=note)
    rows = list(csv.DictReader((tmp_path / "comparison.csv").read_text().splitlines()))
    assert [(row["size"], row["note"]) for row in rows] == [("cpu", note)]
