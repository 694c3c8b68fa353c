"""Every implementation of the kernels, and what SEAL's own keys hold, to compare ours with."""

import struct
from contextlib import contextmanager

import numpy as np
import pytest

from securefair.ckks.backends import kernel_choice, kernels, residues_fallback
from securefair.ckks.backends.seal_bytes import read_ciphertext, unwrap
from unit.ckks.backends.residues import ISAS

_HEADER = struct.Struct("<HBBBBHQ")
_KEYS = struct.Struct("<32sQQ")


@contextmanager
def native_at(isa):
    """The native kernels at one instruction set; skips where there are none."""
    if not kernels.available():
        pytest.skip("the native module is not built")
    from securefair.ckks.backends import _native, residues_native

    _native.use_isa(isa)
    try:
        if _native.isa() != isa:
            pytest.skip(f"this processor has no {isa}")
        yield residues_native
    finally:
        _native.use_isa(_native.best_isa())


@pytest.fixture(params=ISAS)
def isa(request):
    with native_at(request.param):
        yield request.param


@pytest.fixture(params=[*ISAS, "device"])
def compute(request):
    """An implementation of the kernels on arrays: native at one instruction set, or torch."""
    if request.param == "device":
        yield residues_fallback
        return
    with native_at(request.param) as native:
        yield native


@pytest.fixture(params=["native", "device"])
def all_kernels(request, monkeypatch):
    """Whoever calls kernels gets all of them by one implementation."""
    if request.param == "native" and not kernels.available():
        pytest.skip("the native module is not built")
    if request.param == "device":
        monkeypatch.setattr(kernel_choice, "_native", None)
    return request.param


@pytest.fixture(scope="session")
def read_relinearization_key():
    """Body of a key for s^2 -> residues (digits, 2, limbs with the special prime, N)."""

    def read(body):
        _, powers, digits = _KEYS.unpack_from(body)
        assert powers == 1
        offset, residues = _KEYS.size, []
        for _ in range(digits):  # each a public key, wrapped on its own
            size = _HEADER.unpack_from(body, offset)[-1]
            residues.append(read_ciphertext(unwrap(body[offset : offset + size]))[0])
            offset += size
        assert offset == len(body)
        return np.stack(residues)

    return read
