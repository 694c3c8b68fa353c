from dataclasses import replace

import msgspec
import numpy as np
import pytest
import torch

from securefair.model import TeacherAnswer, distil_steps, flat_gradient
from securefair.model.losses import approximate_kl
from securefair.worth import ReputationRule, coin, run
from securefair_lab.algorithms import Cycle, ProjectionRelease, Vpdl


def numbers(train_state):
    return torch.cat([p.detach().reshape(-1) for p in train_state.model.parameters()]).numpy()


def advance(algorithm, population, seed, rounds):
    state = algorithm.init(population, seed)
    for _ in range(rounds):
        state, _ = algorithm.round(state, population)
    return state


def test_equal_seeds_give_identical_records_and_other_seeds_do_not(make_population):
    population = make_population()
    first, again, other = (
        msgspec.json.encode(list(run(Cycle(), population, seed, 5))) for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_a_round_leaves_its_state_as_it_was(make_population):
    population = make_population()
    state = advance(Cycle(), population, 0, 1)
    before = {name: numbers(train_state) for name, train_state in state.train_states.items()}
    first = Cycle().round(state, population)[1]
    assert all((numbers(state.train_states[name]) == before[name]).all() for name in before)
    assert Cycle().round(state, population)[1] == first


def test_reputations_form_in_forced_rounds_and_carry_over_between(make_population):
    rule, records = ReputationRule(), list(run(Cycle(), make_population(), 0, 8))
    assert [record.forced for record in records] == [r % 3 == 0 for r in range(8)]
    previous = None
    for record in records:
        for n in range(3):
            for k in range(3):
                reputation, alignment = record.reputation[n][k], record.alignment[n][k]
                if n == k:
                    assert reputation is None
                    assert alignment is None
                elif record.forced:
                    assert record.asked[n][k]
                    assert record.answered[n][k]
                    before = previous.reputation[n][k] if previous else None
                    assert reputation == rule.update(before, alignment)
                else:
                    assert alignment is None
                    assert reputation == previous.reputation[n][k]
        previous = record


def test_only_answers_have_a_distillation_loss(make_population):
    for record in run(Cycle(), make_population(), 3, 6):
        for n in range(3):
            for k in range(3):
                assert record.answered[n][k] <= record.asked[n][k]
                assert (record.distillation_loss[n][k] is not None) == record.answered[n][k]


def test_a_teacher_decides_by_its_own_reputation_of_the_student(make_population):
    population = make_population()
    state = advance(Cycle(), population, 0, 1)  # round 1 is not forced
    reputation = {
        "a": {"b": 1.0, "c": 1.0},
        "b": {"a": 0.0, "c": 1.0},  # b thinks nothing of a
        "c": {"a": 1.0, "b": 0.0},  # and c nothing of b
    }
    state = replace(state, reputation=reputation)
    record = Cycle().round(state, population)[1]
    assert record.asked == [[False, True, True], [False, False, True], [True, False, False]]
    # a asks b and c: b declines. b asks c: c declines. c asks a: a answers, and so does c to a.
    assert record.answered == [[False, False, True], [False] * 3, [True, False, False]]
    assert record.reputation == [[None, 1.0, 1.0], [0.0, None, 1.0], [1.0, 0.0, None]]


def test_coins_decide_in_between(make_population):
    population = make_population()
    state = advance(Cycle(), population, 0, 1)
    half = {n: {k: 0.5 for k in "abc" if k != n} for n in "abc"}
    decisions = []
    for t in (1, 2, 4, 5, 7):
        record = Cycle().round(replace(state, round=t, reputation=half), population)[1]
        expected = [[n != k and coin(0, t, k, n) <= 0.5 for k in "abc"] for n in "abc"]
        assert record.answered == expected
        decisions += [answered for row in expected for answered in row]
    assert any(decisions)
    assert not all(decisions[1:3])


def test_the_local_steps_are_those_of_the_library(make_population):
    # Two implementations: exact KL for each teacher here, one approximate KL there.
    population = make_population(lambda_0=20.0)
    state = Cycle().init(population, 4)
    everyone = {n: [k for k in "abc" if k != n] for n in "abc"}
    received = population.answers(state, everyone)
    after, record = Cycle().round(state, population)
    for n, participant in enumerate(population.participants):
        train_state = state.train_states[participant.name].copy()
        given = [
            TeacherAnswer(received[participant.name]["abc"[k]], 20.0 * record.reputation[n][k] / 2)
            for k in range(3)
            if k != n
        ]
        distil_steps(train_state, participant.train, given, 3, temperature=5.0)
        np.testing.assert_allclose(
            numbers(train_state), numbers(after.train_states[participant.name]), atol=1e-10
        )


def test_networks_pay_for_their_ranges_as_in_the_library(make_population, make_images):
    population = make_population(
        participants=make_images(), head="network", network="digits-8", range_penalty=5.0
    )
    state = Cycle().init(population, 4)
    received = population.answers(state, {n: [k for k in "abc" if k != n] for n in "abc"})
    weights = {n: dict.fromkeys(received[n], 0.2) for n in "abc"}
    after = population.updated(state, received, weights)
    unpaid = replace(population, range_penalty=0.0).trained_alone(4)
    for participant in population.participants:
        name = participant.name
        train_state = state.train_states[name].copy()
        assert (numbers(train_state) != numbers(unpaid[name])).any()
        given = [TeacherAnswer(z, 10.0 * 0.2) for z in received[name].values()]
        distil_steps(train_state, participant.train, given, 3, temperature=5.0)
        np.testing.assert_allclose(numbers(train_state), numbers(after[name]), atol=1e-10)


def test_alignment_and_loss_are_those_of_the_approximate_kl(make_population):
    population = make_population()
    state = Cycle().init(population, 4)
    record = Cycle().round(state, population)[1]
    student = population.participants[0]
    head, teacher = state.train_states["a"].model, state.train_states["b"].model
    logits = head(torch.tensor(student.train.features))
    z = torch.from_numpy(teacher.logits(student.train.features))
    loss = approximate_kl(logits, z, 5.0).mean()
    assert record.distillation_loss[0][1] == pytest.approx(loss.item(), abs=1e-12)
    own = torch.nn.functional.cross_entropy(logits, torch.tensor(student.train.labels))
    g, d = flat_gradient(own, head), flat_gradient(loss, head)
    cosine = g @ d / np.linalg.norm(g) / np.linalg.norm(d)
    assert record.alignment[0][1] == pytest.approx(cosine, abs=1e-9)


def test_all_coefficients_train_as_all_logits_do(make_population):
    # 40 samples in 64 slots: 64 independent coefficients determine the logits.
    everything = ProjectionRelease(q=64, ring_degree=128)
    logits, projection = (
        list(run(Cycle(), make_population(**settings), 0, 4))
        for settings in ({}, {"release": everything})
    )
    for a, b in zip(logits, projection, strict=True):
        assert a.answered == b.answered
        np.testing.assert_allclose(a.cross_entropy, b.cross_entropy, atol=1e-6)


def test_a_student_of_few_numbers_still_learns_something_else(make_population):
    few, many = (
        Cycle().round(Cycle().init(population, 0), population)[1]
        for population in (
            make_population(release=ProjectionRelease(q=4, ring_degree=128)),
            make_population(),
        )
    )
    assert few.cross_entropy != many.cross_entropy


def test_a_participant_with_flipped_labels_has_no_reputation(make_population, make_participant):
    participants = tuple(
        make_participant(name, seed, flipped=name == "d") for seed, name in enumerate("abcd")
    )
    population = make_population(
        participants=participants, local_epochs=20, alignment_temperature=5.0
    )
    for record in run(Cycle(), population, 0, 6):
        assert [record.reputation[n][3] for n in range(3)] == [0.0] * 3
        honest = [record.reputation[n][k] for n in range(3) for k in range(3) if n != k]
        assert np.mean(honest) > 0.3
        if not record.forced:  # nobody asks it, and it gets answers from nobody
            assert not any(record.asked[n][3] for n in range(3))
            assert not any(record.answered[3])


def test_the_alignment_temperature_softens_the_cross_entropy_alone(make_population):
    plain, softened = (
        Cycle().round(Cycle().init(population, 4), population)[1]
        for population in (make_population(), make_population(alignment_temperature=5.0))
    )
    assert plain.distillation_loss == softened.distillation_loss
    population = make_population()
    state = Cycle().init(population, 4)
    head, student = state.train_states["a"].model, population.participants[0].train
    logits = head(torch.tensor(student.features))
    z = torch.from_numpy(state.train_states["b"].model.logits(student.features))
    loss = torch.nn.functional.cross_entropy(logits / 5.0, torch.tensor(student.labels))
    g = flat_gradient(loss, head)
    d = flat_gradient(approximate_kl(logits, z, 5.0).mean(), head)
    cosine = g @ d / np.linalg.norm(g) / np.linalg.norm(d)
    assert softened.alignment[0][1] == pytest.approx(cosine, abs=1e-9)
    assert plain.alignment[0][1] != pytest.approx(cosine, abs=1e-3)


def test_full_trust_all_the_time_is_vpdl(make_population):
    class Trusting(ReputationRule):
        def update(self, *_):
            return 1.0

    population = make_population(forced_every=1)
    cycle = list(run(Cycle(rule=Trusting()), population, 0, 4))
    vpdl = list(run(Vpdl(), population, 0, 4))
    for a, b in zip(cycle, vpdl, strict=True):
        unlike = {"algorithm": "", "forced": False, "alignment": []}
        assert msgspec.structs.replace(a, **unlike) == msgspec.structs.replace(b, **unlike)


def test_alignments_of_nobody_are_nothing(make_population):
    population = make_population()
    state = Cycle().init(population, 0)
    nobody = {n: {} for n in "abc"}
    assert population.alignments(state, nobody) == nobody
