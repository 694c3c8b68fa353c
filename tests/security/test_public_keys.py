"""What a dishonest public key can and cannot do.

Adversary: a malicious student, who makes its public key (b, a) as it likes. Sanitising masks an
answer with a u + e for a fresh u of the teacher's; b u enters the released coefficients.
Protected: the masks, hence the weights. The wire format carries b and a seed, so a is never the
student's choice; what a crafted b shows of u is bounded by the plan (`ckks.masking`).
Still disclosed: with `logits` all of u, and through it no more than the function that `logits`
releases anyway; otherwise as many bits as the released numbers have.
"""

import numpy as np
import pytest

from securefair.circuit.network import network_logits
from securefair.circuit.planner import plan_exchange
from securefair.circuit.spec import ExchangeSpec
from securefair.ckks import masking
from securefair.ckks.backends import get_backend, kernels, wire
from securefair.ckks.backends.basis import Basis
from securefair.ckks.backends.seal_bytes import SEED_BYTES
from securefair.ckks.backends.seal_context import seal_context
from securefair.ckks.keys import PublicKeys
from securefair.errors import EncryptionError

LINEAR = ExchangeSpec(features=4, classes=2, samples=60, hidden=0, q=8)
LOGITS = ExchangeSpec(features=4, classes=2, samples=60, hidden=0, release="logits")


def features_of(spec):
    return np.random.default_rng(0).uniform(-1, 1, (spec.samples, spec.features))


@pytest.fixture(scope="module")
def linear(exchange):
    return exchange(LINEAR, features_of(LINEAR), backend="seal")


@pytest.fixture(scope="module")
def logits(exchange):
    return exchange(LOGITS, features_of(LOGITS), backend="seal")


def solve(masks, right, prime):
    """Integers w with sum_i w_i masks_i = right mod prime at every root, or None."""
    d = len(masks)
    rows = [[int(v) for v in masks[:, root]] + [int(right[root])] for root in range(d)]
    for column in range(d):
        pivot = next((r for r in range(column, d) if rows[r][column]), None)
        if pivot is None:
            return None
        rows[column], rows[pivot] = rows[pivot], rows[column]
        inverse = pow(rows[column][column], -1, prime)
        rows[column] = [v * inverse % prime for v in rows[column]]
        for r in range(d):
            if r != column:
                factor = rows[r][column]
                rows[r] = [
                    (a - factor * b) % prime for a, b in zip(rows[r], rows[column], strict=True)
                ]
    weights = np.array([row[d] - prime * (row[d] > prime // 2) for row in rows])
    total = (weights[:, None].astype(object) * masks).sum(axis=0) % prime
    return weights if (total == right).all() else None


def upload_masks(exchange):
    """a_i of the student's own upload, (d, N) modulo the first prime."""
    whole = exchange.evaluator.extract(exchange.features[0], None)
    return wire.read_whole(whole.data, whole.meta)[:, 1, 0].astype(object)


# -- a ------------------------------------------------------------------------------------------


def test_a_public_key_has_no_room_for_an_a(linear):
    """Its bytes are b and a seed: any other length, such as that of (b, a), is refused."""
    key = linear.keys.public.encryption
    b, seed = wire.read_public_key(key, linear.params)
    assert len(key) == b.nbytes + len(seed)
    assert len(seed) == SEED_BYTES
    for forged in (b.tobytes() + bytes(b.nbytes), key + bytes(b.nbytes), b.tobytes(), key[:-1]):
        with pytest.raises(EncryptionError, match="wrong length"):
            linear.backend.evaluator(linear.params, PublicKeys(forged, b""))


SEEDS = {
    "zeros": bytes(64),
    "ones": b"\xff" * 64,
    "one bit": b"\x01" + bytes(63),
    "last bit": bytes(63) + b"\x80",
    "repeated": b"seed" * 16,
}


@pytest.mark.parametrize("seed", SEEDS.values(), ids=SEEDS)
def test_no_seed_expands_to_a_structured_a(uniform, linear, seed):
    """Expanded by a hash: the student can grind seeds, which finds nothing of 2^(N log q)."""
    context, params = seal_context(linear.params), linear.params
    b = np.zeros((1, params.limbs, params.ring_degree), dtype=np.uint64)
    expanded = context.residues(context.ciphertext(b, seed=seed))[1]
    ours = kernels.expand_seeds(
        np.frombuffer(bytearray(seed), dtype=np.uint8)[None],
        Basis(params.ring_degree, params.primes),
    )
    assert (ours[0] == expanded).all()
    for form in (expanded, context.from_ntt(expanded[None])[0]):
        for residues, prime in zip(form, params.primes, strict=True):
            assert uniform(residues, prime)
            assert len(np.unique(residues)) > 0.99 * len(residues)


def test_neighbouring_seeds_and_other_values_of_b_share_nothing(linear):
    context, params = seal_context(linear.params), linear.params
    b = np.zeros((1, params.limbs, params.ring_degree), dtype=np.uint64)
    masks = [
        context.residues(context.ciphertext(first, seed=seed))[1]
        for first, seed in ((b, bytes(64)), (b + 1, bytes(64)), (b, b"\x01" + bytes(63)))
    ]
    assert (masks[0] == masks[1]).all()  # b has no influence on a
    assert (masks[0] == masks[2]).mean() < 0.01


def test_with_a_key_of_a_zero_the_weights_would_be_exposed(linear):
    """Why a comes from a seed: put in by hand, past our wire format, a = 0 masks nothing."""
    params = linear.params
    b, _ = wire.read_public_key(linear.keys.public.encryption, params)
    victim = get_backend("seal").evaluator(params, linear.keys.public)
    plan = linear.plan
    logits = network_logits(
        victim,
        linear.features[0],
        plan.specs,
        plan.schedule.stages,
        plan.spec.layers,
        linear.layers,
    )

    def recovered(evaluator):
        sanitised = evaluator.sanitize(logits, linear.plan.spec.flooding_bits)
        whole = evaluator.extract(sanitised, None)
        masks = wire.read_whole(whole.data, whole.meta)[:, 1, 0].astype(object)
        known = upload_masks(linear)
        return [solve(known, mask, params.primes[0]) for mask in masks]

    assert recovered(victim) == [None, None]
    assert victim._zeros.ready(plan.schedule.flooding_limbs) == 0  # made of the honest key
    victim._zeros._opened = np.stack([b, np.zeros_like(b)])
    assert (np.array(recovered(victim)) == linear.layers[0].weights).all()


# -- b ------------------------------------------------------------------------------------------


def dishonest(exchange, log2_step):
    """The honest key with b replaced by the constant 2^log2_step, before SEAL's division."""
    params, level = exchange.params, exchange.plan.schedule.flooding_limbs
    primes = (*params.primes, params.special_prime)
    constant = primes[level] << log2_step
    b = np.array([[constant % p] * params.ring_degree for p in primes], dtype=np.uint32)
    _, seed = wire.read_public_key(exchange.keys.public.encryption, params)
    key = PublicKeys(wire.write_public_key(b, seed), exchange.keys.public.relinearization)
    return exchange.backend.evaluator(params, key)


def shown_in(values, exchange, log2_step):
    """Coordinates of u out of coefficients of c0, (..., limbs = 1) residues."""
    schedule, params = exchange.plan.schedule, exchange.params
    assert schedule.answer_limbs == 1
    prime = params.primes[0]
    dropped = np.prod([float(p) for p in params.primes[1 : schedule.flooding_limbs]])
    signed = np.where(values > prime // 2, values.astype(np.int64) - prime, values)
    return np.rint(signed * (dropped / 2.0**log2_step))


def test_a_dishonest_b_shows_all_of_u_where_whole_answers_leave(logits):
    """`logits` sends every coefficient: a student may have the function, and takes it exactly."""
    step = round(logits.params.log_q(logits.plan.schedule.flooding_limbs)) - 6
    answer = logits.answer(evaluator=dishonest(logits, step), features=logits.silent_features())
    whole = wire.read_whole(answer.data, answer.meta)
    context = seal_context(logits.params)
    c0 = context.from_ntt(whole[:, 0].astype(np.uint64))[:, 0]
    shown = shown_in(c0, logits, step)[:, 1:]  # coefficient 0 holds the bias too
    assert np.isin(shown, (-1, 0, 1)).all()
    assert min((shown == value).mean() for value in (-1, 0, 1)) > 0.3


def test_a_dishonest_b_shows_one_coordinate_a_number_and_the_plan_counts_more(linear):
    """The attack works on projections too, coordinate by coordinate. That is why q is bounded."""
    plan, (meta,) = linear.plan, linear.plan.released
    step = round(linear.params.log_q(plan.schedule.flooding_limbs)) - 6
    answer = linear.answer(evaluator=dishonest(linear, step), features=linear.silent_features())
    _, values = linear.parts(answer)
    shown = shown_in(values[:, 1:, 0], linear, step)
    assert np.isin(shown, (-1, 0, 1)).all()
    assert masking.shown_coordinates(meta, plan.spec.q) >= plan.spec.q
    left = plan.params.ring_degree - masking.shown_coordinates(meta, plan.spec.q)
    assert left >= masking.masking_dimension(meta)


@pytest.mark.parametrize("hidden", [0, 16])
@pytest.mark.parametrize("q", [8, 64, 200, 1000])
def test_every_planned_projection_stays_masked_under_any_public_key(hidden, q):
    """More numbers mean a larger ring: what b may show is always made up for by what it cannot."""
    spec = ExchangeSpec(features=13, classes=2, samples=4000, hidden=hidden, q=q)
    plan = plan_exchange(spec)
    (meta,) = plan.released
    assert masking.masks_hold(meta, q)
    unknown = plan.params.ring_degree - masking.shown_coordinates(meta, q)
    # Against a table of its own: 128 bits at dimension n allow about n / 39 bits of modulus.
    assert unknown / 39 > meta.log_q
