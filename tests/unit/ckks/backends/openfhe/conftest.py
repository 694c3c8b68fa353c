"""OpenFHE as an independent check of circuits and error bounds; skipped where it cannot run."""

import pytest

from securefair.ckks.backends import get_backend
from securefair.errors import BackendUnavailableError
from unit.ckks.backends.openfhe.ring import PARAMS


@pytest.fixture(scope="module", autouse=True)
def backend():
    try:
        return get_backend("openfhe")
    except BackendUnavailableError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def keys(backend):
    return backend.generate_keys(PARAMS, relinearization=PARAMS.limbs)


@pytest.fixture(scope="module")
def evaluator(backend, keys):
    return backend.evaluator(PARAMS, keys.public)
