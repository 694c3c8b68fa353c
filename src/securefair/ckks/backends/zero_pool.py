"""Seeded encryptions of zero on all cores, by child processes.

SEAL holds the interpreter lock: one process encrypts on one core, whatever its threads.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sys
import threading
import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO, cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from securefair.ckks.backends import kernels
from securefair.ckks.backends.seal_bytes import SEED_BYTES, Seeds
from securefair.ckks.backends.seal_context import SealContext, SealObject
from securefair.ckks.backends.seal_keys import (
    export_secret_key,
    seeded_zero,
    symmetric_encryptor,
)
from securefair.ckks.backends.zero_worker import HEADER

if TYPE_CHECKING:
    import subprocess

CHUNK = 1 << 19
"""Residues of encryptions that are handed out at once: about 25 ms of work."""

MIN_SHARED = 2 << 20
"""Residues: for fewer a child process would start for longer than it helps."""

PIPE_BYTES = 1 << 20
"""Room for a few encryptions, so that a child need not wait until one is read."""

KEPT_BYTES = 32 << 20
"""Of free memory, and of the largest array in it, that glibc leaves a child: every encryption needs
the same again, and fresh pages cost an eighth of a child's time. Older versions ignore more."""

Words = NDArray[np.uint32]


class ZeroPool:
    """Makes encryptions of zero under one secret key; each is used once, by the caller.

    Children are started when a request is first large enough, one for each thread that
    `kernels.set_threads` allows, and end with the pool. With a single thread, for small requests,
    and for what a dying child leaves undone, this process does the work.
    """

    def __init__(self, context: SealContext, secret: SealObject) -> None:
        self._context = context
        self._secret = secret
        self._encryptor = symmetric_encryptor(context, secret)
        self._children: list[subprocess.Popen[bytes]] = []
        self._lock = threading.Lock()

    def take(self, limbs: int, count: int) -> tuple[Words, Seeds]:
        """First polynomials (count, limbs, N) and seeds (count, 64) of fresh encryptions."""
        first = np.empty((count, limbs, self._context.params.ring_degree), dtype=np.uint32)
        seeds = np.empty((count, SEED_BYTES), dtype=np.uint8)
        self.fill(first, seeds)
        return first, seeds

    def fill(self, first: Words, seeds: Seeds) -> None:
        """The same, written to where they are wanted; only their rows need be contiguous."""
        count, limbs, n = first.shape
        with self._lock:
            chunks = _Chunks(count, max(1, CHUNK // (limbs * n)))
            helpers = [
                threading.Thread(target=_share, args=(child, limbs, first, seeds, chunks))
                for child in (self._helpers() if first.size >= MIN_SHARED else [])
            ]
            for helper in helpers:
                helper.start()
            for helper in helpers:
                helper.join()
            for chunk in chunks:  # all of them without helpers, else what a dead one gave back
                for index in chunk:
                    first[index], seed = seeded_zero(self._context, self._encryptor, limbs)
                    seeds[index] = np.frombuffer(seed, dtype=np.uint8)

    def _helpers(self) -> list[subprocess.Popen[bytes]]:
        """Living children, started now if there are none yet."""
        wanted = min(kernels.describe().threads, os.cpu_count() or 1)
        if wanted < 2:
            return []
        self._children = [child for child in self._children if child.poll() is None]
        while len(self._children) < wanted:
            child = _start(self._context, self._secret)
            weakref.finalize(self, _stop, child)
            self._children.append(child)
        return self._children[:wanted]


class _Chunks:
    """Ranges of indices, each handed out once; a lost one can be given back."""

    def __init__(self, count: int, size: int) -> None:
        self._left = [range(i, min(i + size, count)) for i in range(0, count, size)]
        self._lock = threading.Lock()

    def __iter__(self) -> Iterator[range]:
        while True:
            with self._lock:
                if not self._left:
                    return
                chunk = self._left.pop()
            yield chunk

    def give_back(self, chunk: range) -> None:
        with self._lock:
            self._left.append(chunk)


def _start(context: SealContext, secret: SealObject) -> subprocess.Popen[bytes]:
    import subprocess  # only students need it

    spec = msgspec.json.encode(context.params.spec)
    key = export_secret_key(context, secret)
    paths = os.pathsep.join(path for path in sys.path if path)
    child = subprocess.Popen(
        [sys.executable, "-P", "-m", "securefair.ckks.backends.zero_worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={
            **os.environ,
            "PYTHONPATH": paths,
            "OMP_NUM_THREADS": "1",
            "MALLOC_MMAP_THRESHOLD_": str(KEPT_BYTES),
            "MALLOC_TRIM_THRESHOLD_": str(KEPT_BYTES),
        },
    )
    requests = cast(BinaryIO, child.stdin)
    fcntl.fcntl(cast(BinaryIO, child.stdout), fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    with contextlib.suppress(OSError):  # a child that died already shows when it is asked
        requests.write(HEADER.pack(len(spec), len(key)) + spec + key)
        requests.flush()
    return child


def _stop(child: subprocess.Popen[bytes]) -> None:
    for pipe in (child.stdin, child.stdout):
        with contextlib.suppress(OSError):  # what is left unwritten to a dead child
            cast(BinaryIO, pipe).close()
    child.terminate()
    child.wait()


def _share(
    child: subprocess.Popen[bytes], limbs: int, first: Words, seeds: Seeds, chunks: _Chunks
) -> None:
    """Let one child work until no chunk is left; reading releases the interpreter lock."""
    requests, replies = cast(BinaryIO, child.stdin), cast(BinaryIO, child.stdout)
    for chunk in chunks:
        try:
            requests.write(HEADER.pack(limbs, len(chunk)))
            requests.flush()
            for index in chunk:
                _read(replies, memoryview(first[index]).cast("B"))
                _read(replies, memoryview(seeds[index]))
        except (OSError, EOFError):
            chunks.give_back(chunk)
            child.kill()
            return


def _read(source: BinaryIO, target: memoryview) -> None:
    done = 0
    while done < len(target):
        size = source.readinto(target[done:])  # type: ignore[attr-defined]  # typeshed omits it
        if not size:
            raise EOFError
        done += size
