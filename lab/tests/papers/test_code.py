"""A result's code is told by what decides it, and by nothing else."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest

from securefair_lab.papers import code as codes
from securefair_lab.papers import definitions
from securefair_lab.papers.catalogue import EXPERIMENTS
from securefair_lab.papers.definitions import Place, place_at
from securefair_lab.papers.experiment import Contender

SOURCE = '''"""A module."""
from __future__ import annotations
from typing import TYPE_CHECKING
import numpy as np
if TYPE_CHECKING:
    import securefair.nowhere

def double(x: float) -> float:
    """Twice."""
    factor = FACTOR
    return np.multiply(factor, x)  # twice

FACTOR = 2

def other(x):
    return x + 1

def used(x):
    return double(x)
'''
NAME = "some_module_of_ours"


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The file of a module that counts as ours, and whose code is told anew at every call."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(definitions, "PACKAGES", (*definitions.PACKAGES, NAME))
    yield tmp_path / f"{NAME}.py"
    sys.modules.pop(NAME, None)
    forget()


def forget() -> None:
    for cached in (codes.digest, definitions.definition, definitions._read, definitions._exists):
        cached.cache_clear()


def code(path: Path, source: str, name: str = "used") -> str:
    path.write_text(source, encoding="utf-8")
    forget()
    return codes.digest(Place(NAME, name))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Twice", "Two times"),
        ("# twice", "# by two"),
        ("np.multiply(factor, x)", "(\n        np.multiply(factor, x)\n    )"),
        ("double", "doubled"),
        ("FACTOR", "TIMES"),
        ("factor", "by"),
        ("np", "numpy"),
        (": float", ""),
        ("x + 1", "x + 2"),  # nothing refers to it
    ],
)
def test_names_words_and_what_is_not_used_do_not_count(written: Path, old: str, new: str) -> None:
    assert code(written, SOURCE.replace(old, new)) == code(written, SOURCE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("FACTOR = 2", "FACTOR = 3"),
        ("np.multiply", "np.add"),
        ("return double(x)", "return other(x)"),
        ("FACTOR = 2", "FACTOR = 2\nnp.seterr(all='raise')"),
    ],
)
def test_what_decides_counts(written: Path, old: str, new: str) -> None:
    assert code(written, SOURCE.replace(old, new)) != code(written, SOURCE)


def test_a_helper_that_moves_to_another_module_is_the_same(written: Path) -> None:
    start, end = SOURCE.index("def double"), SOURCE.index("def other")
    helper = f"{NAME}_helper"
    (written.parent / f"{helper}.py").write_text(f"import numpy as np\n{SOURCE[start:end]}")
    moved = f"from {helper} import double\n{SOURCE[:start]}{SOURCE[end:]}"
    definitions.PACKAGES = (*definitions.PACKAGES, helper)
    assert code(written, moved) == code(written, SOURCE)


def test_names_are_followed_through_doors(written: Path) -> None:
    def behind(line: str) -> set[str]:
        code(written, f"{line}\ndef used():\n    return algorithm")
        return {place.module for place in codes.reached(Place(NAME, "used"))}

    assert "securefair_lab.algorithms.vpdl" in behind(
        "from securefair_lab.algorithms import Vpdl as algorithm"
    )
    lazy = behind("from securefair.data import load_heart as algorithm")
    assert "securefair.data.heart" in lazy
    assert "securefair_lab.algorithms.vpdl" not in lazy


def test_libraries_count(monkeypatch: pytest.MonkeyPatch, written: Path) -> None:
    before = code(written, SOURCE)
    monkeypatch.setattr(codes, "libraries", lambda: {"torch": "0.1"})
    assert code(written, SOURCE) != before


def test_contenders_of_one_experiment_differ_by_their_algorithms_code() -> None:
    contenders = EXPERIMENTS["dpfl-table1"].contenders("smoke", None)
    by_algorithm = {type(c.algorithm).__name__: c.code for c in contenders}
    assert len(set(by_algorithm.values())) > 5


def test_what_users_write_themselves_does_not_count() -> None:
    assert codes.code_behind(lambda: None) == codes.code_behind()


@pytest.mark.parametrize("name", ["cycle-table6", "cffl-free-rider", "dpfl-table2"])
def test_all_that_runs_counts(name: str) -> None:
    """Names are followed without running anything: here is what running calls."""
    contenders = EXPERIMENTS[name].contenders("smoke", None)
    for contender in (contenders[0], contenders[-1]):
        behind = codes.reached(
            *(p for own in (contender.members, contender.algorithm) for p in codes._places(own))
        )
        called = {place for place in _called(contender) if definitions.is_ours(place.module)}
        assert called - set(behind) == set()


@pytest.mark.parametrize("name", ["cycle-table6", "dpfl-table1", "fairsl-figure3"])
def test_readers_of_other_data_do_not_count(name: str) -> None:
    experiment = EXPERIMENTS[name]
    things = [experiment.metrics, experiment.measure]
    for contender in experiment.contenders("smoke", None):
        things += [contender.members, contender.algorithm]
    behind = codes.reached(*(place for own in things for place in codes._places(own)))
    assert Place("securefair_lab.data.images.digits", "load_mnist") in behind
    assert Place("securefair.data.excel", "read_excel") not in behind
    assert Place("securefair_lab.data.tables.forests", "load_auction") not in behind


def _called(contender: Contender) -> set[Place]:
    """Where every function is written that a start and one round call."""
    found: set[tuple[str, int]] = set()

    def heard(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename != "<string>":  # what dataclasses make
            module = frame.f_globals.get("__name__", "")
            found.add((str(module), frame.f_code.co_firstlineno))

    sys.setprofile(heard)
    try:
        members = contender.members(0)
        contender.algorithm.round(contender.algorithm.init(members, 0), members)
    finally:
        sys.setprofile(None)
    return {place_at(module, line) for module, line in found if definitions.is_ours(module)}
