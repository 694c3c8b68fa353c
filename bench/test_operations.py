"""Every operation of an evaluator, each decrypted and compared with its clear twin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from securefair.circuit.network import PrivateMap, network_logits
from securefair.ckks import rules
from securefair.exchange import steps

FLOODING_BITS = 30

Timed = Callable[..., Any]
Describe = Callable[..., None]


def layers(side: Any) -> tuple[PrivateMap, ...]:
    return steps.compile_model(side.plan, side.material.model).maps


def squared(side: Any) -> Any:
    return side.evaluator.square(side.features())


def evaluated(side: Any, features: Any, maps: tuple[PrivateMap, ...]) -> Any:
    stages, bounds = side.plan.schedule.stages, side.plan.spec.layers
    return network_logits(side.evaluator, features, side.plan.specs, stages, bounds, maps)


def logits(side: Any) -> Any:
    return evaluated(side, side.features(), layers(side))


def two(side: Any) -> tuple[Any, Any]:
    return side.features(), side.features()


def few(side: Any) -> tuple[Any, Any]:
    """A ciphertext a class twice, as `class_sums` multiplies them: all with all."""
    count = side.plan.spec.classes
    meta = rules.with_count(side.plan.features, count)
    slots = steps.pack(side.plan, side.material.samples.features)[:, :count]
    upload = steps.encrypt(side.keys.encryptor, meta, slots)
    return side.evaluator.load(upload, meta), side.evaluator.load(upload, meta)


OPERATIONS: dict[str, tuple[Callable[[Any], Any], Callable[[Any, Any], Any]]] = {
    # name: (operands, operation)
    "linear": (
        lambda side: (side.features(), layers(side)[0]),
        lambda side, x: side.evaluator.linear(x[0], side.plan.specs[0], x[1]),
    ),
    "add": (two, lambda side, x: side.evaluator.add(*x)),
    "subtract": (two, lambda side, x: side.evaluator.subtract(*x)),
    "square": (two, lambda side, x: side.evaluator.square(x[0])),
    "multiply": (two, lambda side, x: side.evaluator.multiply(*x)),
    "inner": (two, lambda side, x: side.evaluator.inner(*x, bound=32.0)),
    "outer": (few, lambda side, x: side.evaluator.outer(*x)),
    "relinearize": (squared, lambda side, x: side.evaluator.relinearize(x)),
    "rescale": (squared, lambda side, x: side.evaluator.rescale(x, x.meta.limbs - 1)),
    "sanitize": (
        lambda side: side.evaluator.relinearize(logits(side)),
        lambda side, x: side.evaluator.sanitize(x, FLOODING_BITS),
    ),
}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_operation(timed: Timed, describe: Describe, side: Any, clear: Any, operation: str) -> None:
    operands, compute = OPERATIONS[operation]
    prepared = operands(side)

    result = timed(operation, side, lambda: compute(side, prepared))

    expected = clear.values(compute(clear, operands(clear)))
    error = float(np.abs(side.values(result) - expected).max())
    describe(result.meta, int(np.prod(result.meta.residue_shape)) * 4, error=error)
    assert error <= rules.slot_error(result.meta)


@pytest.mark.parametrize("chosen", [1, 64])
def test_extract_coefficients(
    timed: Timed, describe: Describe, side: Any, clear: Any, chosen: int
) -> None:
    indices = np.arange(chosen, dtype=np.int64)
    features = side.features()

    released = timed(f"extract {chosen}", side, lambda: side.evaluator.extract(features, indices))

    expected = clear.keys.decryptor.open(clear.evaluator.extract(clear.features(), indices))
    error = float(np.abs(side.keys.decryptor.open(released) - expected).max())
    describe(features.meta, len(released.data), error=error)
    assert error <= rules.coefficient_error(features.meta) or side.name == "openfhe"


def test_head(timed: Timed, describe: Describe, side: Any, clear: Any) -> None:
    """The circuit of encrypted inference: linear, square, linear."""
    features, compiled = side.features(), layers(side)

    result = timed(
        "circuit: head",
        side,
        lambda: evaluated(side, features, compiled),
    )

    error = float(np.abs(side.values(result) - clear.values(logits(clear))).max())
    describe(result.meta, int(np.prod(result.meta.residue_shape)) * 4, error=error)
    assert error <= rules.slot_error(result.meta)
