"""Messages and bytes of many hospitals, which meet in groups; `bench/growth.py` has 500 of them."""

import importlib.util
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench" / "growth.py"
LARGEST_GROUP = 16
"""Hospitals that ask each other; from 17 on there are several groups."""

SAYS = {"hello", "keys", "ask", "answer", "reveal", "key"}
"""To each peer of the group, once."""


@pytest.fixture(scope="module")
def growth():
    spec = importlib.util.spec_from_file_location("growth", BENCH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow  # a process with up to 36 sites
def test_what_a_hospital_says_does_not_grow_with_hospitals(growth):
    """Everybody says each thing once to each peer of the own group, and nothing to others.

    Groups are of nine, of 18 hospitals as of 36.
    """
    each, size = {}, {}
    for count in (8, 18, 36):
        agreement, messages, sizes = growth.traffic(count)
        met = [len(agreement.met_by(name)) for name in agreement.facts.participants]
        assert max(met) < LARGEST_GROUP
        assert messages == dict.fromkeys(SAYS, sum(met))
        each[count] = messages.total() / count
        size[count] = {kind: sizes[kind] / messages[kind] for kind in SAYS}
    assert each[36] == each[18] == len(SAYS) * 8
    for kind in SAYS:  # a message is as long, but for the names of a group that it may hold
        assert size[36][kind] == pytest.approx(size[18][kind], rel=0.2)
