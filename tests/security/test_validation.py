"""What one learns by looking at a peer's model, and what a peer may do to the one who looks.

Attacked: `securefair.collaboration.validation`, of which every opened number is a prediction.
"""

import numpy as np
import pytest

from securefair.collaboration import PublicFacts
from securefair.collaboration.host import Stored
from securefair.collaboration.kinds import validating_kind
from securefair.collaboration.validation.pages import smooth
from securefair.config import override, parse_config
from securefair.data.dataset import ParticipantData, Samples
from securefair.errors import LocalProtocolError
from securefair.protocol.jobs import AnswerAsk, OpenAnswer, PrepareAsk, Step
from securefair.sites.simulation.starting import simulated

NAMES = ("a", "b", "c")
WIDTH = 6
KIND = validating_kind()


def draw(seed, count):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (count, WIDTH))
    true = np.array([3, -2, 1, 0, 0, 1])
    return Samples(x, (x @ true + rng.logistic(size=count) > 0).astype(np.int64), 2)


def people(patients):
    return [
        ParticipantData(name, draw(seed, patients), draw(seed + 9, 2))
        for seed, name in enumerate(NAMES)
    ]


def configured(backend, **changes):
    text = '[run]\nname = "x"\n[data]\nsource = "heart"\n'
    given = {"run.algorithms": ["standalone", KIND.name], "encryption.backend": backend}
    return override(parse_config(text, source="t"), given | changes, source="t")


def played(data, backend="rns", **changes):
    config = configured(backend, **changes)
    agreement = KIND.agree_all(config, data, seed=1)
    run = simulated(KIND, agreement, data, seed=1)
    list(run.rounds(1))
    return run, agreement, KIND.forecast(agreement, data)


def solved(host, peer):
    """A linear fit through everything that was opened, and how far it is from the peer's."""
    x = host.agreement.patients_of(host.data).features
    columns = np.hstack([np.ones((len(x), 1)), x])
    return np.linalg.lstsq(columns, host.notes.released[peer][:, 0], rcond=None)[0]


def true_fit(host):
    return np.concatenate([host.answering.constant, host.answering.linear[0]])


@pytest.mark.parametrize("patients", [40, 12])
def test_enough_answers_are_a_linear_fit_and_that_is_said_before_any_is_sent(patients):
    run, agreement, forecast = played(people(patients))
    assert any("as if it had been sent" in line for line in forecast.warnings)
    assert any("as if it had been sent" in one for one in KIND.cautions(agreement))
    a, b = run.hosts["a"], run.hosts["b"]
    np.testing.assert_allclose(solved(a, "b"), true_fit(b), atol=0.05)
    assert a.validation().tells_fit
    (row,) = [one for one in run.facts().ledger if (one.student, one.teacher) == ("a", "b")]
    assert row.determines
    assert row.numbers_total >= patients + 2


def test_fewer_patients_than_coefficients_leave_it_open():
    run, _, forecast = played(people(3))
    a, b = run.hosts["a"], run.hosts["b"]
    assert np.abs(solved(a, "b") - true_fit(b)).max() > 0.2
    assert not any("as if it had been sent" in line for line in forecast.warnings)
    assert not a.validation().tells_fit


def test_places_that_a_dishonest_student_fills_count_as_well():
    """It declares 280 patients, fills 4,096 places with points of its choice, and solves."""
    agreement = large(samples=140, fit="quadratic")
    question = agreement.question
    assert 280 < agreement.parameters < question.numbers_of(280)
    assert question.determines_fit(280)
    assert not question.determines_fit(130)
    assert KIND.cautions(agreement)


@pytest.mark.parametrize(("most", "known"), [(16, False), (17, True)])
def test_patients_besides_those_that_train_are_asked_about_as_well(most, known):
    """33 coefficients, and twice as many patients may be asked about."""
    assert bool(KIND.cautions(large(samples=most, fit="linear"))) == known


def large(*, samples, fit):
    facts = PublicFacts(participants=("a", "b", "c"), shape=(32,), classes=2, samples=samples)
    return KIND.agree(configured("rns", **{"transfer.fit": fit}), facts, seed=1)


def test_a_limit_stops_answers_before_one_is_computed():
    run, _, _ = played(people(40), **{"disclosure.student_total": 41})
    assert not any(one.notes.released for one in run.hosts.values())
    assert all(row.numbers_total == 0 for row in run.facts().ledger)
    run, _, _ = played(people(40), **{"disclosure.student_total": 42})
    assert all(len(one.notes.released) == 2 for one in run.hosts.values())


def hosts(data, backend="clear"):
    config = configured(backend)
    agreement = KIND.agree_all(config, data, seed=1)
    return [KIND.host(agreement, own, seed=1, stored=Stored()) for own in data]


def ask(student, round=0):
    return student.run(PrepareAsk(round, 0, ("b", "c"))).payloads


def test_a_question_is_answered_by_itself_and_in_no_sum():
    a, b, _ = hosts(people(40))
    question = ask(a)["b"]
    with pytest.raises(LocalProtocolError, match="no such part"):
        b.run(AnswerAsk("a", 0, 0, question, ("b", "c")))


def test_who_asks_again_gets_the_same_numbers_or_is_charged_for_others():
    a, b, _ = hosts(people(40))
    question = ask(a)["b"]
    b.run(AnswerAsk("a", 0, 0, question))
    told = b.machine.ledger.accounts["a"].total
    b.run(AnswerAsk("a", 0, 0, question))
    assert b.machine.ledger.accounts["a"].total == told
    b.run(AnswerAsk("a", 0, 0, ask(hosts(people(39))[0])["b"]))  # about others
    assert b.machine.ledger.accounts["a"].total > told


def test_nothing_that_was_opened_flows_back():
    """Whatever an answer opens to: no model, question or answer of the student changes."""
    a, b, _ = hosts(people(40))
    question = ask(a)["b"]
    before = a.model().logits(a.data.test.features)
    answered = b.run(AnswerAsk("a", 0, 0, question))
    a.run(OpenAnswer("b", 0, answered.payload, score=False, reputation=None))
    a.run(Step(0, ("b",), (None,)))
    assert not ask(a, 1)
    np.testing.assert_array_equal(a.model().logits(a.data.test.features), before)
    assert a.reputations() == {"b": None, "c": None}


def test_an_aimed_answer_is_named():
    a, _, _ = hosts(people(40))
    patients = a.agreement.patients_of(a.data)
    rng = np.random.default_rng(0)
    honest = patients.features @ rng.standard_normal((WIDTH, 1))
    assert smooth(a.agreement, patients, honest)
    found = [smooth(a.agreement, patients, rng.standard_normal((42, 1))) for _ in range(50)]
    assert sum(found) <= 5
    aimed = np.zeros((42, 1))
    aimed[7] = 30.0
    assert not smooth(a.agreement, patients, aimed)
