from dataclasses import replace

import pytest

from securefair.circuit.planner import plan_exchange
from securefair.circuit.spec import ExchangeSpec
from securefair.collaboration.kinds import kind_of
from securefair.config import DisclosureSection
from securefair.errors import ConfigError, PlanError
from securefair.model.projection import SignedSeed
from support.agreements import agree

SPEC = ExchangeSpec(features=4, classes=2, samples=40, hidden=0, q=8)
NAMES = ("ann", "bob", "cem")


def agreed(algorithm="cycle", participants=NAMES, **settings):
    return agree(algorithm, participants, **({"kind": "linear", "q": 8} | settings))


AGREED = agreed()


@pytest.mark.parametrize("participants", [(), ("ann",), ("ann", "ann"), ("ann", "bob", "ann")])
def test_names_must_be_at_least_two_and_different(participants):
    with pytest.raises(ConfigError, match=r"^participants: .*at least two"):
        agreed(participants=participants)


def test_an_impossible_spec_is_refused_at_once():
    with pytest.raises(PlanError, match=r"^q: "):
        agreed(q=40)


@pytest.mark.parametrize("release", ["loss", "class_sums"])
def test_releases_that_only_monitor_need_no_reputations(release):
    with pytest.raises(ConfigError, match=r"^distillation.release: .*no reputation can be formed"):
        agreed(release=release)
    assert agreed("vpdl", release=release).digest != AGREED.digest


class TestDigest:
    def test_equal_constants_have_equal_digests(self):
        assert AGREED.digest == agreed().digest
        assert len(AGREED.digest) == 32

    def test_what_is_no_section_counts(self):
        others = [
            agreed("vpdl"),
            agreed(participants=("ann", "bob", "dan")),
            agreed(seed=1),
            agreed(shape=5),
            agreed(classes=3),
            agreed(samples=41),
            agreed(round_seconds=601.0),
            agreed(setup_seconds=3601.0),
        ]
        assert len({one.digest for one in (AGREED, *others)}) == len(others) + 1

    def test_the_order_of_names_counts(self):
        """Records are indexed by it."""
        assert agreed(participants=("bob", "ann", "cem")).digest != AGREED.digest


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
        assert agreed(temperature=4.0).basis_seed == AGREED.basis_seed
        assert replace(AGREED, seed=1).basis_seed != AGREED.basis_seed

    @pytest.mark.parametrize("algorithm", ["cycle", "transfer"])
    def test_projects_of_protocol_12_go_on_under_signs(self, algorithm):
        new = AGREED if algorithm == "cycle" else agree(algorithm, NAMES)
        old = replace(new, facts=replace(new.facts, protocol=12))
        assert isinstance(old.basis_seed, SignedSeed)
        assert not isinstance(new.basis_seed, SignedSeed)
        assert old.basis_seed == new.basis_seed


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
    found = agreed("vpdl", **changes)
    assert f"for sites with at least {fewest} training samples" in found.summary
    assert plan_exchange(found.spec_for(fewest))
    with pytest.raises(PlanError):
        plan_exchange(found.spec_for(fewest - 1))


@pytest.mark.parametrize("algorithm", ["vpdl", "cycle"])
def test_who_signs_reads_that_nothing_is_encrypted(algorithm):
    kind, clear = kind_of(algorithm), agreed(algorithm, backend="clear")
    assert agreed(algorithm).summary.startswith("ring degree 4096, projection of 16 numbers")
    told = "every peer that is asked can read the features of these patients"
    assert not any(told in one for one in kind.cautions(agreed(algorithm)))
    said = "NOTHING IS ENCRYPTED (encryption.backend = clear), projection of 16 numbers"
    assert clear.summary.startswith(said)
    assert told in kind.cautions(clear)[0]


class TestLimits:
    @pytest.mark.parametrize(
        ("release", "basis"),
        [("projection", "public"), ("projection", "student"), ("loss", "public")],
    )
    def test_they_admit_every_number_of_samples(self, release, basis):
        """Few samples may need larger parameters than many."""
        found = agreed("vpdl", release=release, basis=basis)
        limits = found.limits
        plans = [plan_exchange(found.spec_for(samples)) for samples in (10, 20, 40)]
        assert limits.public_key >= max(plan.public_key_bytes for plan in plans)
        assert limits.evaluation_keys >= max(plan.evaluation_key_bytes for plan in plans)
        assert limits.features >= max(plan.feature_bytes for plan in plans)
        assert limits.basis >= max(plan.basis_bytes for plan in plans)
        assert limits.question >= max(plan.query_bytes for plan in plans)
        assert limits.answer >= max(plan.answer_bytes for plan in plans)
        assert (limits.basis > 0) == (basis == "student")
        assert (limits.question > 0) == (release == "loss")


class TestMachineSettings:
    def test_public_constants_and_own_limits_reach_the_machine(self):
        limits = DisclosureSection(fraction=0.5, student_total=100, teacher_total=200)
        agreed = replace(AGREED, disclosure=limits)
        settings = agreed.machine_settings(agreed.participants[0], 10)
        assert settings.collaboration == AGREED.digest
        assert (settings.forced_every, settings.always_share) == (5, False)
        assert (settings.round_seconds, settings.setup_seconds) == (600.0, 3600.0)
        policy = settings.disclosure
        assert (policy.release, policy.classes, policy.rows) == ("projection", 2, 8)
        assert policy.teacher_parameters == 10
        assert policy.fraction_per_version == 0.5
        assert (policy.student_total, policy.teacher_total) == (100, 200)

    def test_own_limits_are_private(self):
        """Each decides for itself, so they are no part of what must agree."""
        own = replace(AGREED, disclosure=DisclosureSection(fraction=0.1))
        one = AGREED.machine_settings(AGREED.participants[0], 10)
        other = own.machine_settings(own.participants[0], 99)
        assert one.disclosure.fraction_per_version != other.disclosure.fraction_per_version
        assert one.collaboration == other.collaboration
