"""Networks under encryption: the right logits, within the planned error, in little memory."""

from functools import cache

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from securefair.circuit.answer import Inputs, answer, logits_of
from securefair.circuit.network import Chunk, Stream, network_logits, planned_peak
from securefair.circuit.planner import plan_exchange
from securefair.ckks import memory, rules
from securefair.ckks.backends import get_backend, kernels
from securefair.ckks.backends.patched import whole
from securefair.ckks.backends.planning import PlanningEvaluator
from securefair.ckks.rules import with_count
from securefair.ckks.tensor import CipherTensor
from securefair.errors import EncryptionError, ModelError
from support.examples import examples

COEFFICIENTS = np.array([0, 3, 17, 40])


def opened(plan, maps, features, backend, predictions=None):
    """What a student sees of one answer, (M, n)."""
    engine = get_backend(backend)
    keys = engine.generate_keys(plan.params, relinearization=plan.relinearization_limbs)
    evaluator = engine.evaluator(plan.params, keys.public)
    slots = np.zeros((plan.spec.features, plan.params.slots))
    slots[:, : len(features)] = features.T
    tensor = evaluator.load(keys.encryptor.encrypt(slots, plan.features), plan.features)
    factors = []
    if predictions is not None:
        weights = np.zeros((plan.spec.classes, plan.params.slots))
        weights[:, : len(predictions)] = predictions.T
        factors = [evaluator.load(keys.encryptor.encrypt(weights, plan.factors), plan.factors)]
    inputs = Inputs([tensor], factors, np.ones(1, dtype=np.int64), COEFFICIENTS)
    released = answer(evaluator, plan.spec, plan.schedule, plan.specs, maps, inputs)
    assert tuple(part.meta for part in released) == plan.released
    return keys.decryptor.open(released[0])


@pytest.mark.parametrize("squares", [1, 2, 3])
def test_the_clear_backend_computes_the_network(make_network, squares):
    network, features = make_network(squares=squares)
    plan = plan_exchange(network.spec)
    found = opened(plan, network.maps, features, "clear")
    np.testing.assert_allclose(found[:, : len(features)].T, network.clear(features), atol=1e-9)


@given(
    seed=st.integers(0, 1000),
    squares=st.integers(1, 2),
    channels=st.integers(1, 3),
    pool=st.sampled_from([(1, 1), (2, 2)]),
    most=st.sampled_from([4, 64]),
)
@settings(max_examples=examples(4))
def test_no_encrypted_network_errs_more_than_planned(
    make_network, seed, squares, channels, pool, most
):
    network, features = make_network(seed, squares=squares, channels=channels, pool=pool, most=most)
    plan = plan_exchange(network.spec)
    found = opened(plan, network.maps, features, "rns")
    error = np.abs(found[:, : len(features)].T - network.clear(features)).max()
    assert plan.error_bound * 2.0**-16 < error <= plan.error_bound


@pytest.mark.slow
@pytest.mark.parametrize("squares", [1, 3])
def test_the_noise_that_flooding_must_hide_is_within_the_plan(make_network, squares):
    """Before it is flooded with 2^30 times as much, which would hide any mistake in the rules."""
    network, features = make_network(squares=squares)
    plan = plan_exchange(network.spec)
    engine = get_backend("rns")
    keys = engine.generate_keys(plan.params, relinearization=plan.relinearization_limbs)
    evaluator = engine.evaluator(plan.params, keys.public)
    samples = np.arange(plan.params.slots) % len(features)
    encrypted = keys.encryptor.encrypt(features[samples].T, plan.features)
    logits = network_logits(
        evaluator,
        evaluator.load(encrypted, plan.features),
        plan.specs,
        plan.schedule.stages,
        plan.spec.network,
        network.maps,
    )
    found = keys.decryptor.open(evaluator.extract(logits, None))
    error = np.abs(found - network.clear(features).T[:, samples]).max()
    bound = rules.slot_error(logits.meta)
    assert 2.0**-14 * bound < error <= bound


@pytest.mark.slow
def test_seal_and_rns_agree_on_a_network(make_network):
    """The same circuit by SEAL's own products, key switches and rescalings."""
    network, features = make_network(channels=1, squares=2, most=4)
    plan = plan_exchange(network.spec)
    found = opened(plan, network.maps, features, "seal")
    error = np.abs(found[:, : len(features)].T - network.clear(features)).max()
    assert error <= plan.error_bound


def test_projections_of_networks(make_network):
    network, features = make_network(squares=1, release="projection")
    plan = plan_exchange(network.spec)
    expected = opened(plan, network.maps, features, "clear")
    found = opened(plan, network.maps, features, "rns")
    assert np.abs(found - expected).max() <= plan.error_bound


@pytest.mark.parametrize("release", ["loss", "class_sums"])
def test_losses_of_networks(make_network, release):
    network, features = make_network(squares=1, release=release)
    plan = plan_exchange(network.spec)
    predictions = np.random.default_rng(0).dirichlet(np.ones(2), len(features))
    found = opened(plan, network.maps, features, "rns", predictions)
    sums = found[:, 0] * plan.params.slots
    by_class = (predictions * network.clear(features)).sum(axis=0)
    expected = by_class if release == "class_sums" else by_class.sum(keepdims=True)
    assert np.abs(sums - expected).max() <= plan.error_bound
    assert plan.error_bound < np.abs(expected).max()


def test_a_stream_keeps_only_what_is_still_read(make_network):
    network, _ = make_network(most=4)
    plan = plan_exchange(network.spec)
    evaluator = PlanningEvaluator(plan.params)
    stream = Stream(
        evaluator,
        [Chunk(np.arange(25), lambda: evaluator.load(b"", plan.features))],
        plan.specs,
        plan.schedule.stages,
        network.maps,
    )
    assert len(network.maps[0].bands) > 2
    assert stream.logits().meta.count == 2
    assert list(stream._kept) == [(3, 0)]  # the answer alone


@cache
def encrypted(make_network, **sizes):
    """A network, its plan, a teacher's evaluator and a student's upload: once for all tests."""
    network, features = make_network(**sizes)
    plan = plan_exchange(network.spec)
    engine = get_backend("rns")
    keys = engine.generate_keys(plan.params, relinearization=plan.relinearization_limbs)
    evaluator = engine.evaluator(plan.params, keys.public)
    slots = np.zeros((25, plan.params.slots))
    slots[:, : len(features)] = features.T
    data = keys.encryptor.encrypt(slots, plan.features)
    return network, plan, evaluator, data


def test_a_dense_last_map_is_added_up_to_the_same_bits(make_network, monkeypatch):
    """Nothing that it reads is kept until all of it is there."""
    network, plan, evaluator, data = encrypted(make_network, squares=2, channels=2, most=2)

    def logits():
        chunks = [Chunk(np.arange(25), lambda: evaluator.load(data, plan.features))]
        stages = plan.schedule.stages
        stream = Stream(evaluator, chunks, plan.specs, stages, network.maps)
        return stream.logits(), stream

    found, stream = logits()
    assert len(stream._dense_parts(3)) == len(network.maps[1].bands) == 2
    monkeypatch.setattr(Stream, "_dense_parts", lambda *_: [])
    expected, _ = logits()
    assert found.meta == expected.meta
    assert np.array_equal(whole(found.payload), whole(expected.payload))


def test_chunks_are_loaded_when_they_are_needed_and_dropped_after(make_network):
    network, features = make_network(squares=1, most=4)
    plan = plan_exchange(network.spec)
    evaluator = get_backend("clear").evaluator(plan.params, None)
    slots = np.zeros((25, plan.params.slots))
    slots[:, : len(features)] = features.T
    whole = evaluator.load(slots.astype("<f8").tobytes(), plan.features)
    loaded = []

    def chunk(rows):
        def load():
            loaded.append(rows[0])
            return evaluator.gather([whole], np.stack([np.zeros_like(rows), rows], axis=1))

        return Chunk(rows, load)

    chunks = [chunk(np.arange(5 * i, 5 * i + 5)) for i in range(5)]
    found = network_logits(
        evaluator, chunks, plan.specs, plan.schedule.stages, plan.spec.network, network.maps
    )
    np.testing.assert_allclose(found.payload[:, : len(features)].T, network.clear(features))
    # Each row of the image once, although its neighbours read it too; the last row and column
    # are beyond the pool's last window.
    assert sorted(loaded) == [0, 5, 10, 15, 20]


@pytest.mark.parametrize(("squares", "channels", "most"), [(1, 3, 4), (2, 2, 2)])
def test_the_planned_peak_is_that_of_a_run(make_network, squares, channels, most):
    network, plan, evaluator, data = encrypted(
        make_network, squares=squares, channels=channels, most=most
    )
    stages, params = plan.schedule.stages, plan.params
    everything = CipherTensor(plan.features, None)
    planned = planned_peak(everything, 5, plan.specs, stages, network.maps)
    each = len(data) // 25

    def chunk(start):
        meta = with_count(plan.features, 5)
        rows = slice(start * each, (start + 5) * each)
        return Chunk(np.arange(start, start + 5), lambda: evaluator.load(data[rows], meta))

    chunks = [chunk(start) for start in range(0, 25, 5)]
    stream = Stream(evaluator, chunks, plan.specs, stages, network.maps)
    stream.logits()
    assert stream.peak_bytes == planned
    least = 5 * plan.params.limbs * 2 * 4 * params.ring_degree  # one chunk
    assert planned > least


def test_memory_is_used_again_and_the_bits_are_the_same(make_network, monkeypatch):
    network, plan, evaluator, data = encrypted(make_network, squares=2, channels=2, most=2)

    class Watched(memory.Arena):
        arrays, blocks = 0, set()

        def empty(self, shape):
            result = super().empty(shape)
            Watched.arrays += 1
            Watched.blocks.add(result.__array_interface__["data"][0])
            return result

    def logits(smallest):
        monkeypatch.setattr(memory, "Arena", lambda: Watched(smallest=smallest))
        features = [evaluator.load(data, plan.features)]
        (found,) = logits_of(
            evaluator, plan.spec, plan.schedule, plan.specs, network.maps, features
        )
        return whole(found.payload)

    with_blocks = logits(0)
    if kernels.available():
        assert 0 < len(Watched.blocks) < Watched.arrays
    np.testing.assert_array_equal(with_blocks, logits(1 << 60))


def test_chunks_must_cover_the_features(make_network):
    network, _ = make_network(squares=1)
    plan = plan_exchange(network.spec)
    evaluator = PlanningEvaluator(plan.params)
    chunks = [Chunk(np.arange(24), lambda: evaluator.load(b"", plan.features))]
    with pytest.raises(EncryptionError, match="no band"):
        Stream(evaluator, chunks, plan.specs, plan.schedule.stages, network.maps)


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_weights_beyond_the_bound_are_refused(make_network, norm):
    network, features = make_network(squares=1)
    first, *others = network.spec.network
    smaller = msgspec.structs.replace(first, **{norm: getattr(first, norm) * 0.9})
    spec = msgspec.structs.replace(network.spec, network=(smaller, *others))
    with pytest.raises(ModelError, match=norm):
        opened(plan_exchange(spec), network.maps, features, "clear")


def test_a_network_without_its_maps_is_refused(make_network):
    network, features = make_network(squares=1)
    plan = plan_exchange(network.spec)
    with pytest.raises(EncryptionError, match="all of its maps"):
        opened(plan, (network.maps[0], None), features, "clear")
