"""What participants that distil agree on is what their configuration says."""

import pytest

from securefair.collaboration import PublicFacts
from securefair.collaboration.distillation.kind import CYCLE, VPDL
from securefair.config import demo_config, override
from securefair.errors import ConfigError
from securefair.user.participants import load_participants


def small(**changes):
    return override(demo_config(), {"model.kind": "linear"} | changes, source="test")


def agreed_of(config, kind=CYCLE):
    return kind.agree(config, PublicFacts.of(load_participants(config, seed=0)), seed=9)


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
        agreed = agreed_of(config)
        names = ("Cleveland", "Hungary", "Switzerland", "VA Long Beach")
        assert agreed.participants == names
        assert (agreed.distillation, agreed.training) == (config.distillation, config.training)
        assert (agreed.rule.alpha, agreed.rule.tau_opt, agreed.rule.tau_max) == (0.25, 0.25, 0.75)
        assert (agreed.seed, agreed.always_share) == (9, False)
        spec = agreed.spec
        assert (spec.features, spec.classes, spec.samples) == (32, 2, 202)
        assert (spec.hidden, spec.q, spec.flooding_bits, spec.weight_bits) == (0, 20, 31, 10)
        assert spec.precision == 2.0**-10

    def test_vpdl_always_shares(self):
        assert agreed_of(small(), VPDL).always_share

    def test_a_quadratic_head_is_planned_with_its_width(self):
        config = small(**{"model.kind": "quadratic", "model.hidden": 7})
        assert agreed_of(config).spec.hidden == 7

    def test_the_plan_is_that_of_the_largest_participant(self):
        assert agreed_of(small()).spec.samples == 202

    def test_deadlines_are_those_that_everyone_knows(self):
        facts = PublicFacts(
            participants=("a", "b"),
            shape=(3,),
            classes=2,
            samples=200,
            round_seconds=7.0,
            setup_seconds=9.0,
        )
        agreed = CYCLE.agree(small(), facts, seed=0)
        settings = agreed.machine_settings("a", 8)
        assert (settings.round_seconds, settings.setup_seconds) == (7.0, 9.0)


@pytest.mark.parametrize("release", ["loss", "class_sums"])
def test_a_monitoring_release_is_refused_where_it_would_have_to_train(release):
    config = small(**{"distillation.release": release})
    with pytest.raises(ConfigError, match="only monitors") as refused:
        CYCLE.check(config)
    assert refused.value.where == "distillation.release"
    CYCLE.check(override(config, {"run.algorithms": ["standalone"]}))
