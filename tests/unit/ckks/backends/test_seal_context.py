import os
import warnings
from pathlib import Path

import numpy as np
import pytest

from securefair.ckks.backends.seal_bytes import Written, own_pipe
from securefair.ckks.backends.seal_context import seal_context
from securefair.ckks.parameters import CkksParameters, CkksSpec
from securefair.errors import EncryptionError

PARAMS = CkksParameters(CkksSpec(ring_degree=4096, limb_bits=(30, 25), special_bits=16))
CONTEXT = seal_context(PARAMS)
PRIMES = np.array(PARAMS.primes, dtype=np.uint64)[:, None]


def residues(rows, seed=0):
    shape = (rows, 2, 4096)
    return np.random.default_rng(seed).integers(0, PRIMES, size=shape, dtype=np.uint64)


def test_one_context_serves_equal_parameters():
    again = CkksParameters(CkksSpec(ring_degree=4096, limb_bits=(30, 25), special_bits=16))
    assert seal_context(again) is seal_context(PARAMS)  # CONTEXT may have left the cache by now


def test_transforms_undo_each_other():
    values = residues(3)
    assert (CONTEXT.from_ntt(CONTEXT.to_ntt(values)) == values).all()
    assert (CONTEXT.to_ntt(CONTEXT.from_ntt(values)) == values).all()


def test_a_constant_is_the_same_at_every_root():
    constant = np.zeros((1, 2, 4096), dtype=np.uint64)
    constant[0, :, 0] = 12345
    assert (CONTEXT.to_ntt(constant) == 12345).all()


def test_the_transform_turns_negacyclic_products_into_products():
    a = np.zeros((1, 2, 4096), dtype=np.uint64)
    b = np.zeros((1, 2, 4096), dtype=np.uint64)
    a[0, :, 4095], a[0, :, 1] = 7, 2  # 7 X^4095 + 2 X
    b[0, :, 3] = 5  # 5 X^3
    product = CONTEXT.to_ntt(a) * CONTEXT.to_ntt(b) % PRIMES
    expected = np.zeros((1, 2, 4096), dtype=np.uint64)
    expected[0, :, 2] = PRIMES[:, 0] - 35  # X^4098 = -X^2
    expected[0, :, 4] = 10
    assert (CONTEXT.from_ntt(product) == expected).all()


def test_residues_at_their_prime_and_unknown_levels_are_refused():
    values = residues(2)
    values[1, 1, 17] = PRIMES[1, 0]
    with pytest.raises(EncryptionError, match="not below its prime"):
        CONTEXT.ciphertext(values)
    with pytest.raises(EncryptionError, match="no level"):
        CONTEXT.ciphertext(np.zeros((2, 3, 4096), dtype=np.uint64))
    with pytest.raises(EncryptionError):
        CONTEXT.ciphertext(np.zeros((2, 2, 2048), dtype=np.uint64))


def test_a_fork_does_not_write_into_the_pipe_of_the_original():
    """Else both could send answers that are masked by the same encryption of zero."""
    with own_pipe().offered(Written(b"ours")) as path:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # forking beside threads, 3.12 on
            child = os.fork()
        if not child:
            try:
                theirs = own_pipe()
                with theirs.offered(Written(b"the child's own")):
                    os._exit(0 if own_pipe() is theirs else 1)
            finally:
                os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert Path(path).read_bytes() == b"ours"
