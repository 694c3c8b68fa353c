"""What the process of openfhe holds, and for how long."""

import gc
import os
import signal
from pathlib import Path

import numpy as np
import pytest

from securefair.ckks.backends import openfhe_process
from securefair.ckks.backends.openfhe_child.frames import (
    COUNT,
    GENERATE,
    GENERATED,
    Decryption,
    Op,
    pack_array,
)
from securefair.ckks.backends.openfhe_process import ChildProcess, child_under, find_interpreter
from securefair.errors import EncryptionError
from unit.ckks.backends.openfhe.ring import META, PARAMS, VALUES, uploaded


def test_what_python_drops_is_dropped_in_the_process(keys, evaluator):
    x = uploaded(keys, evaluator)
    held, handle = evaluator.keys, x.payload.handle
    assert held.call(Op.EXTRACT, handle)
    del x
    gc.collect()
    with pytest.raises(EncryptionError, match="unknown ciphertexts"):
        held.call(Op.EXTRACT, handle)


def test_keys_go_with_their_last_holder(backend):
    keys = backend.generate_keys(PARAMS, relinearization=PARAMS.limbs)
    evaluator = backend.evaluator(PARAMS, keys.public)
    public, name = keys.public, keys.public.encryption
    del keys
    gc.collect()
    assert backend.evaluator(PARAMS, public)  # the evaluator still holds them
    child, generation = evaluator.keys._child, evaluator.keys._generation
    del evaluator
    gc.collect()
    with pytest.raises(EncryptionError, match="no keys of that name"):
        backend.evaluator(PARAMS, public)
    with pytest.raises(EncryptionError, match="unknown keys"):
        child.call(generation, Op.ENCRYPT, name, pack_array(VALUES))


def test_a_killed_process_costs_its_keys_and_nothing_more(backend):
    keys = backend.generate_keys(PARAMS, relinearization=PARAMS.limbs)
    evaluator = backend.evaluator(PARAMS, keys.public)
    x = uploaded(keys, evaluator)
    process = child_under(find_interpreter()).process_id
    os.kill(process, signal.SIGKILL)
    for use in (lambda: evaluator.square(x), lambda: keys.encryptor.encrypt(VALUES, META)):
        with pytest.raises(EncryptionError):
            use()
    fresh = backend.generate_keys(PARAMS, relinearization=PARAMS.limbs)
    again = backend.evaluator(PARAMS, fresh.public)
    opened = fresh.decryptor.open(again.extract(uploaded(fresh, again), None))
    np.testing.assert_allclose(opened, VALUES, atol=1e-9)
    assert child_under(find_interpreter()).process_id != process
    with pytest.raises(EncryptionError, match="were lost"):  # still, and told so
        evaluator.square(x)


UNGUARDED = """
import resource, runpy, sys
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
sys.path.append(sys.argv[1])
from openfhe_child import operations
operations.Child._tag = lambda self, data: bytes(32)
runpy.run_module('openfhe_child', run_name='__main__')
"""


def test_a_damaged_ciphertext_that_does_reach_openfhe_is_an_error_too():
    """Without the keyed hash OpenFHE aborts on some of these: that is why it runs apart."""
    folder = str(Path(openfhe_process.__file__).parent)
    child = ChildProcess([find_interpreter(), "-I", "-c", UNGUARDED, folder])
    spec = GENERATE.pack(PARAMS.slots, 1, False, Decryption.DEFAULT, 0.0)
    started = set()
    for place in range(290, 302, 2):
        generation, (reply,) = child.start(Op.GENERATE, spec)
        started.add(generation)
        name = GENERATED.unpack(reply)[0]
        (upload,) = child.call(generation, Op.ENCRYPT, name, pack_array(VALUES[:1]))
        damaged = bytearray(upload)
        damaged[place] ^= 0x40
        try:
            (handle,) = child.call(generation, Op.LOAD, name, bytes(damaged), COUNT.pack(1))
            (data,) = child.call(generation, Op.EXTRACT, handle)
            (opened,) = child.call(generation, Op.OPEN, name, data, COUNT.pack(1))
        except EncryptionError:
            continue
        assert len(opened) == len(pack_array(VALUES[:1]))
    child.close()
    assert len(started) > 1
