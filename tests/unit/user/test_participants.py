"""Participants are those of the configuration."""

import numpy as np

from securefair.config import demo_config
from securefair.user.participants import load_participants

PARTITIONED = """
[run]
name = "cancer"
[data]
source = "breast-cancer"
[data.partition]
kind = "homogeneous"
participants = 3
"""


class TestParticipants:
    def test_hospitals_come_with_their_own_samples(self):
        data = load_participants(demo_config(), seed=0)
        assert [own.name for own in data] == [
            "Cleveland",
            "Hungary",
            "Switzerland",
            "VA Long Beach",
        ]
        assert [len(own.train) + len(own.test) for own in data] == [303, 294, 123, 200]

    def test_a_seed_is_a_split(self):
        one, same, other = (load_participants(demo_config(), seed)[0].test for seed in (0, 0, 1))
        np.testing.assert_array_equal(one.features, same.features)
        assert not np.array_equal(one.features, other.features)
