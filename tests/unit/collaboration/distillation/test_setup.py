from dataclasses import replace

import msgspec
import pytest

from securefair.circuit.planner import plan_exchange
from securefair.circuit.spec import ExchangeSpec, HeadBounds
from securefair.collaboration.disclosure import DisclosureLimits
from securefair.collaboration.distillation.setup import Collaboration
from securefair.errors import ConfigError, PlanError
from securefair.worth import ReputationRule

SPEC = ExchangeSpec(features=4, classes=2, samples=40, hidden=0, q=8)
AGREED = Collaboration(participants=("ann", "bob", "cem"), spec=SPEC)

CHANGES = {
    "participants": ("ann", "bob", "dan"),
    "spec": ExchangeSpec(features=4, classes=2, samples=40, hidden=0, q=9),
    "rule": ReputationRule(alpha=0.6),
    "always_share": True,
    "forced_every": 6,
    "temperature": 4.0,
    "lambda_0": 49.0,
    "prevalence": "teacher",
    "local_steps": 6,
    "round_seconds": 601.0,
    "setup_seconds": 3601.0,
    "seed": 1,
    "key_bits": 32.0,
    "key_openings": 32,
}


@pytest.mark.parametrize("participants", [(), ("ann",), ("ann", "ann"), ("ann", "bob", "ann")])
def test_names_must_be_at_least_two_and_different(participants):
    with pytest.raises(ConfigError, match=r"^participants: .*at least two"):
        Collaboration(participants=participants, spec=SPEC)


def test_an_impossible_spec_is_refused_at_once():
    with pytest.raises(PlanError, match=r"^q: "):
        Collaboration(
            participants=("ann", "bob"),
            spec=ExchangeSpec(features=4, classes=2, samples=40, hidden=0, q=40),
        )


@pytest.mark.parametrize("release", ["loss", "class_sums"])
def test_releases_that_only_monitor_need_no_reputations(release):
    spec = ExchangeSpec(features=4, classes=2, samples=40, hidden=0, release=release)
    with pytest.raises(ConfigError, match=r"^spec.release: .*no reputation can be formed"):
        replace(AGREED, spec=spec)
    assert replace(AGREED, spec=spec, always_share=True).digest != AGREED.digest


class TestDigest:
    def test_equal_constants_have_equal_digests(self):
        again = Collaboration(participants=("ann", "bob", "cem"), spec=SPEC)
        assert AGREED.digest == again.digest
        assert len(AGREED.digest) == 32

    def test_every_constant_counts(self):
        assert {*CHANGES, "teachers"} == set(vars(AGREED))
        others = [replace(AGREED, **{name: value}).digest for name, value in CHANGES.items()]
        apart = replace(AGREED, always_share=True, teachers=("ann",)).digest  # only with VPDL
        assert len({AGREED.digest, *others, apart}) == len(CHANGES) + 2

    def test_bounds_deep_inside_count_too(self):
        tighter = ExchangeSpec(
            features=4, classes=2, samples=40, hidden=0, q=8, bounds=HeadBounds(logit=31.0)
        )
        assert replace(AGREED, spec=tighter).digest != AGREED.digest

    def test_the_order_of_names_counts(self):
        """Records are indexed by it."""
        assert replace(AGREED, participants=("bob", "ann", "cem")).digest != AGREED.digest


class TestSpecFor:
    def test_fewer_samples_change_nothing_else(self):
        spec = AGREED.spec_for(20)
        assert spec.samples == 20
        assert AGREED.spec_for(40) == SPEC
        assert {f for f in SPEC.__struct_fields__ if getattr(spec, f) != getattr(SPEC, f)} == {
            "samples"
        }

    def test_more_samples_than_agreed_are_refused(self):
        with pytest.raises(ConfigError, match=r"^samples: .*found 41, expected 'at most 40'"):
            AGREED.spec_for(41)


class TestBasisSeed:
    def test_it_depends_on_the_seed_alone(self):
        """One data epoch keeps one basis, whatever else is renegotiated."""
        assert replace(AGREED, temperature=4.0).basis_seed == AGREED.basis_seed
        assert replace(AGREED, seed=1).basis_seed != AGREED.basis_seed


@pytest.mark.parametrize(
    ("changes", "fewest"),
    [
        ({}, 9),
        ({"basis": "student"}, 9),
        ({"release": "class_sums"}, 2),
        ({"release": "logits"}, 1),
    ],
)
def test_who_signs_reads_how_many_samples_it_needs(changes, fewest):
    """Before it signs: a site with fewer would be refused when it checks its folder."""
    spec = msgspec.structs.replace(SPEC, **changes)
    agreed = replace(AGREED, spec=spec, always_share=True)
    assert f"for sites with at least {fewest} training samples" in agreed.summary
    assert plan_exchange(agreed.spec_for(fewest))
    with pytest.raises(PlanError):
        plan_exchange(agreed.spec_for(fewest - 1))


class TestLimits:
    @pytest.mark.parametrize(
        ("release", "basis"),
        [("projection", "public"), ("projection", "student"), ("loss", "public")],
    )
    def test_they_admit_every_number_of_samples(self, release, basis):
        """Few samples may need larger parameters than many."""
        spec = ExchangeSpec(
            features=4, classes=2, samples=40, hidden=0, q=8, release=release, basis=basis
        )
        agreed = replace(AGREED, spec=spec, always_share=True)
        limits = agreed.limits
        plans = [plan_exchange(agreed.spec_for(samples)) for samples in (10, 20, 40)]
        assert limits.public_key >= max(plan.public_key_bytes for plan in plans)
        assert limits.evaluation_keys >= max(plan.evaluation_key_bytes for plan in plans)
        assert limits.features >= max(plan.feature_bytes for plan in plans)
        assert limits.basis >= max(plan.basis_bytes for plan in plans)
        assert limits.predictions >= max(plan.query_bytes for plan in plans)
        assert limits.answer >= max(plan.answer_bytes for plan in plans)
        assert (limits.basis > 0) == (basis == "student")
        assert (limits.predictions > 0) == (release == "loss")


class TestMachineSettings:
    def test_public_constants_and_own_limits_reach_the_machine(self):
        settings = AGREED.machine_settings(
            AGREED.participants[0],
            10,
            DisclosureLimits(fraction=0.5, student_total=100, teacher_total=200),
        )
        assert settings.collaboration == AGREED.digest
        assert (settings.forced_every, settings.always_share) == (5, False)
        assert (settings.round_seconds, settings.setup_seconds) == (600.0, 3600.0)
        policy = settings.disclosure
        assert (policy.release.value, policy.classes, policy.rows) == ("projection", 2, 8)
        assert policy.teacher_parameters == 10
        assert policy.fraction_per_version == 0.5
        assert (policy.student_total, policy.teacher_total) == (100, 200)

    def test_own_limits_are_private(self):
        """Each decides for itself, so they are no part of what must agree."""
        one = AGREED.machine_settings(AGREED.participants[0], 10, DisclosureLimits())
        other = AGREED.machine_settings(AGREED.participants[0], 99, DisclosureLimits(fraction=0.1))
        assert one.collaboration == other.collaboration
