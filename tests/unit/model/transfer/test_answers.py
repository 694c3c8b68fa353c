from functools import cache

import numpy as np
import pytest

from securefair.data.dataset import Samples
from securefair.model.projection import block_signs, public_indices, public_rows
from securefair.model.transfer import own_fit, transfer
from securefair.model.transfer.answers import (
    asked_about,
    determines_logits,
    determines_model,
    label_free_reconstructor,
    numbers_a_logit,
    parameters_a_logit,
    rows_by_patient,
)


def rows_of(samples, q):
    return public_rows(8192, public_indices(8192, q, b"test"), samples, block_signs(1, b"test"))


def released_rows(patients, q):
    return rows_by_patient(rows_of(max(2, patients), q), patients)


def test_all_logits_where_there_are_as_many_sums_as_patients(draw):
    patients, z = draw(0, 20), np.random.default_rng(1).normal(size=(20, 1))
    rows = released_rows(20, 64)
    rebuilt = label_free_reconstructor(patients, rows, 1).logits(rows @ z)
    np.testing.assert_allclose(rebuilt, z, atol=1e-6)


def test_no_row_is_wasted():
    for patients in range(1, 80):
        assert np.linalg.matrix_rank(released_rows(patients, 16), tol=1e-6) == min(16, patients)


@pytest.mark.parametrize(("count", "size"), [(1, 2), (2, 2), (5, 5)])
def test_rows_count_a_patient_that_is_asked_about_twice(draw, count, size):
    patients = draw(0, count)
    assert len(asked_about(patients)) == size
    z = np.random.default_rng(0).normal(size=(count, 1))
    rows = rows_of(size, 1)
    asked = np.resize(z, (size, 1))
    np.testing.assert_allclose(rows_by_patient(rows, count) @ z, rows @ asked, atol=1e-12)


def test_a_student_gets_fewer_numbers_than_it_has_patients():
    for patients in range(2, 100):
        assert numbers_a_logit(32, patients, 40, 1) == min(32, patients - 1)
    assert numbers_a_logit(32, 1, 40, 1) == 1
    assert numbers_a_logit(32, 100, 5, 1) == 6


@pytest.mark.parametrize("q", [2, 4, 8])
def test_labels_make_no_difference(draw, q):
    patients = draw(0, 60)
    other = Samples(patients.features, 1 - patients.labels, 2)
    rows = released_rows(60, q)
    np.testing.assert_array_equal(
        label_free_reconstructor(patients, rows, 1).operator,
        label_free_reconstructor(other, rows, 1).operator,
    )


@pytest.fixture(scope="module")
def without_meaning():
    """Patients whose labels have nothing to do with a peer, their fit, and the peer's logits."""

    @cache
    def drawn(seed, draw):
        plain = draw(seed, 60)
        rng = np.random.default_rng([seed, 1])
        patients = Samples(plain.features, rng.permutation(plain.labels), 2)
        peer = own_fit(draw(100 + seed, 100), rng=rng).model
        return patients, own_fit(patients, rng=rng), peer.logits(patients.features)

    return drawn


@pytest.mark.slow
@pytest.mark.parametrize("q", [2, 4, 8])
def test_useless_peers_earn_no_trust_however_few_numbers(draw, without_meaning, q):
    """Where labels have nothing to do with the peers, few numbers must not look like knowledge."""
    trusts, gains = [], []
    for seed in range(30):
        patients, fit, z = without_meaning(seed, draw)
        rows = released_rows(60, q)
        received = label_free_reconstructor(patients, rows, 1).logits(rows @ z)
        trust = transfer(fit, received).trust
        trusts.append(trust.in_peers)
        gains.append(trust.gain)
    # 12 of 18 settings use peers: what trust is before any patient is looked at
    assert np.mean(trusts) < 12 / 18
    assert np.mean(gains) < 0.01


def test_how_much_one_answer_tells():
    assert parameters_a_logit(32, 1) == 33
    assert parameters_a_logit(32, 2) == 33 + 32 * 33 // 2
    assert determines_model(64, 32, 1, samples=100)
    assert not determines_model(32, 32, 1, samples=100)
    assert not determines_model(64, 32, 1, samples=20)  # 20 logits do not tell 33 parameters
    assert not determines_model(64, 32, 2, samples=100)
    assert determines_logits(64, 64)
    assert not determines_logits(64, 65)


def test_an_answer_that_determines_the_model_gives_it_away(draw):
    patients, teacher = draw(0, 50), own_fit(draw(1, 80), rng=np.random.default_rng(0)).model
    assert determines_model(6, 5, 1, samples=50)
    rows = released_rows(50, 6)
    design = np.column_stack([np.ones(50), patients.features])
    stolen = np.linalg.solve(rows @ design, rows @ teacher.logits(patients.features))
    np.testing.assert_allclose(stolen[:, 0], [*teacher.constant, *teacher.linear[0]], atol=1e-6)
