"""What the suites on encrypted values share: one small exchange, on every backend that runs here.

One thread throughout: SEAL has no more, and a comparison on unequal threads says little. The
kernels' own suite and that of whole exchanges set theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from pytest_benchmark.fixture import BenchmarkFixture

from securefair import ExchangeSpec, plan_exchange
from securefair.circuit.planner import ExchangePlan
from securefair.ckks.backends import BACKENDS, get_backend, kernels
from securefair.ckks.evaluator import Evaluator, Released
from securefair.ckks.keys import Backend, StudentKeys
from securefair.ckks.tensor import CipherMeta, CipherTensor
from securefair.ckks.threads import set_threads
from securefair.errors import BackendUnavailableError
from securefair.exchange import steps
from securefair.profiling.dry_exchange import Material, synthetic
from securefair.profiling.measure import peak_memory, reset_peak_memory

FLOAT = 8
ROUNDS, FEW, LONG = 5, 2, 0.5
"""Rounds, those of work that takes longer than so many seconds, and these."""

SPEC = ExchangeSpec(features=32, hidden=16, classes=4, samples=4096, release="logits")


@dataclass(frozen=True, eq=False)
class Side:
    """One backend with a student's keys and its uploaded features."""

    name: str
    backend: Backend
    keys: StudentKeys
    evaluator: Evaluator[Any]
    material: Material
    upload: bytes

    @property
    def plan(self) -> ExchangePlan:
        return self.material.plan

    def features(self) -> CipherTensor[Any]:
        return self.evaluator.load(self.upload, self.plan.features)

    def values(self, tensor: CipherTensor[Any]) -> NDArray[np.float64]:
        """All slots of a tensor, decrypted; nothing here is sanitised, as it stays at home."""
        data = self.evaluator.extract(tensor, None).data
        return self.keys.decryptor.open(Released(tensor.meta, None, data))


@pytest.fixture(scope="session")
def material() -> Material:
    return synthetic(plan_exchange(SPEC))


def _side(name: str, material: Material) -> Side:
    try:
        backend = get_backend(name)
        keys = backend.generate_keys(
            material.plan.params, relinearization=material.plan.params.limbs
        )
    except BackendUnavailableError as error:
        pytest.skip(str(error))
    slots = steps.pack(material.plan, material.samples.features)
    return Side(
        name,
        backend,
        keys,
        backend.evaluator(material.plan.params, keys.public),
        material,
        steps.encrypt(keys.encryptor, material.plan.features, slots),
    )


@pytest.fixture(scope="session", params=sorted(BACKENDS))
def side(request: pytest.FixtureRequest, material: Material) -> Side:
    return _side(request.param, material)


@pytest.fixture(scope="session")
def clear(material: Material) -> Side:
    return _side("clear", material)


@pytest.fixture
def one_thread() -> Iterator[None]:
    before = kernels.describe().threads
    set_threads(1)
    yield
    set_threads(before)


@pytest.fixture
def timed(benchmark: BenchmarkFixture, one_thread: None) -> Callable[..., Any]:  # noqa: ARG001
    """Time work under a group's name, so that the table of the group compares backends."""

    def run(group: str, side: Side, work: Callable[[], Any]) -> Any:
        benchmark.group = group
        reset_peak_memory()
        started = perf_counter()
        work()  # warms up
        rounds = ROUNDS if perf_counter() - started < LONG else FEW
        result = benchmark.pedantic(work, rounds=rounds)
        benchmark.extra_info |= {
            "backend": side.name,
            "threads": kernels.describe().threads,
            "peak_memory": peak_memory(),
            "ring_degree": side.plan.params.ring_degree,
            "modulus_bits": round(side.plan.params.log_qp, 1),
        }
        return result

    return run


@pytest.fixture
def describe(benchmark: BenchmarkFixture) -> Callable[..., None]:
    """Write down what a result is: its level, size, slots and error."""

    def note(meta: CipherMeta, size: int, *, error: float | None = None) -> None:
        used = min(SPEC.samples, meta.params.slots)
        benchmark.extra_info |= {
            "ciphertexts": meta.count,
            "level": meta.level,
            "slots_used": used,
            "slots_available": meta.params.slots,
            "bytes": size,
            "expansion": size / (meta.count * used * FLOAT),
        }
        if error is not None:
            benchmark.extra_info["error"] = error

    return note
