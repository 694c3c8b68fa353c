"""Figures of a collaborator graph, counted by hand, and budgets in proportion."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from securefair_lab.papers.dpfl_figures import harmful, sparsity, symmetry
from securefair_lab.papers.dpfl_methods import contenders, dpfl
from securefair_lab.papers.dpfl_settings import (
    ALL,
    CIFAR10,
    DIRICHLET,
    FIFTH,
    TWENTIETH,
    Setting,
    peers,
)


def links(*edges: tuple[int, int], n: int = 5) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    found = np.zeros((n, n), dtype=np.bool_)
    for k, j in edges:
        found[k, j] = True
    return found


def test_a_graph_is_sparse_by_its_missing_entries() -> None:
    assert sparsity(links()) == pytest.approx(100 * 20 / 25)  # the diagonal counts as links
    assert sparsity(links((0, 1), (1, 0))) == pytest.approx(100 * 18 / 25)


def test_a_graph_is_symmetric_by_its_pairs() -> None:
    assert symmetry(links()) == 100
    assert symmetry(links((0, 1), (1, 0))) == 100
    assert symmetry(links((0, 1))) == pytest.approx(100 * 18 / 20)


def test_links_from_the_honest_to_the_last_two_fifths_are_harmful() -> None:
    assert harmful(links((0, 1), (0, 4), (3, 4), (4, 0))) == 50  # the malicious do not count
    assert harmful(links()) == 0


def test_a_budget_is_the_same_part_of_fewer_participants() -> None:
    assert [peers(budget, 100) for budget in (ALL, FIFTH, TWENTIETH)] == [None, 20, 5]
    assert [peers(budget, 20) for budget in (ALL, FIFTH, TWENTIETH)] == [None, 4, 1]
    assert peers(TWENTIETH, 6) == 1


def test_the_preparation_counts_as_two_rounds() -> None:
    setting = Setting(size="paper", data=Path(), dataset=CIFAR10, split=DIRICHLET)
    alone, chosen = contenders([setting], [dpfl(ALL)])
    assert (alone.rounds, chosen.rounds) == (98, 98)
    assert alone.control
    assert (chosen.fields["n"], chosen.printed_as["n"]) == (100, 100)
    reduced = Setting(size="cpu", data=Path(), dataset=CIFAR10, split=DIRICHLET)
    assert contenders([reduced], [dpfl(ALL)])[1].printed_as["n"] == 100


def test_two_fifths_are_malicious() -> None:
    setting = Setting(size="cpu", data=Path(), dataset=CIFAR10, split=DIRICHLET, malicious=True)
    assert setting.flippers == tuple(f"P{n}" for n in range(13, 21))
