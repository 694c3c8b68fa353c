"""The guide's tables say what the stored results say."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
GUIDE = (ROOT / "docs" / "notebook" / "reproduction.md").read_text(encoding="utf-8")
MARKED = re.findall(r"<!-- ([\w-]+) -->\n(.*?)<!-- /\1 -->", GUIDE, flags=re.S)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The tables as they are made of the stored results."""
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    return {name: make() for name, make in import_module("stored_tables").TABLES.items()}


def test_tables_are_printed_as_they_are_stored(made: dict[str, str]) -> None:
    assert {name: text.strip() for name, text in MARKED} == made
    assert len(MARKED) == len(made)


def test_a_cell_is_one_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    cells = import_module("stored_cells")
    assert cells.numbers("cycle-table6", {"method": "none of them"}).numbers == {}
    with pytest.raises(ValueError, match="several numbers"):
        cells.numbers("cycle-table6", {"method": "VPDL"})
