"""A result's code is told by what decides it, and by nothing else."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from securefair_lab.papers import code as codes
from securefair_lab.papers.catalogue import EXPERIMENTS

SOURCE = '''"""A module."""
from __future__ import annotations
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    import securefair.nowhere

def double(x):
    """Twice."""
    return 2 * x  # twice
'''


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The file of a module whose code is told anew at every call."""
    monkeypatch.syspath_prepend(tmp_path)
    codes.code_of.cache_clear()
    codes._parsed.cache_clear()
    yield tmp_path / "some_module_of_ours.py"
    sys.modules.pop("some_module_of_ours", None)
    codes.code_of.cache_clear()
    codes._parsed.cache_clear()


def code(path: Path, source: str) -> str:
    path.write_text(source, encoding="utf-8")
    codes.code_of.cache_clear()
    codes._parsed.cache_clear()
    return codes.code_of(path.stem)


def test_words_do_not_count_and_code_does(written: Path) -> None:
    before = code(written, SOURCE)
    words = SOURCE.replace("Twice", "Two times").replace("# twice", "# by two")
    assert code(written, words) == before
    assert code(written, SOURCE.replace("2 * x", "(\n        2 * x\n    )")) == before
    assert code(written, SOURCE.replace("2 * x", "3 * x")) != before


def test_code_that_is_imported_counts(written: Path) -> None:
    one = code(written, f"from securefair_lab.algorithms import vpdl\n{SOURCE}")
    other = code(written, f"from securefair_lab.algorithms import standalone\n{SOURCE}")
    assert len({one, other, code(written, SOURCE)}) == 3


def test_of_a_package_only_the_names_that_are_used_count(written: Path) -> None:
    through = code(written, f"from securefair_lab.algorithms import Vpdl\n{SOURCE}")
    codes.code_of("securefair_lab.algorithms.vpdl")
    (home,) = codes._parsed(written.stem)[1]
    assert home == "securefair_lab.algorithms.vpdl"
    assert through != code(written, f"from securefair_lab.algorithms import Standalone\n{SOURCE}")


def test_a_name_that_is_loaded_on_first_use_counts_with_its_home(written: Path) -> None:
    one = code(written, f"from securefair.data import load_heart\n{SOURCE}")
    assert codes._parsed(written.stem)[1] == ("securefair.data.heart",)
    assert one != code(written, f"from securefair.data import read_rows\n{SOURCE}")


def test_libraries_count(monkeypatch: pytest.MonkeyPatch, written: Path) -> None:
    before = code(written, SOURCE)
    monkeypatch.setattr(codes, "libraries", lambda: {"torch": "0.1"})
    assert code(written, SOURCE) != before


def test_contenders_of_one_experiment_differ_by_their_algorithms_code() -> None:
    contenders = EXPERIMENTS["dpfl-table1"].contenders("smoke", None)
    by_algorithm = {type(c.algorithm).__name__: c.code for c in contenders}
    assert len(set(by_algorithm.values())) > 5


def test_what_users_write_themselves_does_not_count() -> None:
    assert codes.code_behind(lambda: None) == codes.code_of()
