"""One SEAL context per parameter set, and residues in and out of it."""

from __future__ import annotations

import struct
import threading
import weakref
from functools import lru_cache
from typing import Any, TypeAlias

import _sealapi_cpp as seal  # of tenseal, whose own door loads a second library and sockets
import numpy as np

from securefair.ckks.backends.seal_bytes import (
    Residues,
    Written,
    own_pipe,
    read_ciphertext,
    write_ciphertext,
)
from securefair.ckks.parameters import CkksParameters
from securefair.errors import EncryptionError, PlanError

SealObject: TypeAlias = Any
"""An object of SEAL's untyped Python surface."""


SEAL_REFUSALS = (RuntimeError, ValueError, IndexError)
"""What SEAL's Python surface raises about objects that do not fit."""


ROWS_AT_ONCE = 2
"""Polynomials that are transformed together: no ciphertext has more than three."""


class SealLoader:
    """A context of SEAL's.

    Attributes:
        seal: SEAL's object.

    Raises:
        PlanError: SEAL refuses the parameters.
    """

    def __init__(self, context: SealObject) -> None:
        if not context.parameters_set():
            raise PlanError(
                "SEAL refuses these parameters", found=context.parameters_error_message()
            )
        self.seal = context

    def load(self, target: SealObject, written: Written) -> None:
        """Have SEAL read an object: nowhere else does it read bytes.

        Raises:
            EncryptionError: SEAL refuses it.
            TypeError: a bug, bytes that `seal_bytes` did not write.
        """
        if type(written) is not Written:
            raise TypeError("SEAL must not load bytes that others wrote")
        try:
            with own_pipe().offered(written) as path:
                target.load(self.seal, path)
        except SEAL_REFUSALS as error:
            raise EncryptionError("SEAL refuses an object", found=str(error)) from error


class SealContext(SealLoader):
    """SEAL's view of the parameters: its chain of levels and its evaluator."""

    def __init__(self, params: CkksParameters) -> None:
        literal = seal.EncryptionParameters(seal.SCHEME_TYPE.CKKS)
        literal.set_poly_modulus_degree(params.ring_degree)
        literal.set_coeff_modulus([seal.Modulus(p) for p in (*params.primes, params.special_prime)])
        super().__init__(seal.SEALContext(literal, True, seal.SEC_LEVEL_TYPE.TC128))
        self.params = params
        self.evaluator = seal.Evaluator(self.seal)
        self._words: dict[int, list[int]] = {}
        level = self.seal.first_context_data()
        while level is not None:
            self._words[len(level.parms().coeff_modulus())] = level.parms_id()
            level = level.next_context_data()

    def parms_words(self, limbs: int) -> list[int]:
        """SEAL's identifier of the data level with that many limbs, as four words."""
        return self._words[limbs]

    @property
    def key_level(self) -> bytes:
        """SEAL's identifier of the level of keys, whose primes are all primes."""
        return struct.pack("<4Q", *self.seal.key_parms_id())

    @property
    def key_primes(self) -> tuple[int, ...]:
        """The primes of keys: those of the data and the special one."""
        return (*self.params.primes, self.params.special_prime)

    def ciphertext(self, residues: Residues, *, ntt: bool = True, seed: bytes = b"") -> SealObject:
        """A SEAL ciphertext of residues (polys, limbs, N), which SEAL validates once more.

        Raises:
            EncryptionError: a residue is not below its prime, or the shape fits no level.
        """
        words = self._words.get(residues.shape[1])
        if words is None:
            raise EncryptionError("no level has that many limbs", found=residues.shape[1])
        level, primes = struct.pack("<4Q", *words), self.params.primes[: residues.shape[1]]
        ciphertext = seal.Ciphertext()
        self.load(ciphertext, write_ciphertext(residues, level, primes, ntt=ntt, seed=seed))
        return ciphertext

    def residues(self, ciphertext: SealObject) -> Residues:
        """Residues (polys, limbs, N) of a SEAL ciphertext."""
        return read_ciphertext(own_pipe().body(ciphertext))[0]

    def to_ntt(self, residues: Residues) -> Residues:
        """Coefficient residues (rows, limbs, N) -> NTT residues, by SEAL."""
        return self._transform(residues, forward=True)

    def from_ntt(self, residues: Residues) -> Residues:
        """NTT residues (rows, limbs, N) -> coefficient residues, by SEAL."""
        return self._transform(residues, forward=False)

    def _transform(self, residues: Residues, *, forward: bool) -> Residues:
        # SEAL refuses ciphertexts whose masks are all zero, so each ends with the polynomial 1.
        one = np.zeros(residues.shape[1:], dtype=residues.dtype)
        one[:, 0 if forward else slice(None)] = 1
        done = []
        for start in range(0, len(residues), ROWS_AT_ONCE):
            part = residues[start : start + ROWS_AT_ONCE]
            rows = self.ciphertext(np.concatenate([part, one[None]]), ntt=not forward)
            if forward:
                self.evaluator.transform_to_ntt_inplace(rows)
            else:
                self.evaluator.transform_from_ntt_inplace(rows)
            done.append(self.residues(rows)[:-1])
        return np.concatenate(done)


KEPT_CONTEXTS = 2
"""That stay when nobody uses them: one of ciphertexts, and one of shorter keys. A context of
N = 32768 takes tens of megabytes, and a student chooses its parameters where nothing was agreed."""


@lru_cache(maxsize=KEPT_CONTEXTS)
def seal_context(params: CkksParameters) -> SealContext:
    """The context of a parameter set, one as long as somebody uses it.

    Building one takes tens of milliseconds.
    """
    with _BUILDING:
        context = _IN_USE.get(params)
        if context is None:
            context = _IN_USE[params] = SealContext(params)
        return context


_IN_USE: weakref.WeakValueDictionary[CkksParameters, SealContext] = weakref.WeakValueDictionary()
_BUILDING = threading.Lock()
