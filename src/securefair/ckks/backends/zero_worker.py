"""A child process that makes seeded encryptions of zero with SEAL, as fast as one core can.

SEAL's Python surface holds the interpreter lock, so a second core needs a second process. It is
started by `zero_pool`, gets parameters and the secret key over its standard input, never touches
a file, and ends when that input closes.

    in    <II lengths, parameters as JSON, secret key as residues; then any number of
          requests <II limbs, count
    out   for each encryption: c0 (limbs, N) as u32, seed (64)
"""

from __future__ import annotations

import struct
import sys
from typing import BinaryIO

import msgspec
import numpy as np

from securefair.ckks.backends.seal_context import SealContext
from securefair.ckks.backends.seal_keys import (
    import_secret_key,
    seeded_zero,
    symmetric_encryptor,
)
from securefair.ckks.parameters import CkksParameters, CkksSpec

HEADER = struct.Struct("<II")
"""Two lengths, or limbs and count: what precedes every message to a worker."""


def serve(requests: BinaryIO, replies: BinaryIO) -> None:
    """Answer requests until the input ends."""
    spec_size, key_size = HEADER.unpack(requests.read(HEADER.size))
    spec = msgspec.json.decode(requests.read(spec_size), type=CkksSpec)
    context = SealContext(CkksParameters(spec))
    encryptor = symmetric_encryptor(context, import_secret_key(context, requests.read(key_size)))
    while len(request := requests.read(HEADER.size)) == HEADER.size:
        limbs, count = HEADER.unpack(request)
        for _ in range(count):
            first, seed = seeded_zero(context, encryptor, limbs)
            replies.write(first.astype(np.uint32).tobytes())
            replies.write(seed)
        replies.flush()


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer)
