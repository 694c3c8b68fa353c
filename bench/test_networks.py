"""Whole networks on encrypted images, with weights and images that are drawn: `make bench`.

Accuracy needs data: `securefair profile cnn` measures it with the time. Here times do not depend on
what was learned, so nothing but the package is needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any

import msgspec
import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from securefair.circuit.planner import plan_exchange
from securefair.ckks.backends import get_backend, kernels
from securefair.ckks.evaluator import Evaluator
from securefair.ckks.tensor import CipherTensor
from securefair.ckks.threads import cores, set_threads
from securefair.exchange.compile import compile_network
from securefair.model.networks import balanced_by_values, fold
from securefair_lab.networks import reference, reference_network
from securefair_lab.networks.reference import ReferenceName
from securefair_lab.profiling.cnn import profile_cnn
from securefair_lab.profiling.cnn_task import CnnTask, network_spec

IMAGES = 64


@pytest.fixture(scope="module", autouse=True)
def all_threads() -> Iterator[None]:
    before = kernels.describe().threads
    set_threads(cores())
    yield
    set_threads(before)


@lru_cache(maxsize=1)
def task_of(name: ReferenceName) -> CnnTask:
    """A fresh network on noise; its batch fills few of the places, which costs the same."""
    shape, classes = reference(name).input_shape, reference(name).classes
    rng = np.random.default_rng(0)
    images = rng.uniform(-1, 1, (IMAGES, *shape)).astype(np.float32)
    inputs = images.astype(np.float64)
    network = balanced_by_values(fold(reference_network(name, seed=0).eval()), inputs)
    spec = network_spec(
        network, inputs, classes=classes, largest=1.0, weight_bits=11, precision=2.0**-7
    )
    plan = plan_exchange(msgspec.structs.replace(spec, samples=IMAGES))
    return CnnTask(name, network, plan, images, network.logits(inputs).argmax(axis=1))


@lru_cache(maxsize=1)
def evaluator_of(name: ReferenceName) -> Evaluator[Any]:
    """With keys for that network's plan."""
    params, engine = task_of(name).plan.params, get_backend("rns")
    keys = engine.generate_keys(params, relinearization=params.limbs)
    return engine.evaluator(params, keys.public)


def test_network_for_digits(benchmark: BenchmarkFixture) -> None:
    benchmark.group = "network: mnist, keys to labels"
    task = task_of("mnist")
    profiles = []
    benchmark.pedantic(
        lambda: profiles.append(profile_cnn(task, threads=cores())), rounds=1, warmup_rounds=0
    )
    found = profiles[0]
    assert found.max_abs_error <= found.error_bound
    full = found.ms_per_image * found.batch / found.slots
    benchmark.extra_info["ms an image, all places filled"] = full
    benchmark.extra_info["profile"] = msgspec.to_builtins(found)


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("name", ["cifar", "cifar-wide", "cifar-cosines", "derma"])
def test_one_band_of_a_convolution(
    benchmark: BenchmarkFixture, name: ReferenceName, place: int
) -> None:
    """A product with its squares, summed under the pool: what a network mostly consists of."""
    benchmark.group = f"network: a band of {name}"
    task = task_of(name)
    plan = task.plan
    bands = compile_network(task.network, plan.spec.network).maps[place].bands
    band = bands[len(bands) // 2]
    evaluator = evaluator_of(name)
    limbs, layer, groups = plan.schedule.stages[place].linear.limbs, band.layer, band.groups
    assert groups is not None
    meta = msgspec.structs.replace(plan.features, count=layer.inputs, limbs=limbs)
    least, rng = min(plan.params.primes), np.random.default_rng(0)
    residues = rng.integers(0, least, meta.residue_shape, dtype=np.int32)
    rows = np.stack([np.zeros(layer.inputs, np.int64), np.arange(layer.inputs)], axis=1)
    spec = replace(plan.specs[place], inputs=layer.inputs, outputs=layer.outputs)
    block = CipherTensor(meta, residues)

    benchmark.pedantic(
        evaluator.square_sums_from,
        args=([block], rows, spec, layer, groups),
        rounds=3,
        warmup_rounds=1,
    )
    products = layer.multiply_adds * 2 * limbs * plan.params.ring_degree
    benchmark.extra_info["limbs"] = limbs
    benchmark.extra_info["ps a product"] = benchmark.stats["median"] / products * 1e12
