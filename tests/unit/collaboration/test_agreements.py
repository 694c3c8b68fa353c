"""What participants agree on is what their configuration says."""

import numpy as np

from securefair.collaboration.agreements import collaboration_of, limits_of, load_participants
from securefair.config import demo_config, override, parse_config

PARTITIONED = """
[run]
name = "cancer"
[data]
source = "breast-cancer"
[data.partition]
kind = "homogeneous"
participants = 3
"""


def small(**changes):
    return override(demo_config(), {"model.kind": "linear"} | changes, source="test")


class TestParticipants:
    def test_hospitals_come_with_their_own_samples(self):
        data = load_participants(small(), seed=0)
        assert [own.name for own in data] == [
            "Cleveland",
            "Hungary",
            "Switzerland",
            "VA Long Beach",
        ]
        assert [len(own.train) + len(own.test) for own in data] == [303, 294, 123, 200]

    def test_a_seed_is_a_split(self):
        one, same, other = (load_participants(small(), seed)[0].test for seed in (0, 0, 1))
        np.testing.assert_array_equal(one.features, same.features)
        assert not np.array_equal(one.features, other.features)

    def test_a_partition_divides_what_has_no_hospitals(self):
        data = load_participants(parse_config(PARTITIONED, source="test"), seed=0)
        assert [own.name for own in data] == ["P1", "P2", "P3"]
        assert sum(len(own.train) + len(own.test) for own in data) == 569


class TestCollaboration:
    def test_every_agreed_setting_comes_from_the_configuration(self):
        config = small(
            **{
                "distillation.q": 20,
                "distillation.temperature": 3.0,
                "distillation.lambda_0": 7.0,
                "fairness.alpha": 0.25,
                "fairness.forced_every": 4,
                "training.local_steps": 2,
                "encryption.flooding_bits": 31,
                "model.weight_bits": 10,
            }
        )
        data = load_participants(config, seed=0)
        agreed = collaboration_of(config, data, algorithm="cycle", seed=9)
        assert agreed.participants == tuple(own.name for own in data)
        assert (agreed.temperature, agreed.lambda_0, agreed.forced_every) == (3.0, 7.0, 4)
        assert (agreed.rule.alpha, agreed.rule.tau_opt, agreed.rule.tau_max) == (0.25, 0.25, 0.75)
        assert (agreed.local_steps, agreed.seed, agreed.always_share) == (2, 9, False)
        spec = agreed.spec
        assert (spec.features, spec.classes, spec.samples) == (32, 2, 202)
        assert (spec.hidden, spec.q, spec.flooding_bits, spec.weight_bits) == (0, 20, 31, 10)
        assert spec.precision == 2.0**-18

    def test_vpdl_always_shares(self):
        data = load_participants(small(), seed=0)
        assert collaboration_of(small(), data, algorithm="vpdl", seed=0).always_share

    def test_a_quadratic_head_is_planned_with_its_width(self):
        config = small(**{"model.kind": "quadratic", "model.hidden": 7})
        data = load_participants(config, seed=0)
        assert collaboration_of(config, data, algorithm="cycle", seed=0).spec.hidden == 7

    def test_the_plan_is_that_of_the_largest_participant(self):
        data = load_participants(small(), seed=0)
        assert collaboration_of(small(), data, algorithm="cycle", seed=0).spec.samples == 202


def test_limits_of_the_ledger_come_from_the_configuration():
    limits = limits_of(small(**{"disclosure.fraction": 0.5, "disclosure.teacher_total": 900}))
    assert (limits.fraction, limits.student_total, limits.teacher_total) == (0.5, None, 900)
