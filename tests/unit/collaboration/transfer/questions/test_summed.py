"""Hospitals that add up what their fits know: whole runs in memory."""

from dataclasses import replace

import numpy as np
import pytest

from securefair.config import DisclosureSection
from securefair.errors import ConfigError
from securefair.model.transfer.sums import sum_of, transfer_sum
from securefair.model.transfer.sums.register import REGISTERED
from securefair.protocol.messages import OLDEST_PROTOCOL
from securefair.sites.couriers.memory import Faults, Link
from support.simulated import start_transfer

EVERY = pytest.mark.parametrize("name", REGISTERED)


def start(hospitals, agreement, **options):
    return start_transfer("transfer", hospitals, agreement, seed=3, backend="rns", **options)


@EVERY
@pytest.mark.parametrize("classes", [2, 3])
def test_a_student_opens_the_sum_over_the_others(make_hospitals, agree, name, classes):
    hospitals = make_hospitals(classes=classes)
    agreed = agree(hospitals, sums=name)
    run = start(hospitals, agreed)
    list(run.rounds(1))
    assert not run.problems
    summed = sum_of(name)
    others = [run.hosts[other].own for other in "bcd"]
    mean = np.mean([summed.told(one) for one in others], axis=0)
    released = run.hosts["a"].notes.released[""]
    np.testing.assert_allclose(released, mean, atol=agreed.question.plan.error_bound)
    expected = transfer_sum(run.hosts["a"].own, summed.opened(mean, 3, 4)).model
    later = hospitals[0].test.features
    found = run.hosts["a"].model().logits(later)
    np.testing.assert_allclose(found, expected.logits(later), atol=1e-3)
    facts = run.facts()
    assert facts.sums == name
    assert facts.encryption.ring_degree == 0
    assert {row.numbers_total for row in run.ledger} == {len(mean)}
    assert all(row.in_mean and row.determines for row in run.ledger)


@EVERY
def test_nobody_says_anything_of_its_patients_and_few_bytes_travel(make_hospitals, agree, name):
    hospitals = make_hospitals()
    run = start(hospitals, agree(hospitals, sums=name))
    list(run.rounds(1))
    asked = {one._request for one in run.hosts.values()}
    assert asked == {run.hosts["a"].agreement.question.digest}
    rows = [row for row in run.traffic if (row.sender, row.receiver) == ("a", "b")]
    assert sum(row.bytes for row in rows) < 1000


def test_the_ledger_has_the_predictions_of_each_student_not_of_the_largest(make_hospitals, agree):
    hospitals = make_hospitals()
    run = start(hospitals, agree(hospitals, sums="gradient"))
    list(run.rounds(1))
    found = {row.student: row.student_logits for row in run.ledger}
    assert found == {own.name: len(own.train) for own in hospitals}


def test_a_lost_hospital_is_left_out_where_enough_are_left(make_hospitals, agree):
    hospitals = make_hospitals("abcde")
    silent = Link(faults=Faults(drop=1.0))
    links = {("e", peer): silent for peer in "abcd"}
    agreed = agree(hospitals, sums="gradient", round_seconds=5.0, setup_seconds=5.0)
    run = start(hospitals, agreed, links=links)
    (record,) = run.rounds(1)
    assert record.answered[0] == [False, True, True, True, False]
    assert run.hosts["a"].transferred.trust.in_peers > 0


def test_too_few_left_make_no_sum(make_hospitals, agree):
    hospitals = make_hospitals("abcd")
    silent = Link(faults=Faults(drop=1.0))
    links = {("d", peer): silent for peer in "abc"}
    agreed = agree(hospitals, sums="curvature", round_seconds=5.0, setup_seconds=5.0)
    assert agreed.missing_of("a") == 0
    run = start(hospitals, agreed, links=links)
    list(run.rounds(1))
    assert run.hosts["a"].transferred.trust.in_peers == 0
    assert any("goes on without peers" in problem for problem in run.problems)


def test_a_limit_of_the_ledger_keeps_a_hospital_out(make_hospitals, agree):
    hospitals = make_hospitals()
    limits = DisclosureSection(student_total=5)
    run = start(hospitals, agree(hospitals, sums="gradient"), disclosure=limits)
    list(run.rounds(1))
    assert {row.numbers_total for row in run.ledger} <= {0}
    assert all(own.transferred.trust.in_peers == 0 for own in run.hosts.values())


def test_a_single_share_is_noise_and_all_weights_are_alike(make_hospitals, agree):
    hospitals = make_hospitals()
    agreed = agree(hospitals, sums="gradient")
    run = start(hospitals, agreed)
    list(run.rounds(1))
    share = run.hosts["b"]._shares.of("a", 0)
    assert share.request == agreed.question.digest  # no weight that a student could choose


@EVERY
def test_two_hospitals_have_no_sum(make_hospitals, agree, name):
    hospitals = make_hospitals("ab")
    with pytest.raises(ConfigError, match="a sum needs"):
        agree(hospitals, sums=name)
    assert agree(hospitals, sums="auto").chosen_sum.name == "none"


def test_a_hospital_with_too_few_patients_is_named_before_and_adds_nothing(make_hospitals, agree):
    """Of three others and 14 features each needs ten patients."""
    hospitals = make_hospitals(train=8, features=14)  # 8, 9, 10 and 11 patients
    agreed = agree(hospitals, sums="curvature")
    patients = {own.name: len(own.train) for own in hospitals}
    (warning,) = agreed.question.warnings(patients)
    assert warning.startswith("a, b will add nothing")
    run = start(hospitals, agreed)
    list(run.rounds(1))
    assert all(own.transferred.trust.in_peers == 0 for own in run.hosts.values())
    assert agree(hospitals, sums="gradient").question.warnings(patients) == []


@EVERY
def test_projects_of_before_go_on_without_the_number_about_leaves(make_hospitals, agree, name):
    hospitals = make_hospitals()
    agreed = agree(hospitals, sums=name)
    older = replace(agreed, facts=replace(agreed.facts, protocol=OLDEST_PROTOCOL))
    numbers = [one.question.numbers_of(40) for one in (agreed, older)]
    assert numbers[0] == numbers[1] + 1
    run = start(hospitals, older)
    list(run.rounds(1))
    assert not run.problems
    others = [run.hosts[other].own for other in "bcd"]
    summed = sum_of(name, evidence=False)
    mean = np.mean([summed.told(one) for one in others], axis=0)
    expected = transfer_sum(run.hosts["a"].own, summed.opened(mean, 3, 4)).model
    later = hospitals[0].test.features
    found = run.hosts["a"].model().logits(later)
    np.testing.assert_allclose(found, expected.logits(later), atol=1e-3)
