"""The upper rungs of transfer: clear = encrypted within the planned error."""

from dataclasses import replace

import numpy as np
import pytest

from securefair.collaboration.private import polynomial_of, private_teachers
from securefair.config import DisclosureSection
from securefair.config.privacy import PrivacySection
from securefair.data.dataset import Samples
from securefair.errors import DataError
from securefair.sites.couriers.memory import Faults, Link
from support.coefficients import coefficients
from support.simulated import start_transfer

pytestmark = pytest.mark.slow  # whole runs

FITS = {1: "linear", 2: "quadratic"}


def renew(run, data):
    run.hosts[data.name].renew(data)


def start(hospitals, agreement, backend="clear", **options):
    return start_transfer("transfer", hospitals, agreement, seed=3, backend=backend, **options)


@pytest.mark.parametrize("opened", ["each", "mean"])
@pytest.mark.parametrize("backend", ["rns", "seal"])
def test_encrypted_is_clear_within_the_planned_error(make_hospitals, agree, opened, backend):
    hospitals = make_hospitals("abc")
    agreed = agree(hospitals, opened=opened, precision=2**-18)
    clear, encrypted = start(hospitals, agreed), start(hospitals, agreed, backend)
    for run in (clear, encrypted):
        list(run.rounds(1))
    plan = agreed.plan  # in the clear only what rounds forms is left
    assert clear.observer.audit.max_abs_error <= plan.packing.rounding(plan.spec, plan.schedule)
    assert 0 < encrypted.observer.audit.max_abs_error <= agreed.plan.error_bound
    for name, model in clear.models().items():
        np.testing.assert_allclose(
            coefficients(encrypted.models()[name]),
            coefficients(model),
            atol=1e4 * agreed.plan.error_bound,
        )
    assert [row.numbers_total for row in encrypted.ledger] == [5] * 6
    assert all(row.determines for row in encrypted.ledger)  # 4 features and a constant
    assert {row.in_mean for row in encrypted.ledger} == {opened == "mean"}


def test_peers_limit_whom_one_asks(make_hospitals, agree):
    hospitals = make_hospitals("abcdefgh")
    agreed = agree(hospitals, peers=3)
    run = start(hospitals, agreed)
    (record,) = run.rounds(1)
    assert all(sum(row) == 3 for row in record.answered)
    assert len(run.exchanges) == 24


def test_a_lost_teacher_costs_its_answer_only(make_hospitals, agree):
    hospitals = make_hospitals()
    silent = Link(faults=Faults(drop=1.0))
    links = {("d", peer): silent for peer in "abc"}
    run = start(hospitals, agree(hospitals, round_seconds=5.0, setup_seconds=5.0), links=links)
    (record,) = run.rounds(1)
    assert record.answered[0] == [False, True, True, False]
    assert run.hosts["a"].transferred.trust.in_peers > 0
    assert run.hosts["d"].transferred.trust.in_peers == 0


@pytest.mark.parametrize(
    ("names", "most", "words"),
    [
        ("ab", 4, ["answer", "ask", "hello"]),
        ("abcd", 6, ["answer", "ask", "hello", "key", "keys", "reveal"]),
    ],
)
def test_a_transfer_takes_few_messages_a_direction(make_hospitals, agree, names, most, words):
    """Over a shared folder every one of them may cost hours."""
    hospitals = make_hospitals(names)
    run = start(hospitals, agree(hospitals))
    list(run.rounds(1))
    assert not run.problems
    for sender in names:
        for receiver in set(names) - {sender}:
            rows = [row for row in run.traffic if (row.sender, row.receiver) == (sender, receiver)]
            assert sorted(row.message for row in rows) == words
            assert sum(row.count for row in rows) == len(words) <= most


def test_one_teacher_is_opened_by_itself(make_hospitals, agree):
    hospitals = make_hospitals("ab")
    run = start(hospitals, agree(hospitals))
    list(run.rounds(1))
    assert set(run.hosts["a"].transferred.trust.weights) == {"b"}


@pytest.mark.parametrize(
    ("opened", "said"),
    [
        ("mean", "a leaves out the mean of its peers' answers, and goes on without peers: it does"),
        ("each", "a leaves out b, c, d, whose answer does not follow from the features"),
    ],
)
def test_answers_that_follow_from_nothing_are_named(
    make_hospitals, agree, opened, said, monkeypatch
):
    monkeypatch.setattr("securefair.model.transfer.transferred.is_function", lambda *_: False)
    hospitals = make_hospitals()
    run = start(hospitals, agree(hospitals, opened=opened))
    list(run.rounds(1))
    assert any(problem.startswith(said) for problem in run.problems)
    assert run.hosts["a"].transferred.trust.in_peers == 0


def test_a_limit_keeps_a_teacher_from_answering(make_hospitals, agree):
    hospitals = make_hospitals("abc")
    run = start(hospitals, agree(hospitals), disclosure=DisclosureSection(student_total=4))
    (record,) = run.rounds(1)
    assert not any(map(any, record.answered))
    assert sum("would disclose too many numbers" in problem for problem in run.problems) >= 6
    assert any("goes on without peers" in problem for problem in run.problems)
    for one in hospitals:
        own = run.hosts[one.name].own
        np.testing.assert_allclose(coefficients(run.models()[one.name]), coefficients(own.averaged))


class TestRenewal:
    """A hospital whose own patients changed asks again, and reputation decides who answers."""

    def changed(self, make_hospitals):
        return replace(make_hospitals(train=24)[0], train=make_hospitals(train=20)[1].train)

    def begun(self, make_hospitals, agree, opened, hospitals=None):
        hospitals = hospitals or make_hospitals(train=24)
        agreed = agree(hospitals, opened=opened, samples=30)
        run = start(hospitals, agreed, disclosure=DisclosureSection(fraction=None))
        list(run.rounds(1))
        return run

    def think(self, run, name, weights):
        own = run.hosts[name]
        own.transferred = replace(
            own.transferred, trust=replace(own.transferred.trust, weights=weights)
        )

    def test_nobody_asks_again_whose_patients_stayed(self, make_hospitals, agree):
        run = self.begun(make_hospitals, agree, "each")
        before = run.ledger
        assert list(run.rounds(5)) == []
        assert run.ledger == before
        assert {row.control_bits for row in before} == {0}

    @pytest.mark.parametrize("opened", ["each", "mean"])
    def test_only_who_changed_asks_and_only_that_is_charged(self, make_hospitals, agree, opened):
        run = self.begun(make_hospitals, agree, opened)
        before = {(row.student, row.teacher): row.numbers_total for row in run.ledger}
        renew(run, self.changed(make_hospitals))
        if opened == "each":
            for name in "bcd":
                self.think(run, name, dict.fromkeys("abcd", 1.0))
        (record,) = run.rounds(2)
        assert (record.round, record.forced) == (1, False)
        assert [sum(row) for row in record.asked] == [3, 0, 0, 0]
        assert [sum(row) for row in record.answered] == [3, 0, 0, 0]
        for row in run.ledger:
            more = row.numbers_total - before[row.student, row.teacher]
            assert more == (5 if row.student == "a" else 0)
            told = opened == "each" and row.student == "a"  # whether it shares
            assert row.control_bits == told
        assert {one.round for one in run.exchanges if one.student == "a"} == {0, 1}
        assert list(run.rounds(5)) == []

    def test_the_result_is_that_of_new_patients_from_the_start(self, make_hospitals, agree):
        changed, (_, *others) = self.changed(make_hospitals), make_hospitals(train=24)
        run = self.begun(make_hospitals, agree, "mean")
        renew(run, changed)
        list(run.rounds(2))
        afresh = self.begun(make_hospitals, agree, "mean", [changed, *others])
        np.testing.assert_allclose(
            coefficients(run.models()["a"]), coefficients(afresh.models()["a"]), atol=1e-9
        )

    def test_a_teacher_answers_only_whom_its_own_patients_confirm(self, make_hospitals, agree):
        run = self.begun(make_hospitals, agree, "each")
        renew(run, self.changed(make_hospitals))
        for name, weight in (("b", -0.4), ("c", 1.0), ("d", 1.2)):
            self.think(run, name, {"a": weight})
        (record,) = run.rounds(2)
        assert record.answered[0] == [False, False, True, True]

    @pytest.mark.parametrize("opened", ["each", "mean"])
    def test_until_then_what_peers_said_is_carried_over(self, make_hospitals, agree, opened):
        run = self.begun(make_hospitals, agree, opened)
        own, changed = run.hosts["a"], self.changed(make_hospitals)
        said = own.transferred
        renew(run, changed)
        carried = said.again(own.own).model
        assert not np.array_equal(coefficients(carried), coefficients(own.own.averaged))
        # Numbers of an answer about the new patients, which nearly determine a linear fit.
        np.testing.assert_allclose(
            coefficients(own.transferred.model), coefficients(carried), atol=0.02
        )

    def test_no_answering_fit_changes_but_of_who_has_other_patients(self, make_hospitals, agree):
        run = self.begun(make_hospitals, agree, "each")
        people = run.hosts
        answering = {name: own.answering for name, own in people.items()}
        renew(run, self.changed(make_hospitals))
        list(run.rounds(2))
        assert [own.version for own in people.values()] == [1, 0, 0, 0]
        assert all(people[name].answering is answering[name] for name in "bcd")
        assert people["a"].answering is people["a"].own.model

    def renewing(self, make_hospitals, agree, opened):
        changed, (before, *others) = self.changed(make_hospitals), make_hospitals(train=24)
        data = [replace(changed, earlier=(before,)), *others]
        agreed = agree(data, opened=opened, samples=30)
        limits = DisclosureSection(fraction=None)
        return start(data, agreed, renewals=["a"], disclosure=limits)

    @pytest.mark.parametrize("opened", ["each", "mean"])
    def test_a_run_renews_who_is_to_change(self, make_hospitals, agree, opened):
        run = self.renewing(make_hospitals, agree, opened)
        records = list(run.rounds(5))
        assert [sum(map(sum, record.asked)) for record in records] == [12, 3]
        by_hand = self.begun(make_hospitals, agree, opened)
        renew(by_hand, self.changed(make_hospitals))
        list(by_hand.rounds(5))
        assert run.ledger == by_hand.ledger
        for name, model in by_hand.models().items():
            np.testing.assert_array_equal(coefficients(run.models()[name]), coefficients(model))

    def test_a_limit_leaves_what_peers_said_before(self, make_hospitals, agree):
        hospitals = make_hospitals(train=24)
        agreed = agree(hospitals, opened="mean", samples=30)
        run = start(hospitals, agreed)  # the first answer tells as much as the fit holds
        list(run.rounds(1))
        renew(run, self.changed(make_hospitals))
        carried = run.models()["a"]
        list(run.rounds(2))
        assert any("a opened no further answer" in problem for problem in run.problems)
        assert run.models()["a"] is carried

    def test_it_refuses(self, make_hospitals, agree):
        run = self.begun(make_hospitals, agree, "each")
        with pytest.raises(DataError, match="other features"):
            renew(run, make_hospitals(features=3)[0])


def test_what_stores_hold_is_uninterrupted(make_hospitals, agree, tmp_path):
    hospitals = make_hospitals()
    agreed = agree(hospitals)
    first = start(hospitals, agreed, folder=tmp_path)
    list(first.rounds(1))
    first.close()
    second = start(hospitals, agreed, folder=tmp_path)
    second.go_on(first.seen, 1, first.exchanges)
    assert list(second.rounds(5)) == []
    assert second.facts() == first.facts()
    for name, model in first.models().items():
        np.testing.assert_array_equal(coefficients(model), coefficients(second.models()[name]))
    second.close()


def test_one_class_and_one_patient(make_hospitals, agree):
    hospitals = make_hospitals()
    single = hospitals[0].train.take(np.array([0]))
    one_class = Samples(hospitals[1].train.features, 0 * hospitals[1].train.labels, 2)
    hospitals[0] = replace(hospitals[0], train=single)
    hospitals[1] = replace(hospitals[1], train=one_class)
    run = start(hospitals, agree(hospitals))
    list(run.rounds(1))
    assert not run.problems
    x = hospitals[2].test.features
    assert all(np.isfinite(model.predict_proba(x)).all() for model in run.models().values())


class TestPrivateTeachers:
    """A private fit answers in the place of its teacher's fit."""

    TERMS = PrivacySection(epsilon=4.0)

    def teachers(self, hospitals, terms=TERMS):
        return private_teachers(hospitals, ["linear"] * len(hospitals), terms, seed=3)

    @pytest.mark.parametrize(("classes", "degree"), [(2, 1), (3, 1), (2, 2)])
    def test_students_learn_from_the_private_fits_alone(
        self, make_hospitals, agree, classes, degree
    ):
        hospitals = make_hospitals("abc", classes=classes)
        agreed = agree(hospitals, opened="each", fit=FITS[degree])
        teachers = self.teachers(hospitals)
        run = start(hospitals, agreed, teachers=teachers)
        list(run.rounds(1))
        assert not run.problems
        for own in run.hosts.values():
            x = own.data.test.features
            expected = polynomial_of(teachers[own.name], degree).logits(x)
            np.testing.assert_allclose(own.answering.logits(x), expected)
            assert not np.allclose(own.own.model.logits(x), expected)
        # The audit compares every released value with the private fit's.
        assert run.observer.audit.max_abs_error < 1e-3

    def test_encrypted_is_clear(self, make_hospitals, agree):
        hospitals = make_hospitals("abc")
        agreed = agree(hospitals, precision=2.0**-16)
        clear, encrypted = (
            start(hospitals, agreed, backend, teachers=self.teachers(hospitals))
            for backend in ("clear", "rns")
        )
        list(clear.rounds(1)), list(encrypted.rounds(1))
        x = hospitals[0].test.features
        for name, model in clear.models().items():
            np.testing.assert_allclose(
                encrypted.models()[name].logits(x),
                model.logits(x),
                atol=0.01,  # answers are flooded up to 2^-16 of their range
            )

    def test_who_promises_too_little_is_not_asked(self, make_hospitals, agree):
        hospitals = make_hospitals()
        run = start(
            hospitals,
            agree(hospitals),
            teachers=self.teachers(hospitals),
            required=(1.0, 1e-2),
        )
        (record,) = run.rounds(1)
        assert not any(map(any, record.answered))
        assert any("promises its patients less" in problem for problem in run.problems)
