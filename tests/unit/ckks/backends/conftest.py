"""What SEAL's own keys hold, to compare ours with."""

import struct

import numpy as np
import pytest

from securefair.ckks.backends.seal_bytes import read_ciphertext, unwrap

_HEADER = struct.Struct("<HBBBBHQ")
_KEYS = struct.Struct("<32sQQ")


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
