"""What a student does: keys, encoding, encryption, opening; and bytes in and out of a teacher."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from securefair.ckks import rules
from securefair.ckks.backends import kernels
from securefair.ckks.backends.basis import Basis
from securefair.ckks.encoding import to_coefficients
from securefair.ckks.evaluator import Released
from securefair.exchange import steps

Timed = Callable[..., Any]
Describe = Callable[..., None]


def test_generate_keys(timed: Timed, side: Any, benchmark: Any) -> None:
    params, limbs = side.plan.params, side.plan.relinearization_limbs
    keys = timed("keys", side, lambda: side.backend.generate_keys(params, relinearization=limbs))
    size = len(keys.public.encryption) + len(keys.public.relinearization)
    benchmark.extra_info["bytes"] = size
    assert size <= side.plan.key_bytes or side.name == "openfhe"


@pytest.mark.parametrize("by", ["kernels", "numpy"])
def test_encode(timed: Timed, describe: Describe, clear: Any, by: str, benchmark: Any) -> None:
    meta = clear.plan.features
    slots = steps.pack(clear.plan, clear.material.samples.features)[0]
    basis = Basis(meta.params.ring_degree, meta.params.primes[: meta.limbs])
    scale = 2.0**meta.log2_scale

    def encode() -> Any:
        if by == "kernels":
            return kernels.encode(slots, scale, basis)
        integers = np.rint(to_coefficients(slots, meta.params.ring_degree) * scale).astype(np.int64)
        return np.stack([integers % prime for prime in basis.primes], axis=1)

    encoded = timed("encode", clear, encode)
    benchmark.extra_info["backend"] = by
    residues = encoded if by == "kernels" else encoded.astype(np.int32)
    if by == "numpy":  # coefficients still
        kernels.ntt_forward_(residues, basis)
    error = np.abs(kernels.decode(residues, scale, basis) - slots).max()
    describe(meta, residues.nbytes, error=error)
    assert error < 2.0**-10


def test_encrypt(timed: Timed, describe: Describe, side: Any) -> None:
    meta = side.plan.features
    slots = steps.pack(side.plan, side.material.samples.features)
    upload = timed("encrypt", side, lambda: steps.encrypt(side.keys.encryptor, meta, slots))
    loaded = side.evaluator.load(upload, meta)
    error = float(np.abs(side.values(loaded) - slots[0]).max())
    describe(meta, len(upload), error=error)
    assert error <= rules.slot_error(meta) or side.name == "openfhe"


def test_load(timed: Timed, describe: Describe, side: Any) -> None:
    meta = side.plan.features
    loaded = timed("load", side, side.features)
    describe(meta, len(side.upload))
    assert loaded.meta == meta


def test_serialise(timed: Timed, describe: Describe, side: Any) -> None:
    features = side.features()
    released = timed("serialise", side, lambda: side.evaluator.extract(features, None))
    describe(features.meta, len(released.data))
    slots = steps.pack(side.plan, side.material.samples.features)[0]
    opened = side.keys.decryptor.open(released)
    np.testing.assert_allclose(opened, slots, atol=1e-3)


def test_open(timed: Timed, describe: Describe, side: Any) -> None:
    features = side.features()
    data = side.evaluator.extract(features, None).data
    released = Released(features.meta, None, data)
    opened = timed("open", side, lambda: side.keys.decryptor.open(released))
    slots = steps.pack(side.plan, side.material.samples.features)[0]
    describe(features.meta, len(data), error=float(np.abs(opened - slots).max()))
    np.testing.assert_allclose(opened, slots, atol=1e-3)
