"""Every key of an agreement's sections is agreed on, unless it is everyone's own matter."""

import warnings
from dataclasses import fields, replace

import pytest

from securefair.collaboration.agreement import LOCAL, PublicFacts
from securefair.config import DisclosureSection
from securefair.config.base import Section
from securefair.config.privacy import PrivacySection
from securefair.errors import ConfigError
from securefair.protocol.messages import OLDEST_PROTOCOL
from support.agreements import agree


def agreed_keys(agreement):
    sections = {
        one.name: getattr(agreement, one.name) for one in fields(agreement) if one.metadata != LOCAL
    }
    return [
        (name, key)
        for name, section in sections.items()
        if isinstance(section, Section)
        for key in type(section).model_fields
    ]


@pytest.mark.parametrize("algorithm", ["transfer", "cycle", "cycle-gossip"])
def test_every_key_of_a_section_counts_but_an_own_matter(algorithm):
    agreement = agree(algorithm, "abcd", samples=100)
    for name, key in agreed_keys(agreement):
        section = getattr(agreement, name)
        other = section.model_copy(update={key: "something else"})
        # Without `__post_init__`, which would plan what nobody can.
        changed = object.__new__(type(agreement))
        vars(changed).update({one.name: getattr(agreement, one.name) for one in fields(agreement)})
        vars(changed)[name] = other
        if algorithm == "cycle-gossip":
            vars(changed).update(alignment=agreement.alignment, sum_plan=agreement.sum_plan)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # no such value is ever written
            same = changed.digest == agreement.digest
        assert same == (key in section.own_matter), (name, key)


def test_a_key_that_says_its_default_is_no_other_agreement():
    assert agree("transfer", "ab").digest == agree("transfer", "ab", peers=8).digest


@pytest.mark.parametrize("algorithm", ["transfer", "cycle", "cycle-gossip"])
def test_what_everybody_decides_for_itself_is_in_no_digest(algorithm):
    one = agree(algorithm, "abcd", samples=100)
    own = {"disclosure": DisclosureSection(student_total=7)}
    if algorithm != "cycle-gossip":  # no private fit stands behind averages
        own["privacy"] = PrivacySection(epsilon=1.0)
    assert replace(one, **own).digest == one.digest


def test_the_seed_and_the_facts_count():
    one = agree("transfer", "ab")
    assert len({one.digest, replace(one, seed=1).digest, agree("transfer", "ac").digest}) == 3


@pytest.mark.parametrize("outcome", ["number", "count", "time"])
def test_what_tells_no_classes_apart_is_refused_by_name(outcome):
    """A transfer alone predicts it."""
    one = agree("vpdl", "ab", q=16)
    with pytest.raises(ConfigError, match=f"it does not predict .*{outcome}"):
        replace(one, facts=replace(one.facts, outcome=outcome))


def test_what_came_later_is_agreed_on_only_where_it_is_not_its_default(monkeypatch):
    """So a project goes on that was founded by who did not know it."""
    now = agree("transfer", "ab")
    digest = now.digest
    monkeypatch.setattr(type(now.transfer), "later", frozenset({"missing"}))
    monkeypatch.setattr(PublicFacts, "later", frozenset({"outcome"}))
    before = replace(now)
    other = replace(now, transfer=now.transfer.model_copy(update={"missing": 2}))
    assert "missing" not in before.transfer.agreed()
    assert "missing" in other.transfer.agreed()
    assert len({digest, before.digest, other.digest}) == 3


def test_the_version_of_the_protocol_counts():
    one = agree("transfer", "ab")
    facts = replace(one.facts, protocol=one.facts.protocol + 1)
    assert replace(one, facts=facts).digest != one.digest


MANY = [f"h{number:02d}" for number in range(40)]


def test_participants_of_a_transfer_meet_their_group_and_are_met_by_it():
    """So messages grow with hospitals, and not with their pairs."""
    agreement = agree("transfer", MANY)
    met = {name: set(agreement.met_by(name)) for name in MANY}
    assert all(met[name] == set(agreement.teachers_of(name)) for name in MANY)
    assert all(name in met[peer] for name in MANY for peer in met[name])
    assert max(map(len, met.values())) < 20


@pytest.mark.parametrize("algorithm", ["transfer", "cycle", "cycle-gossip"])
def test_before_groups_met_everybody_met_everybody(algorithm):
    agreement = agree(algorithm, MANY[:12], samples=100)
    before = replace(agreement, facts=replace(agreement.facts, protocol=OLDEST_PROTOCOL))
    assert before.met_by(MANY[3]) == (*MANY[:3], *MANY[4:12])
