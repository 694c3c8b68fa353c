"""Exchanges of logits whose features travel beside each other in a ciphertext."""

import msgspec
import numpy as np
import pytest

from securefair.circuit.planner import plan_exchange
from securefair.ckks.interleaving import separate
from securefair.ckks.keys import PublicKeys
from securefair.errors import DataError, EncryptionError, PlanError
from securefair.exchange import steps
from securefair.exchange.student import Student
from securefair.model.projection import sample_at
from securefair.storage import KeystoreCost
from support.parties import altered, run, samples_of, spec_of

ENGINES = ["rns", "clear"]


def wide(**changes):
    """65 features of 60 samples: in the last ciphertext are zeros."""
    return spec_of("logits", **{"features": 65, "hidden": 3, **changes})


def wider():
    """More features in a ciphertext, so that fewer numbers leave."""
    return wide(features=500, hidden=4)


@pytest.fixture(scope="module", params=[wide, wider])
def spec(request):
    return request.param()


def test_heads_answer_as_in_the_clear(spec):
    done, clear = run(spec, "rns"), run(spec, "clear")
    assert done.opened.released.shape == (spec.samples, spec.classes)
    error = np.abs(done.opened.released - clear.opened.released).max()
    assert 0 < error <= done.plan.error_bound * 1.125  # opened values are rounded
    np.testing.assert_allclose(clear.opened.released, clear.exact, atol=1e-9)
    assert np.abs(done.opened.released - done.exact).max() <= done.plan.error_bound * 1.125


def test_bytes_are_the_planned_ones(spec):
    done = run(spec, "rns")
    assert len(done.asked.features) == done.plan.feature_bytes
    assert len(done.asked.evaluation_keys) == done.plan.evaluation_key_bytes
    size = done.plan.answer_bytes
    assert size <= len(done.answer) < size + 2000


def test_the_ledger_counts_all_numbers_or_those_that_leave():
    n, found = 8192, {}
    for spec in (wide(), wider()):
        plan = run(spec, "rns").plan
        assert plan.params.ring_degree == n
        found[plan.numbers // spec.classes] = plan.schedule.parts
    few, every = sorted(found)
    assert every == n
    assert few == n // found[few]
    assert found[few] > found[every] > 1


@pytest.mark.slow
def test_seal_and_rns_understand_each_other():
    done, other = run(wide()), run(wide(), "rns")
    assert np.abs(done.opened.released - done.exact).max() <= done.plan.error_bound * 1.125
    for asked, answering in ((done, other), (other, done)):
        opened = asked.student.open(
            answering.teacher.answer(asked.request), request=asked.request
        ).released
        error = np.abs(opened - asked.opened.released).max()
        assert error <= 2.25 * done.plan.error_bound


def test_samples_fill_each_features_part_again_and_again():
    """As in slots: places beyond the samples repeat them."""
    spec = wide()
    plan, features = plan_exchange(spec), samples_of(spec).features
    parts = plan.schedule.parts
    packed = steps.pack(plan, features)
    assert packed.shape == (1, -(-65 // parts), 8192)
    found = separate(packed[0], parts)
    expected = features[sample_at(60, 4096 // parts)].T
    np.testing.assert_allclose(found[:65], expected, atol=1e-12)
    np.testing.assert_allclose(found[65:], 0, atol=1e-12)


def test_features_that_do_not_fit_the_plan_are_refused():
    spec = wide()
    plan, features = plan_exchange(spec), samples_of(spec).features
    for wrong in (features[:, :64], features[:59], np.where(features > 0.9, np.nan, features)):
        with pytest.raises(DataError):
            steps.pack(plan, wrong)
    with pytest.raises(DataError, match="exceed the agreed bound"):
        steps.pack(plan, features * 1.5)


@pytest.mark.parametrize("backend", ENGINES)
def test_a_student_goes_on_after_it_was_saved(tmp_path, backend):
    done = run(wide(), backend)
    path = tmp_path / "student"
    done.student.save(path, "a passphrase", cost=KeystoreCost(log2_n=4))
    again = Student.load(path, "a passphrase")
    assert again.public_keys == done.student.public_keys
    assert (again.open(done.answer).released == done.opened.released).all()
    other = done.teacher.answer(again.request(done.samples))
    error = np.abs(again.open(other).released - done.exact).max()
    assert error <= done.plan.error_bound * 1.125


def test_keys_of_a_saved_student_are_for_its_rotation():
    done = run(wide(), "rns")
    keys = PublicKeys.read(done.asked.public_key, done.asked.evaluation_keys)
    assert len(keys.galois) > 0
    assert len(keys.relinearization) > 0
    assert done.plan.galois_element == 2 * 8192 // done.plan.schedule.parts + 1


def test_a_request_without_its_rotation_key_or_with_one_of_another_length_is_refused():
    done = run(wide(), "rns")
    keys = PublicKeys.read(done.asked.public_key, done.asked.evaluation_keys)

    def ask(galois):
        other = PublicKeys(keys.encryption, keys.relinearization, galois)
        return done.teacher.answer(altered(done.asked, evaluation_keys=other.evaluation))

    with pytest.raises(EncryptionError, match="the rotation key is missing"):
        ask(b"")
    assert len(keys.relinearization) < len(keys.galois)
    for wrong in (keys.galois[:-1], keys.relinearization):
        with pytest.raises(EncryptionError, match="the rotation key is not the plan's"):
            ask(wrong)
    with pytest.raises(EncryptionError, match="key is missing"):
        done.teacher.answer(altered(done.asked, evaluation_keys=b""))


def test_other_parts_are_refused():
    """A stranger's schedule: three features in a ciphertext, or more than there is room for."""
    done = run(wide(), "rns")
    for parts in (3, 64, 128):
        schedule = msgspec.structs.replace(done.asked.schedule, parts=parts)
        with pytest.raises(PlanError):
            done.teacher.answer(altered(done.asked, schedule=schedule))


def test_uploads_and_answers_of_another_length_are_refused():
    done = run(wide(), "rns")
    upload = bytes(done.asked.features)
    for features in (b"", upload[:-1], upload + b"x"):
        with pytest.raises((EncryptionError, DataError)):
            done.teacher.answer(altered(done.asked, features=features))
    with pytest.raises((EncryptionError, DataError)):
        done.student.open(done.answer[:-1], request=done.request)


def test_a_student_whose_backend_packs_no_coefficients_plans_otherwise(samples_in_slots):
    assert Student(wide(), backend="rns").plan.schedule.parts == 1
