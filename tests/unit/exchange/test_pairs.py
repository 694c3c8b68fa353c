"""Exchanges of wide heads, whose features travel two in a ciphertext, or whose samples do."""

import numpy as np
import pytest

from securefair.circuit import planner
from securefair.circuit.network import affine_specs
from securefair.circuit.planner import plan_exchange, verified_plan
from securefair.ckks.backends import get_backend
from securefair.ckks.security import MAX_LOG_QP
from securefair.errors import EncryptionError
from securefair.exchange import steps
from securefair.exchange.student import Student
from securefair.storage import KeystoreCost
from support.parties import RELEASES, altered, head_of, run, samples_of, spec_of

FEATURES = 65  # one shares its ciphertext with zeros


def wide(release):
    return spec_of(release, hidden=3, features=FEATURES)


@pytest.mark.parametrize(
    "release",
    [pytest.param(name, marks=[pytest.mark.slow] * (name == "student")) for name in RELEASES],
)
def test_wide_heads_answer_as_in_the_clear(release, samples_in_slots):
    # Rings of 16384 take SEAL seconds, and it computes the same residues.
    backend = "seal" if release in ("public", "logits") else "rns"
    done, clear = run(wide(release), backend), run(wide(release), "clear")
    assert done.plan.schedule.pairs == "features"
    error = np.abs(done.opened.released - clear.opened.released).max()
    assert 0 < error <= done.plan.error_bound * 1.125  # opened values are rounded


def test_seal_and_rns_understand_each_others_pairs(samples_in_slots):
    done, other = run(wide("logits")), run(wide("logits"), "rns")
    for asked, answering in ((done, other), (other, done)):
        opened = asked.student.open(answering.teacher.answer(asked.request)).released
        error = np.abs(opened - asked.opened.released).max()
        assert error <= 2.25 * done.plan.error_bound


def test_a_student_of_pairs_goes_on_after_it_was_saved(tmp_path, samples_in_slots):
    done = run(wide("logits"))
    path = tmp_path / "student"
    done.student.save(path, "a passphrase", cost=KeystoreCost(log2_n=4))
    again = Student.load(path, "a passphrase")
    assert again.public_keys == done.student.public_keys
    assert (again.open(done.answer).released == done.opened.released).all()


def test_the_answer_to_pairs_needs_its_key():
    done = run(wide("public"))
    with pytest.raises(EncryptionError, match="conjugation key is missing"):
        done.teacher.answer(altered(done.asked, evaluation_keys=b""))


SLOTS = {"loss": 8192, "class_sums": 8192, "public": 4096, "student": 8192, "logits": 4096}
"""Samples of a block."""


def in_pairs_of_samples(release, samples, **changes):
    """A plan of a head that is too narrow to have such a one by itself."""
    spec = spec_of(release, hidden=3, samples=samples, **changes)
    chosen = plan_exchange(spec, monomials=False)
    cap = MAX_LOG_QP[chosen.params.ring_degree]
    found = planner._in_pairs(chosen, "samples", affine_specs(spec), cap)
    plan = verified_plan(spec, planner.flooded(found[0]).schedule)
    assert (plan.schedule.pairs, plan.params.slots) == ("samples", SLOTS[release])
    return plan


def opened(plan, backend):
    """What leaves, by a student and a teacher without accounts and reconstruction."""
    engine, spec, rng = get_backend(backend), plan.spec, np.random.default_rng(0)
    keys = engine.generate_keys(
        plan.params, relinearization=plan.relinearization_limbs, galois=plan.galois_limbs
    )
    evaluator = engine.evaluator(plan.params, keys.public)
    sent = steps.encrypt(keys.encryptor, plan.features, steps.pack(plan, samples_of(spec).features))
    x, factors = steps.receive(evaluator, plan.features, sent, plan.upload_blocks), []
    if plan.factors is not None:
        rows = rng.uniform(0, 1 / plan.factors.count, (spec.samples, plan.factors.count))
        query = steps.encrypt(keys.encryptor, plan.factors, steps.pack_factors(plan, rows))
        factors = steps.receive(evaluator, plan.factors, query, plan.blocks)
    basis, model = steps.public_basis(plan, b""), steps.compile_model(plan, head_of(spec))
    inputs = steps.Inputs(x, factors, basis.signs, basis.coefficients)
    answer = steps.infer(evaluator, plan, model, inputs)
    return steps.open_answer(keys.decryptor, plan, basis, answer)


@pytest.mark.parametrize(
    ("release", "backend"),
    [*((release, "rns") for release in RELEASES), ("public", "seal"), ("logits", "seal")],
)
def test_samples_in_pairs_answer_as_in_the_clear(release, backend):
    blocks = 2 if backend == "seal" else 3
    few = {"q": 2} if release == "student" else {}  # rows of it are encrypted block by block
    plan = in_pairs_of_samples(release, (blocks - 1) * SLOTS[release] + 700, **few)
    assert (plan.blocks, plan.upload_blocks) == (blocks, (blocks + 1) // 2)
    found, clear = opened(plan, backend), opened(plan, "clear")
    error = np.abs(found - clear).max()
    assert 0 < error <= plan.error_bound * 1.125  # opened values are rounded


@pytest.mark.parametrize("release", ["logits", "public"])
@pytest.mark.parametrize("samples", [4097, 8192, 8193])
def test_an_upload_in_pairs_of_samples_tells_what_one_without_does(release, samples):
    """Where its last half is empty, nothing of it leaves."""
    plan = in_pairs_of_samples(release, samples)
    alone = plan_exchange(plan.spec, monomials=False)
    assert alone.schedule.pairs == "none"
    assert plan.upload_blocks == -(-alone.blocks // 2)
    assert (plan.blocks, plan.numbers) == (alone.blocks, alone.numbers)
    found, expected = opened(plan, "clear"), opened(alone, "clear")
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.slow
def test_seal_and_rns_understand_each_others_pairs_of_samples():
    """A wide head, whose plan has them by itself."""
    spec = spec_of("logits", hidden=3, features=FEATURES, samples=4100)
    done, other = run(spec), run(spec, "rns")
    assert done.plan.schedule.pairs == "samples"
    assert np.abs(done.opened.released - done.exact).max() <= 1.125 * done.plan.error_bound
    for asked, answering in ((done, other), (other, done)):
        released = asked.student.open(answering.teacher.answer(asked.request)).released
        error = np.abs(released - asked.opened.released).max()
        assert error <= 2.25 * done.plan.error_bound
