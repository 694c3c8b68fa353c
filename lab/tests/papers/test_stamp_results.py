"""A stored result says what ran it again only where every number is the same."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import msgspec
import pytest

from securefair_lab.papers.repeating import repetition
from securefair_lab.papers.stored import stored_result

BENCH = Path(__file__).parents[3] / "bench"


def test_only_an_equal_run_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(BENCH)
    stamp = import_module("stamp_results")
    sys.modules.pop("stamp_results")
    stored = msgspec.structs.replace(stored_result("cffl-free-rider"), again=[])
    elsewhere = [msgspec.structs.replace(stored.origins[0], processor="another")]
    run = msgspec.structs.replace(stored, origins=elsewhere)
    found = stamp.stamped(stored, run, "digest")
    assert found.origins == stored.origins
    assert [(own.processor, own.code) for own in found.again] == [("another", "digest")]
    moved = msgspec.structs.replace(stored.numbers[0], ours=0.5)
    other = msgspec.structs.replace(run, numbers=[moved, *stored.numbers[1:]])
    assert stamp.stamped(stored, other) == stored
    assert not any(line.startswith("processor") for line in repetition(found, run).apart)
