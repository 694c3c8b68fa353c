"""States survive a file bit by bit, and files cannot do more than build states."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from securefair.algorithms.distillation import DistillationState
from securefair.errors import DataError
from securefair.model.stacked_training import TrainStates
from securefair.papers.algorithms.fairsl import FairSlState
from securefair.papers.checkpoint import load_state, save_state


def same(a: Any, b: Any) -> bool:
    if isinstance(a, torch.Tensor):
        return bool(torch.equal(a, b)) and a.dtype == b.dtype
    if isinstance(a, np.ndarray):
        return bool(np.array_equal(a, b)) and a.dtype == b.dtype
    if dataclasses.is_dataclass(a):
        return type(a) is type(b) and all(
            same(getattr(a, f.name), getattr(b, f.name)) for f in dataclasses.fields(a)
        )
    if isinstance(a, tuple | list):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    return bool(a == b)


STATES = (
    DistillationState(
        seed=3,
        round=2,
        train_states=TrainStates(torch.randn(2, 5), torch.randn(2, 4, dtype=torch.float64)),
        reputation={"P1": {"P2": 0.1 + 0.2}, "P2": {}},
    ),
    FairSlState(
        seed=2**63 - 1,
        round=0,
        train_states=TrainStates(torch.zeros(1, 1), torch.zeros(1, 1)),
        sections=((np.arange(3), np.zeros(0, dtype=np.int64)),),
    ),
)


@pytest.mark.parametrize("state", STATES)
def test_a_state_comes_back_as_it_was(tmp_path: Path, state: object) -> None:
    save_state(tmp_path / "state.npz", state)
    assert same(state, load_state(tmp_path / "state.npz"))


def test_what_is_no_state_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="cannot hold"):
        save_state(tmp_path / "state.npz", {"file": tmp_path})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "described",
    [
        {"class": ["os", "system"], "fields": {}},
        {"class": ["securefair.errors", "DataError"], "fields": {}},
        {"class": ["securefair.nowhere", "State"], "fields": {}},
        {"tensor": "missing"},
        {"unknown": 1},
    ],
)
def test_a_file_builds_nothing_but_states(tmp_path: Path, described: object) -> None:
    text = np.frombuffer(json.dumps(described).encode(), dtype=np.uint8)
    np.savez(tmp_path / "state.npz", description=text)
    with pytest.raises(DataError, match="cannot be read"):
        load_state(tmp_path / "state.npz")


def test_a_damaged_file_is_an_error_with_a_way_out(tmp_path: Path) -> None:
    save_state(tmp_path / "state.npz", STATES[0])
    content = (tmp_path / "state.npz").read_bytes()
    (tmp_path / "state.npz").write_bytes(content[: len(content) // 2])
    with pytest.raises(DataError, match="resume"):
        load_state(tmp_path / "state.npz")
