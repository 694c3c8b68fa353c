"""Every backend of the registry runs the same suites; a new one joins by being registered."""

from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np
import pytest

from contract.crowd import VARIANTS, crowd_of, make
from securefair.ckks import rules
from securefair.ckks.backends import BACKENDS, get_backend
from securefair.ckks.evaluator import Evaluator, Released
from securefair.ckks.keys import StudentKeys
from securefair.ckks.parameters import CkksParameters, CkksSpec
from securefair.errors import BackendUnavailableError

SPECS = {
    # Three limbs and the smallest key-switching prime there is: linear heads.
    "narrow": CkksSpec(ring_degree=4096, limb_bits=(30, 30, 30), special_bits=16),
    # One product and a key switch in the smallest ring.
    "switching": CkksSpec(ring_degree=4096, limb_bits=(31, 31), special_bits=31),
    # What linear - square - linear with products takes.
    "wide": CkksSpec(ring_degree=8192, limb_bits=(31,) * 5, special_bits=31),
}


@cache
def parameters(name):
    return CkksParameters(SPECS[name])


@dataclass(frozen=True, eq=False)
class Ring:
    """One student's keys and one teacher's evaluator under one parameter set."""

    params: CkksParameters
    keys: StudentKeys
    evaluator: Evaluator[Any]

    def upload(self, slots, *, log2_scale, bound=1.0, limbs=None):
        """Slots (d, n) -> the teacher's tensor."""
        meta = rules.fresh(
            self.params,
            count=len(slots),
            limbs=limbs or self.params.limbs,
            log2_scale=log2_scale,
            bound=bound,
        )
        return self.evaluator.load(_encrypted(self, slots.tobytes(), slots.shape, meta), meta)

    def open(self, tensor, coefficients=None):
        """What the student sees of a tensor."""
        released = self.evaluator.extract(tensor, coefficients)
        return self.keys.decryptor.open(Released(released.meta, coefficients, released.data))


@lru_cache(maxsize=32)
def _encrypted(ring, slots, shape, meta):
    """The same upload to several tests: each loads it anew, so none gets what another changed."""
    return ring.keys.encryptor.encrypt(np.frombuffer(slots).reshape(shape), meta)


@cache
def _ring(backend, name):
    params = parameters(name)
    keys = backend.generate_keys(params, relinearization=0 if name == "narrow" else params.limbs)
    return Ring(params, keys, backend.evaluator(params, keys.public))


@pytest.fixture(scope="session", params=sorted(BACKENDS))
def backend(request):
    try:
        return get_backend(request.param)
    except BackendUnavailableError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def ring(backend):
    """The ring of that name, its keys made once for the session."""
    return lambda name: _ring(backend, name)


@pytest.fixture
def wide(ring):
    """The ring that has room for all operations."""
    return ring("wide")


@pytest.fixture(scope="session")
def encrypts(backend):
    """Whether the backend hides anything; `clear` computes exactly and in the open."""
    return backend.name != "clear"


@pytest.fixture(scope="session")
def planned(backend):
    """Whether parameters and bytes are the planned ones; `openfhe` works at its own."""
    return backend.name not in ("clear", "openfhe")


@pytest.fixture(
    scope="session",
    params=[
        # Starts processes, which takes seconds.
        pytest.param(name, marks=[pytest.mark.slow] * (name == "crypten"))
        for name in sorted(VARIANTS)
    ],
)
def sums(request):
    try:
        return make(request.param)
    except BackendUnavailableError as error:
        pytest.skip(f"averaging {request.param} does not run here: {error}")


@pytest.fixture(scope="session")
def senders(sums):
    """Processes of CrypTen take seconds to start, one for each sender and one more."""
    return ("east", "west") if sums.name == "crypten" else ("east", "north", "south", "west")


@pytest.fixture(scope="session")
def crowd(sums, senders):
    """One for all tests of weighted sums; each uses rounds of its own."""
    return crowd_of(sums, senders)
