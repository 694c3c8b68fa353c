"""OpenFHE as an independent check of circuits and error bounds; skipped where it cannot run."""

import gc
import math
import os
import signal
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import securefair as sf
from securefair.circuit.answer import Inputs, answer
from securefair.circuit.planner import plan_exchange
from securefair.circuit.spec import ExchangeSpec
from securefair.ckks import rules
from securefair.ckks.backends import get_backend, openfhe_process
from securefair.ckks.backends.clear import ClearBackend
from securefair.ckks.backends.openfhe import OpenfheBackend
from securefair.ckks.backends.openfhe_child.frames import (
    COUNT,
    GENERATE,
    GENERATED,
    Decryption,
    Op,
    pack_array,
)
from securefair.ckks.backends.openfhe_process import ChildProcess, child_under, find_interpreter
from securefair.ckks.evaluator import Released
from securefair.ckks.keys import PublicKeys
from securefair.ckks.layers import AffineLayer
from securefair.ckks.parameters import CkksParameters, CkksSpec
from securefair.ckks.security import MAX_LOG_QP
from securefair.errors import BackendUnavailableError, ConfigError, EncryptionError

PARAMS = CkksParameters(CkksSpec(ring_degree=4096, limb_bits=(31, 31), special_bits=31))
META = rules.fresh(PARAMS, count=2, limbs=2, log2_scale=25.0, bound=1.0)
VALUES = np.random.default_rng(0).uniform(-1, 1, (2, PARAMS.slots))


@pytest.fixture(scope="module", autouse=True)
def backend():
    try:
        return get_backend("openfhe")
    except BackendUnavailableError as error:
        pytest.skip(str(error))


@pytest.fixture
def keys(backend):
    return backend.generate_keys(PARAMS, relinearization=True)


@pytest.fixture
def evaluator(backend, keys):
    return backend.evaluator(PARAMS, keys.public)


def uploaded(keys, evaluator):
    return evaluator.load(keys.encryptor.encrypt(VALUES, META), META)


# -- circuits and error bounds -------------------------------------------------------------------

RELEASES = {
    "loss": {"release": "loss"},
    "class_sums": {"release": "class_sums"},
    "public projection": {"release": "projection"},
    "student projection": {"release": "projection", "basis": "student"},
    "logits": {"release": "logits"},
}


class Exchange:
    """A plan, and random inputs and weights that it allows."""

    def __init__(self, seed, **spec):
        rng = np.random.default_rng(seed)
        self.plan = plan = plan_exchange(ExchangeSpec(**spec))
        slots = (plan.blocks, plan.params.slots)
        self.features = rng.uniform(-1, 1, (slots[0], spec["features"], slots[1]))
        self.layers = [self._layer(rng, spec) for spec in plan.specs]
        count = plan.factors.count if plan.factors else 0
        self.factors = rng.dirichlet(np.ones(count + 1), slots).swapaxes(1, 2)[:, :count]
        self.signs = np.where(rng.random(plan.blocks) < 0.5, -1, 1)
        self.coefficients = rng.choice(slots[1], plan.spec.q, replace=False)

    @staticmethod
    def _layer(rng, spec):
        """Rows of norm up to 1, which bounds every output by the planner's own."""
        weights = rng.normal(size=(spec.outputs, spec.inputs))
        weights /= 1.1 * np.linalg.norm(weights, axis=1, keepdims=True)
        integers = np.round(weights * 2.0**spec.log2_scale).astype(np.int64)
        return AffineLayer(integers, rng.uniform(-0.3, 0.3, spec.outputs))

    def run(self, backend, *, flood=True):
        """Everything that the student opens, one array."""
        plan = self.plan
        keys = backend.generate_keys(
            plan.params,
            relinearization=plan.needs_relinearization,
            conjugation=plan.needs_conjugation,
        )
        evaluator = backend.evaluator(plan.params, keys.public)
        if not flood:
            evaluator._sanitize = lambda x, _: x.payload

        def upload(blocks, meta):
            encrypt = keys.encryptor.encrypt
            return [evaluator.load(encrypt(block, meta), meta) for block in blocks]

        inputs = Inputs(
            upload(self.features, plan.features),
            upload(self.factors, plan.factors) if plan.factors else [],
            self.signs,
            self.coefficients,
        )
        released = answer(evaluator, plan.spec, plan.schedule, plan.specs, self.layers, inputs)
        for part, meta in zip(released, plan.released, strict=True):
            assert part.meta == meta
        opened = np.concatenate([keys.decryptor.open(part) for part in released], axis=1)
        return opened * (plan.params.slots if plan.spec.multiplies else 1)


@given(
    release=st.sampled_from(sorted(RELEASES)),
    hidden=st.integers(0, 3),
    features=st.integers(1, 4),
    classes=st.integers(2, 3),
    seed=st.integers(0, 1000),
    flood=st.booleans(),
)
@settings(max_examples=10)
def test_random_circuits_agree_with_clear_within_the_planned_bound(
    backend, release, hidden, features, classes, seed, flood
):
    facts = {"features": features, "classes": classes, "samples": 300, "hidden": hidden, "q": 4}
    exchange = Exchange(seed, **facts, **RELEASES[release])
    exact = exchange.run(ClearBackend())
    error = np.abs(exchange.run(backend, flood=flood) - exact)
    assert error.max() <= exchange.plan.error_bound
    if not flood:  # the circuit itself is the same, far below any bound
        assert error.max() <= 2.0**-35 * np.abs(exact).max()
    elif error.size >= 8:  # noise of the planned size was added: one number may be near zero
        assert error.max() >= exchange.plan.noise_std / 20


@pytest.mark.parametrize("release", ["public projection", "logits"])
def test_several_blocks_are_combined_or_kept_apart(backend, release):
    facts = {"features": 2, "classes": 2, "samples": 5000, "hidden": 0, "q": 4}
    exchange = Exchange(3, **facts, **RELEASES[release])
    assert exchange.plan.blocks > 1
    error = np.abs(exchange.run(backend) - exchange.run(ClearBackend()))
    assert error.max() <= exchange.plan.error_bound


def test_without_flooding_the_circuit_itself_is_exact_to_far_below_any_bound(keys, evaluator):
    product = evaluator.relinearize(evaluator.square(uploaded(keys, evaluator)))
    opened = keys.decryptor.open(evaluator.extract(product, None))
    assert np.abs(opened - VALUES**2).max() < 2.0**-40


def test_the_library_calls_take_it_by_name():
    rng = np.random.default_rng(4)
    samples = sf.Samples(rng.uniform(-1, 1, (40, 3)), rng.integers(0, 2, 40), 2)
    head = sf.build_head("quadratic", 3, 2, 2, seed=1)
    spec = sf.ExchangeSpec(features=3, classes=2, samples=40, hidden=2, release="logits")
    student = sf.Student(spec, backend="openfhe")
    answered = sf.Teacher(head, backend="openfhe").answer(student.request(samples))
    expected = head.logits(samples.features)
    # Rounding the weights to 12 bits adds to the planned error.
    atol = student.plan.error_bound + 0.02
    np.testing.assert_allclose(student.open(answered).logits, expected, atol=atol)


@pytest.mark.parametrize(("products", "ring"), [(1, 8192), (3, 16384), (5, 16384)])
def test_its_own_parameters_are_within_the_caps_that_we_use(products, ring):
    backend = OpenfheBackend(products=products)
    keys = backend.generate_keys(PARAMS, relinearization=True)
    held = backend.evaluator(PARAMS, keys.public).keys
    assert held.ring_degree == ring
    # No special primes: the modulus of the ciphertexts is that of the keys.
    assert 60 * (products + 2) - 10 < held.log_q <= MAX_LOG_QP[ring]


def test_more_slots_than_its_ring_would_have_make_it_grow(backend):
    params = CkksParameters(CkksSpec(ring_degree=32768, limb_bits=(31,), special_bits=31))
    keys = backend.generate_keys(params, relinearization=False)
    assert backend.evaluator(params, keys.public).keys.ring_degree == 32768
    meta = rules.fresh(params, count=1, limbs=1, log2_scale=20.0, bound=1.0)
    values = np.random.default_rng(1).uniform(-1, 1, (1, params.slots))
    upload = keys.encryptor.encrypt(values, meta)
    evaluator = backend.evaluator(params, keys.public)
    opened = keys.decryptor.open(evaluator.extract(evaluator.load(upload, meta), None))
    np.testing.assert_allclose(opened, values, atol=1e-9)


# -- what it refuses -----------------------------------------------------------------------------


def test_products_beyond_its_depth_are_refused_and_harm_nothing():
    backend = OpenfheBackend(products=1)
    keys = backend.generate_keys(PARAMS, relinearization=True)
    evaluator = backend.evaluator(PARAMS, keys.public)
    x = uploaded(keys, evaluator)

    def power(times):  # below the rules, which would refuse it before
        payload = x.payload
        for _ in range(times):
            payload = evaluator.keys.tensor(Op.MULTIPLY, payload.handle, x.payload.handle)
        return payload

    assert power(1)
    with pytest.raises(EncryptionError, match=r"refuses to multiply.*depth") as error:
        power(4)
    assert "openfhe-development" not in str(error.value)
    opened = keys.decryptor.open(evaluator.extract(x, None))
    np.testing.assert_allclose(opened, VALUES, atol=1e-9)


@given(place=st.integers(0, 2**30), bit=st.integers(0, 7), answered=st.booleans())
@settings(max_examples=25)
def test_damaged_bytes_are_refused_before_openfhe_reads_them(
    upload_and_answer, place, bit, answered
):
    keys, evaluator, upload, released = upload_and_answer
    data = bytearray(released.data if answered else upload)
    data[place % len(data)] ^= 1 << bit
    read = {
        True: lambda: keys.decryptor.open(Released(META, None, bytes(data))),
        False: lambda: evaluator.load(bytes(data), META),
    }[answered]
    with pytest.raises(EncryptionError, match="damaged"):
        read()


@pytest.fixture(scope="module")
def upload_and_answer(backend):
    keys = backend.generate_keys(PARAMS, relinearization=False)
    evaluator = backend.evaluator(PARAMS, keys.public)
    upload = keys.encryptor.encrypt(VALUES, META)
    return keys, evaluator, upload, evaluator.extract(evaluator.load(upload, META), None)


OTHER_LENGTHS = {
    "shorter": lambda data: data[:-1],
    "longer": lambda data: data + bytes(1),
    "nothing": lambda _: b"",
    "no tag": lambda data: data[32:],
}


@pytest.mark.parametrize("name", OTHER_LENGTHS)
def test_bytes_of_another_length_are_refused(upload_and_answer, name):
    keys, evaluator, upload, released = upload_and_answer
    change = OTHER_LENGTHS[name]
    with pytest.raises(EncryptionError, match="damaged"):
        evaluator.load(change(upload), META)
    with pytest.raises(EncryptionError, match="damaged"):
        keys.decryptor.open(Released(META, None, change(released.data)))


def test_bytes_are_good_for_one_purpose_one_count_and_one_student(backend, upload_and_answer):
    keys, evaluator, upload, released = upload_and_answer
    stranger = backend.generate_keys(PARAMS, relinearization=False)
    three = rules.fresh(PARAMS, count=3, limbs=2, log2_scale=25.0, bound=1.0)
    for wrong in (
        lambda: evaluator.load(released.data, META),
        lambda: evaluator.load(upload, three),
        lambda: keys.decryptor.open(Released(META, None, upload)),
        lambda: stranger.decryptor.open(released),
        lambda: backend.evaluator(PARAMS, stranger.public).load(upload, META),
    ):
        with pytest.raises(EncryptionError, match="of other keys, another kind or another count"):
            wrong()


def test_ciphertexts_of_two_students_do_not_mix(backend, keys, evaluator):
    other = backend.generate_keys(PARAMS, relinearization=True)
    theirs = uploaded(other, backend.evaluator(PARAMS, other.public))
    with pytest.raises(EncryptionError, match="differ in keys"):
        evaluator.add(uploaded(keys, evaluator), theirs)


def test_keys_are_known_by_name_where_they_were_made(backend, keys):
    for public in (
        PublicKeys(b"", b""),
        PublicKeys(bytes(16), b""),
        PublicKeys(keys.public.encryption, bytes(16)),
    ):
        with pytest.raises(EncryptionError, match="no keys of that name"):
            backend.evaluator(PARAMS, public)
    others = CkksParameters(CkksSpec(ring_degree=4096, limb_bits=(30,), special_bits=31))
    with pytest.raises(EncryptionError, match="no keys of that name"):
        backend.evaluator(others, keys.public)


@pytest.mark.parametrize("parts", [[], [b""], [b"", b""], [b"x" * 8, b"y" * 8, b"z"]])
@pytest.mark.parametrize("op", list(Op))
def test_nonsense_is_refused_and_the_process_goes_on(keys, evaluator, op, parts):
    held = evaluator.keys
    if op in (Op.FORGET, Op.FORGET_KEYS) and parts == [b""]:
        assert held.call(op, b"") == []  # nothing is no nonsense there
    else:
        with pytest.raises(EncryptionError, match="openfhe refuses"):
            held.call(op, *parts)
    assert held.call(Op.ENCRYPT, held.id, pack_array(VALUES[:1]))


# -- lifetimes -----------------------------------------------------------------------------------


def test_what_python_drops_is_dropped_in_the_process(keys, evaluator):
    x = uploaded(keys, evaluator)
    held, handle = evaluator.keys, x.payload.handle
    assert held.call(Op.EXTRACT, handle)
    del x
    gc.collect()
    with pytest.raises(EncryptionError, match="unknown ciphertexts"):
        held.call(Op.EXTRACT, handle)


def test_keys_go_with_their_last_holder(backend):
    keys = backend.generate_keys(PARAMS, relinearization=True)
    evaluator = backend.evaluator(PARAMS, keys.public)
    public, name = keys.public, keys.public.encryption
    del keys
    gc.collect()
    assert backend.evaluator(PARAMS, public)  # the evaluator still holds them
    child, generation = evaluator.keys._child, evaluator.keys._generation
    del evaluator
    gc.collect()
    with pytest.raises(EncryptionError, match="no keys of that name"):
        backend.evaluator(PARAMS, public)
    with pytest.raises(EncryptionError, match="unknown keys"):
        child.call(generation, Op.ENCRYPT, name, pack_array(VALUES))


def test_a_killed_process_costs_its_keys_and_nothing_more(backend):
    keys = backend.generate_keys(PARAMS, relinearization=True)
    evaluator = backend.evaluator(PARAMS, keys.public)
    x = uploaded(keys, evaluator)
    process = child_under(find_interpreter()).process_id
    os.kill(process, signal.SIGKILL)
    for use in (lambda: evaluator.square(x), lambda: keys.encryptor.encrypt(VALUES, META)):
        with pytest.raises(EncryptionError):
            use()
    fresh = backend.generate_keys(PARAMS, relinearization=True)
    again = backend.evaluator(PARAMS, fresh.public)
    opened = fresh.decryptor.open(again.extract(uploaded(fresh, again), None))
    np.testing.assert_allclose(opened, VALUES, atol=1e-9)
    assert child_under(find_interpreter()).process_id != process
    with pytest.raises(EncryptionError, match="were lost"):  # still, and told so
        evaluator.square(x)


UNGUARDED = """
import resource, runpy, sys
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
sys.path.append(sys.argv[1])
from openfhe_child import operations
operations.Child._tag = lambda self, data: bytes(32)
runpy.run_module('openfhe_child', run_name='__main__')
"""


def test_a_damaged_ciphertext_that_does_reach_openfhe_is_an_error_too():
    """Without the keyed hash OpenFHE aborts on some of these: that is why it runs apart."""
    folder = str(Path(openfhe_process.__file__).parent)
    child = ChildProcess([find_interpreter(), "-I", "-c", UNGUARDED, folder])
    spec = GENERATE.pack(PARAMS.slots, 1, False, Decryption.DEFAULT, 0.0)
    started = set()
    for place in range(290, 302, 2):
        generation, (reply,) = child.start(Op.GENERATE, spec)
        started.add(generation)
        name = GENERATED.unpack(reply)[0]
        (upload,) = child.call(generation, Op.ENCRYPT, name, pack_array(VALUES[:1]))
        damaged = bytearray(upload)
        damaged[place] ^= 0x40
        try:
            (handle,) = child.call(generation, Op.LOAD, name, bytes(damaged), COUNT.pack(1))
            (data,) = child.call(generation, Op.EXTRACT, handle)
            (opened,) = child.call(generation, Op.OPEN, name, data, COUNT.pack(1))
        except EncryptionError:
            continue
        assert len(opened) == len(pack_array(VALUES[:1]))
    child.close()
    assert len(started) > 1


# -- decryption with noise flooding --------------------------------------------------------------


def squared(backend):
    """A small circuit whose last product is not rescaled yet: keys, answer, its error."""
    keys = backend.generate_keys(PARAMS, relinearization=True)
    evaluator = backend.evaluator(PARAMS, keys.public)
    product = evaluator.relinearize(evaluator.square(uploaded(keys, evaluator)))
    return keys, evaluator.extract(product, None), evaluator.keys


def test_flooded_decryption_hides_the_measured_noise():
    measuring, circuit, _ = squared(OpenfheBackend(products=1, measure_noise=True))
    bits = measuring.decryptor.noise_bits(circuit)
    plain, answer_, held = squared(OpenfheBackend(products=1))
    unflooded = (plain.decryptor.open(answer_) - VALUES**2).std()
    flooding, answer_, _ = squared(OpenfheBackend(products=1, noise_bits=bits))
    flooded = (flooding.decryptor.open(answer_) - VALUES**2).std()
    # In integer units: slots carry sqrt(N) times the deviation of a coefficient.
    unit = 59 - math.log2(held.ring_degree) / 2
    assert math.log2(unflooded) + unit == pytest.approx(bits, abs=1.5)
    assert math.log2(flooded) + unit == pytest.approx(bits + 15 + math.log2(12) / 2, abs=1.5)


def test_more_noise_is_flooded_with_more():
    errors = []
    for bits in (5.0, 15.0):
        keys, answer_, _ = squared(OpenfheBackend(products=1, noise_bits=bits))
        errors.append((keys.decryptor.open(answer_) - VALUES**2).std())
    assert math.log2(errors[1] / errors[0]) == pytest.approx(10, abs=0.5)


def test_keys_that_measure_do_not_decrypt_and_the_others_do_not_measure():
    keys, answer_, _ = squared(OpenfheBackend(products=1, measure_noise=True))
    with pytest.raises(EncryptionError, match="they do not decrypt"):
        keys.decryptor.open(answer_)
    for others in (OpenfheBackend(products=1), OpenfheBackend(products=1, noise_bits=8.0)):
        keys, answer_, _ = squared(others)
        with pytest.raises(EncryptionError, match="they do not measure"):
            keys.decryptor.noise_bits(answer_)


@pytest.mark.parametrize(
    "wrong",
    [{"measure_noise": True, "noise_bits": 8.0}, {"noise_bits": 0.0}, {"noise_bits": math.nan}],
)
def test_contradictory_specs_are_refused(wrong):
    with pytest.raises(ConfigError, match="noise_bits"):
        OpenfheBackend(**wrong)


def test_arrays_of_wrong_shapes_never_reach_openfhe(evaluator):
    held = evaluator.keys
    with pytest.raises(EncryptionError, match="refuses"):
        held.call(Op.ENCRYPT, held.id, struct.pack("<II", 1, 2048) + bytes(8))
