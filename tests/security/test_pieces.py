"""Samples that travel in pieces: what an answer of four polynomials tells, and to whom.

The student attacks. It holds the secret key and with it the turned one, knows all masks of its own
upload and chooses what is under them.
"""

import math

import msgspec
import numpy as np
import pytest

from securefair.circuit.monomial_plans import in_pieces
from securefair.circuit.pieces import block_polynomials, block_spec, logits_of_coefficients
from securefair.circuit.planner import most_bits, plan_exchange, verified_plan
from securefair.circuit.spec import ExchangeSpec
from securefair.ckks.backends import wire
from securefair.ckks.backends.seal_context import seal_context
from securefair.ckks.masking import masks_hold
from securefair.ckks.turning import turn, turned_places
from securefair.data.dataset import Samples
from securefair.errors import PlanError
from securefair.exchange.student import Student
from securefair.exchange.teacher import Teacher
from securefair.model.heads import build_head

FEATURES, HIDDEN, CLASSES = 60, 3, 2
SPEC = ExchangeSpec(features=FEATURES, hidden=HIDDEN, classes=CLASSES, samples=1, release="logits")


@pytest.fixture(scope="module")
def asked(exchange):
    """An exchange whose plan is the one in pieces, whatever else would be cheaper."""
    features = np.random.default_rng(0).uniform(-1, 1, (1, FEATURES))
    plan, _ = in_pieces(SPEC)
    return exchange(SPEC, features, backend="seal", plan=plan)


def polynomials_of(asked):
    """The teacher's secret: integers (classes, N) of each class, one piece being all there is."""
    plan = asked.plan
    made = block_polynomials(plan.spec, plan.schedule, plan.specs, asked.layers)
    return np.concatenate(made)


def masks_of(asked, *, sanitised):
    """c1, c2, c3 (classes, 3, N) of an answer, modulo the first prime."""
    plan, evaluator = asked.plan, asked.evaluator
    (logits,) = logits_of_coefficients(
        evaluator, plan.spec, plan.schedule, plan.specs, asked.layers, asked.features
    )
    if sanitised:
        logits = evaluator.sanitize(logits, plan.spec.flooding_bits)
    masks, _ = asked.parts(evaluator.extract(logits, plan.monomials.coefficients))
    return masks[:, :, 0].astype(np.uint64)


def recovered(asked, place, *, sanitised):
    """The polynomial that the student's own factors of c1, c2 or c3 were multiplied with."""
    plan = asked.plan
    prime = plan.params.primes[0]
    b, a = asked.features[0].payload[0, :, 0].astype(np.int64)
    turned = turned_places(plan.params.ring_degree)
    factors = {1: a * b[turned], 2: b * a[turned], 3: a * a[turned]}[place] % prime
    inverse = np.array([pow(int(value), -1, prime) for value in factors], dtype=np.uint64)
    quotient = masks_of(asked, sanitised=sanitised)[:, place - 1, None] * inverse % np.uint64(prime)
    whole = seal_context(plan.params).from_ntt(quotient)[:, 0].astype(np.int64)
    return np.where(whole > prime // 2, whole - prime, whole)


@pytest.mark.parametrize("place", [1, 2, 3])
def test_every_polynomial_of_an_unsanitised_answer_gives_away_every_form(asked, place):
    assert (recovered(asked, place, sanitised=False) == polynomials_of(asked)).all()


@pytest.mark.parametrize("place", [1, 2, 3])
def test_none_of_a_sanitised_answer_does(asked, place):
    read, secret = recovered(asked, place, sanitised=True), polynomials_of(asked)
    # Zeros of the secret are met by chance alone.
    assert (read == secret).mean() < 0.01


@pytest.mark.parametrize("place", [1, 2, 3])
def test_what_masks_one_polynomial_masks_no_other(asked, place, uniform):
    """Each looks uniform by itself, and next to the other two."""
    prime = asked.plan.params.primes[0]
    masks = masks_of(asked, sanitised=True).astype(np.int64)
    this, others = masks[:, place - 1], np.delete(masks, place - 1, axis=1)
    bare = masks_of(asked, sanitised=False).astype(np.int64)[:, place - 1]
    turned = turned_places(asked.plan.params.ring_degree)
    assert uniform((this - bare) % prime, prime)
    for other in (others[:, 0], others[:, 1]):
        for sign in (1, -1):
            assert uniform((this + sign * other) % prime, prime)
            assert uniform((this + sign * other[..., turned]) % prime, prime)


def test_nothing_but_one_number_a_class_leaves(asked):
    plan, released = asked.plan, asked.answer()
    masks, values = asked.parts(released)
    assert values.shape == (CLASSES, 1, plan.schedule.answer_limbs)
    assert masks.shape[:2] == (CLASSES, 3)
    assert plan.numbers == CLASSES
    assert masks_hold(released.meta, 1)


def test_coefficients_that_were_not_sent_stay_masked(asked, uniform):
    released = asked.answer()
    kept = np.delete(asked.zero_filled(released), released.coefficients, axis=1)
    modulus = np.prod([float(p) for p in asked.params.primes[: released.meta.limbs]])
    width = modulus * 2.0**-released.meta.log2_scale
    assert uniform(kept, width, low=-width / 2)


def test_two_answers_to_the_same_upload_share_no_mask(asked, uniform):
    first, _ = asked.parts(asked.answer())
    second, _ = asked.parts(asked.answer())
    prime = asked.plan.params.primes[0]
    difference = (first[:, :, 0].astype(np.int64) - second[:, :, 0]) % prime
    for place in range(3):
        assert uniform(difference[:, place], prime)


def test_noise_of_an_answer_is_that_of_flooding_alone(asked):
    """Uniform, 2^s times wider than all that depends on weights: the same for any model.

    Two answers differ by their noise alone, in every coefficient. They are given out whole here,
    and those that leave are among them.
    """
    evaluator, n = asked.evaluator, asked.params.ring_degree
    leaving = set()

    class Whole:
        def __getattr__(self, name):
            return getattr(evaluator, name)

        def extract(self, x, coefficients):
            assert (coefficients < n).all()
            leaving.update(coefficients.tolist())
            return evaluator.extract(x, np.arange(n))

    one, other = (asked.keys.decryptor.open(asked.answer(evaluator=Whole())) for _ in range(2))
    assert one.shape == (CLASSES, n)
    modulus = np.prod([float(p) for p in asked.params.primes[: asked.plan.answer.limbs]])
    errors = (one - other) * 2.0**asked.plan.answer.log2_scale
    errors -= modulus * np.rint(errors / modulus)
    flood = asked.plan.answer.flood
    assert 0.95 < errors.std() / (flood * np.sqrt(2 / 3)) < 1.05
    assert np.abs(errors).max() <= 2.01 * flood
    # Numbers that leave have noise of their own: all so small by chance once in 2^32 times.
    assert np.abs(errors[:, sorted(leaving)]).max() > flood * 2.0**-16


def test_a_chosen_upload_reads_one_entry_of_a_form_and_no_second_one(asked):
    """As of monomials: the account counts numbers of any kind, of so many bits."""
    plan = asked.plan
    n = plan.params.ring_degree
    chosen = np.zeros((1, n))
    chosen[0, 0] = 1.0  # x_0 times itself
    upload = asked.keys.encryptor.encrypt(chosen, plan.features)
    released = asked.answer(features=[asked.evaluator.load(upload, plan.features)])
    opened = asked.keys.decryptor.open(released)[:, 0]
    entries = polynomials_of(asked)[:, 0] * 2.0**-plan.schedule.factor_scale
    assert np.abs(opened - entries).max() <= plan.error_bound
    assert plan.number_bits <= most_bits(plan)
    assert block_spec(SPEC, plan.schedule).count == 1
    assert turn(n) > FEATURES


def test_a_key_of_zeros_still_meets_masks_of_the_teachers_own(asked, uniform):
    """b = 0 instead of a s + e: every mask is a(seed) u + e whatever b is."""
    plan, backend = asked.plan, asked.backend
    public = asked.keys.public
    zeros, seed = wire.read_public_key(public.encryption, plan.params)
    forged = wire.write_public_key(np.zeros_like(zeros), seed)
    evaluator = backend.evaluator(plan.params, type(public)(forged, b""))
    masks, _ = asked.parts(asked.answer(evaluator=evaluator))
    for place in range(3):
        assert uniform(masks[:, place, 0], plan.params.primes[0])


def test_pieces_let_out_as_many_numbers_as_products_do():
    few, many = plan_exchange(SPEC), in_pieces(SPEC)[0]
    assert many.numbers == few.numbers
    assert many.bits <= few.bits + 2 * CLASSES


def test_a_teacher_refuses_a_request_for_another_number_of_answers():
    """By which a student would choose between pieces and products."""
    student = Student(msgspec.structs.replace(SPEC, answers=1))
    model = build_head("quadratic", FEATURES, HIDDEN, CLASSES, seed=0)
    request = student.request(Samples(np.zeros((1, FEATURES)), np.zeros(1, dtype=int), CLASSES))
    with pytest.raises(PlanError, match="not what was agreed"):
        Teacher(model, SPEC, max_numbers=math.inf).answer(request)
    Teacher(model, student.plan.spec, max_numbers=math.inf).answer(request)


@pytest.mark.parametrize(
    ("features", "samples"), [(20, 4096), (20_000, 1)], ids=["many samples", "wide forms"]
)
def test_a_strangers_pieces_do_not_fill_the_teachers_memory(features, samples):
    """All products are held at once: 27 GB for an upload of 0.6, which the account would grant."""
    one = ExchangeSpec(
        features=20, hidden=8, classes=10, samples=1, release="logits", weight_bits=7
    )
    plan, _ = in_pieces(one)
    assert verified_plan(one, plan.schedule).digest == plan.digest
    wide = msgspec.structs.replace(one, features=features, samples=samples)
    with pytest.raises(PlanError, match="too much memory"):
        verified_plan(wide, plan.schedule)
    assert in_pieces(wide) is None
