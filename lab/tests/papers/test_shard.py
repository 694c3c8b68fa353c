"""Shards are all runs, each once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from securefair.errors import ConfigError
from securefair_lab.papers.shard import WHOLE, Shard


@given(runs=st.integers(0, 50), count=st.integers(1, 20))
def test_shards_are_all_runs_each_once_and_nearly_equal(runs: int, count: int) -> None:
    parts = [Shard(index, count).of(range(runs)) for index in range(1, count + 1)]
    assert sorted(run for part in parts for run in part) == list(range(runs))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_a_shard_is_read_from_its_name() -> None:
    assert Shard.parse("3/16") == Shard(3, 16)
    assert Shard.parse("1/1") == WHOLE


@pytest.mark.parametrize("text", ["", "3", "0/4", "5/4", "1/0", "-1/4", "1/4/2", "a/b", "1 / 4"])
def test_what_is_no_shard_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="--shard"):
        Shard.parse(text)
