"""Where networks train by default, and what torch cannot use."""

from __future__ import annotations

import pytest
import torch

from securefair.errors import ConfigError
from securefair_lab.papers.device import chosen_device


@pytest.mark.parametrize(
    ("size", "gpu", "expected"),
    [
        ("paper", True, "cuda"),
        ("paper", False, "cpu"),
        ("cpu", True, "cpu"),
        ("smoke", True, "cpu"),
    ],
)
def test_the_papers_sizes_take_a_gpu_where_there_is_one(
    size: str, gpu: bool, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpu)
    assert chosen_device(None, size) == expected


def test_a_named_device_is_taken_at_every_size() -> None:
    assert chosen_device("cpu", "paper") == "cpu"


@pytest.mark.parametrize("named", ["quantum", "meta", "cuda:99"])
def test_a_device_that_cannot_compute_is_refused(named: str) -> None:
    with pytest.raises(ConfigError, match=f"--device: .*{named}"):
        chosen_device(named, "smoke")
