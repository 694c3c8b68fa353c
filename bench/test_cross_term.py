"""The KL cross term alone: sum_c p_c z_c on encrypted predictions and logits, before anything is
switched, sanitised or sent. Its microseconds a sample are in extra_info: `make bench`.

The same products as in a plan for the release `loss` of 512 -> 64 -> 10, at its ring and level.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from securefair import ExchangeSpec, plan_exchange
from securefair.ckks.backends import get_backend, kernels
from securefair.ckks.evaluator import Released
from securefair.ckks.rules import slot_error
from securefair.ckks.threads import cores, set_threads

CLASSES = 10


@pytest.fixture(params=sorted({1, cores()}), ids=lambda count: f"threads: {count}")
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = kernels.describe().threads
    set_threads(request.param)
    yield request.param
    set_threads(before)


@pytest.mark.parametrize("samples", [4096, 8192])
@pytest.mark.parametrize("backend", ["rns", "seal"])
def test_cross_term(benchmark: BenchmarkFixture, backend: str, samples: int, threads: int) -> None:
    if backend == "seal" and threads > 1:
        pytest.skip("SEAL has one thread")
    spec = ExchangeSpec(features=512, hidden=64, classes=CLASSES, samples=samples, release="loss")
    plan = plan_exchange(spec)
    engine = get_backend(backend)
    keys = engine.generate_keys(plan.params, relinearization=plan.params.limbs)
    evaluator = engine.evaluator(plan.params, keys.public)
    assert plan.factors is not None
    bounds = {"predictions": 1.0, "logits": spec.bounds.logit}
    rng = np.random.default_rng(0)
    given, tensors = {}, {}
    for name, bound in bounds.items():
        meta = msgspec.structs.replace(plan.factors, bound=bound)
        values = rng.uniform(0, bound / CLASSES, (CLASSES, plan.params.slots))
        upload = keys.encryptor.encrypt(values, meta)
        given[name], tensors[name] = values, evaluator.load(upload, meta)

    def cross_term() -> object:
        return evaluator.inner(tensors["predictions"], tensors["logits"], bound=spec.bounds.logit)

    product = benchmark.pedantic(cross_term, rounds=15, warmup_rounds=2)

    exact = (given["predictions"] * given["logits"]).sum(axis=0)
    whole = evaluator.extract(product, None).data
    opened = keys.decryptor.open(Released(product.meta, None, whole))[0]
    assert np.abs(opened - exact).max() <= slot_error(product.meta)
    benchmark.group = f"cross term of {samples} samples"
    benchmark.extra_info |= {
        "backend": backend,
        "threads": threads,
        "us a sample": benchmark.stats["median"] / samples * 1e6,
        "ring_degree": plan.params.ring_degree,
        "limbs": plan.factors.limbs,
        "blocks": plan.blocks,
    }
