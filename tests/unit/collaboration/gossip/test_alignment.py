from functools import cache

import numpy as np
import pytest

from securefair.circuit.inner_product import (
    InnerProductSpec,
    pack_query,
    plan_inner_product,
)
from securefair.collaboration.gossip import (
    AlignmentSpec,
    AlignmentStudent,
    AlignmentTeacher,
    plan_alignment,
)
from securefair.errors import DataError, EncryptionError, ModelError, PlanError
from securefair.worth.alignment import cosine


@cache
def student_of(dimension, sketch, backend):
    plan = plan_alignment(AlignmentSpec(dimension=dimension, sketch=sketch))
    return AlignmentStudent(plan, backend=backend)


def gradients(dimension, seed=0, mixed=0.5):
    one, other = np.random.default_rng(seed).normal(size=(2, dimension))
    return one, other + mixed * one


def aligned(student, one, other, seed=b"round 0", backend="rns"):
    plan = student.plan
    teacher = AlignmentTeacher(plan, student.public_key, backend=backend)
    query = student.query(plan.direction(one, seed))
    return student.open(teacher.answer(query, plan.direction(other, seed)))


@pytest.mark.parametrize("backend", ["clear", "seal", "rns"])
@pytest.mark.parametrize("mixed", [0.0, 0.5, -3.0])
def test_a_short_gradient_is_aligned_as_it_is(backend, mixed):
    student = student_of(1000, 8192, backend)
    one, other = gradients(1000, mixed=mixed)
    found = aligned(student, one, other, backend=backend)
    assert student.plan.sketch_error == 0
    assert student.plan.inner.error_bound <= student.plan.inner.spec.precision
    assert abs(found - cosine(one, other)) <= student.plan.error_bound


@pytest.mark.parametrize("dimension", [10**4, 10**5, 10**6])
def test_a_sketch_is_within_its_stated_error(dimension):
    student = student_of(dimension, 4096, "rns")
    one, other = gradients(dimension)
    found = aligned(student, one, other)
    assert abs(found - cosine(one, other)) <= student.plan.error_bound < 0.1


@pytest.mark.slow
def test_ten_million_numbers_are_within_the_stated_error():
    student = student_of(10**7, 8192, "rns")
    one, other = gradients(10**7)
    found = aligned(student, one, other)
    assert abs(found - cosine(one, other)) <= student.plan.error_bound < 0.06


def test_several_ciphertexts_align_exactly():
    student = student_of(20_000, None, "rns")
    plan = student.plan
    one, other = gradients(20_000)
    assert plan.inner.query.count == 5
    assert plan.sketch_error == 0
    assert plan.inner.answer_bytes == student_of(1000, 8192, "rns").plan.inner.answer_bytes
    assert abs(aligned(student, one, other) - cosine(one, other)) <= plan.error_bound
    assert plan.inner.error_bound <= plan.inner.spec.precision


def test_the_clear_backend_differs_by_less_than_the_encryption_may():
    one, other = gradients(30_000)
    secret = aligned(student_of(30_000, 4096, "rns"), one, other)
    clear = aligned(student_of(30_000, 4096, "clear"), one, other, backend="clear")
    inner = student_of(30_000, 4096, "rns").plan.inner
    assert abs(secret - clear) <= inner.error_bound + inner.grid / 2


def test_one_query_serves_every_peer():
    student = student_of(1000, 8192, "rns")
    plan = student.plan
    one, other = gradients(1000)
    query = student.query(plan.direction(one, b""))
    teacher = AlignmentTeacher(plan, student.public_key)
    for peer in (other, -other, one):
        found = student.open(teacher.answer(query, plan.direction(peer, b"")))
        assert abs(found - cosine(one, peer)) <= plan.error_bound


def test_a_vanishing_gradient_is_orthogonal_to_all():
    student = student_of(1000, 8192, "rns")
    one, _ = gradients(1000)
    assert aligned(student, one, np.zeros(1000)) == pytest.approx(0, abs=student.plan.error_bound)
    assert aligned(student, np.zeros(1000), one) == pytest.approx(0, abs=student.plan.error_bound)


def test_an_exchange_of_a_million_numbers_stays_small():
    inner = plan_alignment(AlignmentSpec(dimension=10**6)).inner
    assert inner.query_bytes + inner.answer_bytes < 150_000


def test_opened_cosines_lie_on_the_grid():
    student = student_of(1000, 8192, "rns")
    one, other = gradients(1000, seed=3)
    steps = aligned(student, one, other) / student.plan.inner.grid
    assert steps == pytest.approx(round(steps), abs=1e-6)


def test_an_answer_that_is_no_cosine_is_refused():
    student = student_of(1000, 8192, "rns")
    plan = student.plan
    one, _ = gradients(1000)
    direction = plan.direction(one, b"")
    answer = AlignmentTeacher(plan, student.public_key).answer(student.query(direction), direction)
    released, prime = plan.inner.released, plan.inner.params.primes[0]
    assert released.limbs == 1
    constant = int.from_bytes(answer[-4:], "little") + round(2.0**released.log2_scale)
    doubled = answer[:-4] + (constant % prime).to_bytes(4, "little")
    with pytest.raises(EncryptionError, match="out of range"):
        student.open(doubled)


@pytest.mark.parametrize("change", [-4, 4])
def test_bytes_of_another_length_are_refused(change):
    student = student_of(1000, 8192, "rns")
    plan = student.plan
    teacher = AlignmentTeacher(plan, student.public_key)
    direction = plan.direction(gradients(1000)[0], b"")
    query = student.query(direction)
    with pytest.raises(EncryptionError, match="length"):
        teacher.answer(query[:change] if change < 0 else query + bytes(change), direction)
    with pytest.raises(EncryptionError, match="length"):
        student.open(bytes(plan.inner.answer_bytes + change))


@pytest.mark.parametrize("gradient", [np.zeros(999), np.full(1000, np.nan), np.zeros((10, 100))])
def test_a_gradient_that_does_not_fit_is_refused(gradient):
    with pytest.raises(ModelError, match=r"gradient|finite"):
        student_of(1000, 8192, "rns").plan.direction(gradient, b"")


@pytest.mark.parametrize("vector", [np.full(1000, 0.1), np.zeros(10), np.full(1000, np.nan)])
def test_only_unit_vectors_are_encrypted(vector):
    with pytest.raises(DataError, match="norm 1"):
        pack_query(student_of(1000, 8192, "rns").plan.inner, vector)


def test_less_flooding_than_needed_is_refused_by_the_teacher():
    plan = plan_alignment(AlignmentSpec(dimension=100, flooding_bits=20))
    with pytest.raises(PlanError, match="flooding_bits"):
        AlignmentTeacher(plan, AlignmentStudent(plan).public_key)


@pytest.mark.parametrize(
    "spec",
    [
        InnerProductSpec(length=0),
        InnerProductSpec(length=10, flooding_bits=61),
        InnerProductSpec(length=10, precision=float("nan")),
        InnerProductSpec(length=10, precision=2.0**-40, flooding_bits=60),
    ],
)
def test_impossible_inner_products_are_refused(spec):
    with pytest.raises(PlanError):
        plan_inner_product(spec)
