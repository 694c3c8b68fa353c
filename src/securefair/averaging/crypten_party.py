"""One party of a CrypTen computation, as a process of its own.

Started by `crypten_parties` with rank and world size; the last rank is the receiver, which shares
nothing and reads the sum.

    in    any number of sums: <Q words, and on all ranks but the last so many integers (i64)
    out   on the last rank, for each sum: its integers
"""

from __future__ import annotations

import os
import struct
import sys
from importlib import import_module
from typing import Any, BinaryIO

import torch

HEADER = struct.Struct("<Q")
WORD_BYTES = 8

_MOVED = "torch.onnx._internal.torchscript_exporter.registration"
_OLD = "torch.onnx._internal.registration"


def load_crypten() -> Any:
    """CrypTen 0.4.1, which imports a private module of torch by the name of older versions."""
    try:
        import_module(_OLD)
    except ModuleNotFoundError:
        sys.modules[_OLD] = import_module(_MOVED)
    return import_module("crypten")


def serve(
    requests: BinaryIO, replies: BinaryIO, *, rank: int, parties: int, rendezvous: str
) -> None:
    """Take part in sums until the input ends."""
    os.environ |= {
        "WORLD_SIZE": str(parties),
        "RANK": str(rank),
        "RENDEZVOUS": f"file://{rendezvous}",
        "DISTRIBUTED_BACKEND": "gloo",
        "GLOO_SOCKET_IFNAME": "lo",
    }
    crypten = load_crypten()
    from crypten.mpc.primitives import ArithmeticSharedTensor

    crypten.init()
    receiver = parties - 1
    while len(header := requests.read(HEADER.size)) == HEADER.size:
        (words,) = HEADER.unpack(header)
        own = torch.zeros(words, dtype=torch.int64)
        if rank != receiver:
            own = torch.frombuffer(bytearray(requests.read(WORD_BYTES * words)), dtype=torch.int64)
        # Integers are shared as they are: precision 0 keeps CrypTen's own encoder, whose decoding
        # is wrong for some negative numbers, out of it.
        total = ArithmeticSharedTensor(own, precision=0, src=0)
        for sender in range(1, receiver):
            total += ArithmeticSharedTensor(own, precision=0, src=sender)
        revealed = total.reveal(dst=receiver)
        if rank == receiver:
            replies.write(revealed.numpy().tobytes())
            replies.flush()


if __name__ == "__main__":
    rank, parties, rendezvous = sys.argv[1:]
    serve(
        sys.stdin.buffer,
        sys.stdout.buffer,
        rank=int(rank),
        parties=int(parties),
        rendezvous=rendezvous,
    )
