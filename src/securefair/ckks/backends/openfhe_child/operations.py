"""Keys, ciphertexts and computations in OpenFHE, asked for by frames.

Ciphertexts that leave carry a keyed hash, whose key never leaves this process: OpenFHE reads only
what this very process wrote, because a damaged ciphertext can abort it.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import os
import struct
from collections.abc import Callable
from enum import IntEnum
from typing import Any

import numpy as np

from .frames import (
    COUNT,
    GENERATE,
    GENERATED,
    HANDLE,
    KEY_ID,
    REAL,
    SIGN,
    Array,
    Decryption,
    Op,
    Parts,
    pack_array,
    unpack_array,
)

ENVELOPE = struct.Struct("<16sBI")
"""Identifier of the keys, `ChildKind`, number of ciphertexts; follows the keyed hash."""
TAG_BYTES = 32

SCALE_BITS, FIRST_BITS = 59, 60
"""The largest that 64-bit words hold, and what OpenFHE's flooded decryption insists on."""
ANSWER_LIMBS = 2
"""A value up to 2^59 still fits; one limb would hold values up to 1 only."""


class ChildKind(IntEnum):
    """What a sealed envelope holds."""

    UPLOAD = 0
    ANSWER = 1


class ChildRefusedError(Exception):
    """The request cannot be granted; the process goes on."""


class ChildKeys:
    """One student's context and keys, at parameters of OpenFHE's own choice for 128 bits."""

    def __init__(self, library: Any, part: bytes) -> None:
        slots, products, relinearize, decryption, noise_bits = GENERATE.unpack(part)
        spec = library.CCParamsCKKSRNS()
        spec.SetSecurityLevel(library.HEStd_128_classic)
        spec.SetScalingTechnique(library.FLEXIBLEAUTO)
        spec.SetKeySwitchTechnique(library.BV)  # no special primes: half the ring of HYBRID
        spec.SetScalingModSize(SCALE_BITS)
        spec.SetFirstModSize(FIRST_BITS)
        spec.SetMultiplicativeDepth(products + ANSWER_LIMBS - 1)
        if decryption != Decryption.DEFAULT:
            spec.SetDecryptionNoiseMode(library.NOISE_FLOODING_DECRYPT)
            spec.SetExecutionMode(library.EXEC_NOISE_ESTIMATION)
        if decryption == Decryption.FLOOD:
            spec.SetExecutionMode(library.EXEC_EVALUATION)
            spec.SetNoiseEstimate(noise_bits)
        smallest = library.GenCryptoContext(spec).GetRingDimension()  # that is secure
        if 2 * slots > smallest:
            spec.SetRingDim(2 * slots)
        spec.SetBatchSize(slots)
        self.context = library.GenCryptoContext(spec)
        for feature in (library.PKE, library.KEYSWITCH, library.LEVELEDSHE, library.ADVANCEDSHE):
            self.context.Enable(feature)
        self.slots, self.decryption = slots, Decryption(decryption)
        self.id = os.urandom(16)
        self.pair = self.context.KeyGen()
        if relinearize:
            self.context.EvalMultKeyGen(self.pair.secretKey)

    def encrypt(self, key: Any, slots: Array) -> list[Any]:
        """Slots (d, N/2) -> d ciphertexts under the secret or the public key."""
        encode = self.context.MakeCKKSPackedPlaintext
        return [self.context.Encrypt(key, encode(row)) for row in slots]

    def decrypt(self, ciphertext: Any) -> Any:
        """A ciphertext -> OpenFHE's plaintext.

        A product that awaits its rescaling would divide the flooding noise away afterwards, so
        flooded decryption rescales first.
        """
        if self.decryption != Decryption.DEFAULT:
            ciphertext = self.context.Compress(ciphertext, ANSWER_LIMBS, 1)
        plaintext = self.context.Decrypt(self.pair.secretKey, ciphertext)
        plaintext.SetLength(self.slots)
        return plaintext


class Child:
    """Keys and ciphertexts by number, and what can be done with them."""

    def __init__(self, library: Any) -> None:
        self._library = library
        self._keys: dict[bytes, ChildKeys] = {}
        self._tensors: dict[int, tuple[ChildKeys, list[Any]]] = {}
        self._next = 1
        self._secret = os.urandom(32)  # of the keyed hash
        self._operations: dict[int, tuple[int, Callable[..., Parts]]] = {
            Op.GENERATE: (1, self._generate),
            Op.ENCRYPT: (2, self._encrypt),
            Op.LOAD: (3, self._load),
            Op.LINEAR: (3, self._linear),
            Op.COMBINE: (3, self._combine),
            Op.MULTIPLY: (2, self._multiply),
            Op.INNER: (2, self._inner),
            Op.OUTER: (2, self._outer),
            Op.RELINEARIZE: (1, self._relinearize),
            Op.ADD_ENCRYPTED: (2, self._add_encrypted),
            Op.EXTRACT: (1, self._extract),
            Op.OPEN: (3, self._open),
            Op.MEASURE: (3, self._measure),
            Op.FORGET: (1, self._forget),
            Op.FORGET_KEYS: (1, self._forget_keys),
        }

    def handle(self, code: int, parts: Parts) -> Parts:
        """One request -> the parts of its reply."""
        if code not in self._operations or len(parts) != self._operations[code][0]:
            raise ChildRefusedError(f"no operation {code} with {len(parts)} parts")
        return self._operations[code][1](*parts)

    def _generate(self, spec: bytes) -> Parts:
        keys = ChildKeys(self._library, spec)
        self._keys[keys.id] = keys
        context = keys.context
        log_q = math.log2(context.GetModulus())
        return [GENERATED.pack(keys.id, context.GetRingDimension(), log_q)]

    def _encrypt(self, key: bytes, slots: bytes) -> Parts:
        keys = self._key(key)
        ciphertexts = keys.encrypt(keys.pair.secretKey, unpack_array(slots))
        return [self._write(keys, ChildKind.UPLOAD, ciphertexts)]

    def _load(self, key: bytes, envelope: bytes, count: bytes) -> Parts:
        keys = self._key(key)
        return self._keep(keys, self._read(keys, ChildKind.UPLOAD, envelope, count))

    def _linear(self, handle: bytes, weights: bytes, bias: bytes) -> Parts:
        keys, inputs = self._tensor(handle)
        rows, constants = unpack_array(weights).tolist(), unpack_array(bias)[0].tolist()
        context = keys.context
        sums = [
            context.EvalAdd(context.EvalLinearWSum(inputs, row), constant)
            for row, constant in zip(rows, constants, strict=True)
        ]
        return self._keep(keys, sums)

    def _combine(self, left: bytes, right: bytes, sign: bytes) -> Parts:
        keys, pairs = self._pairs(left, right)
        combine = keys.context.EvalAdd if SIGN.unpack(sign)[0] > 0 else keys.context.EvalSub
        return self._keep(keys, [combine(x, y) for x, y in pairs])

    def _multiply(self, left: bytes, right: bytes) -> Parts:
        keys, pairs = self._pairs(left, right)
        return self._keep(keys, [keys.context.EvalMultNoRelin(x, y) for x, y in pairs])

    def _inner(self, left: bytes, right: bytes) -> Parts:
        keys, pairs = self._pairs(left, right)
        products = [keys.context.EvalMultNoRelin(x, y) for x, y in pairs]
        return self._keep(keys, [keys.context.EvalAddMany(products)])

    def _outer(self, left: bytes, right: bytes) -> Parts:
        (keys, xs), (_, ys) = self._tensor(left), self._tensor(right)
        return self._keep(keys, [keys.context.EvalMultNoRelin(x, y) for x in xs for y in ys])

    def _relinearize(self, handle: bytes) -> Parts:
        keys, ciphertexts = self._tensor(handle)
        return self._keep(keys, [keys.context.Relinearize(x) for x in ciphertexts])

    def _add_encrypted(self, handle: bytes, slots: bytes) -> Parts:
        keys, ciphertexts = self._tensor(handle)
        fresh = keys.encrypt(keys.pair.publicKey, unpack_array(slots))
        pairs = zip(ciphertexts, fresh, strict=True)
        return self._keep(keys, [keys.context.EvalAdd(x, y) for x, y in pairs])

    def _extract(self, handle: bytes) -> Parts:
        keys, ciphertexts = self._tensor(handle)
        return [self._write(keys, ChildKind.ANSWER, ciphertexts)]

    def _open(self, key: bytes, envelope: bytes, count: bytes) -> Parts:
        keys = self._key(key)
        if keys.decryption == Decryption.MEASURE:
            raise ChildRefusedError("these keys measure noise; they do not decrypt")
        answer = self._read(keys, ChildKind.ANSWER, envelope, count)
        rows = [keys.decrypt(x).GetRealPackedValueArray() for x in answer]
        return [pack_array(np.array(rows).reshape(len(rows), keys.slots))]

    def _measure(self, key: bytes, envelope: bytes, count: bytes) -> Parts:
        keys = self._key(key)
        if keys.decryption != Decryption.MEASURE:
            raise ChildRefusedError("these keys decrypt; they do not measure noise")
        answer = self._read(keys, ChildKind.ANSWER, envelope, count)
        return [REAL.pack(max(keys.decrypt(x).GetLogError() for x in answer))]

    def _forget(self, handles: bytes) -> Parts:
        for (handle,) in HANDLE.iter_unpack(handles):
            self._tensors.pop(handle, None)
        return []

    def _forget_keys(self, ids: bytes) -> Parts:
        for (key,) in KEY_ID.iter_unpack(ids):
            self._keys.pop(key, None)
        if not self._keys:  # OpenFHE keeps relinearisation keys of its own, all or none
            self._library.ClearEvalMultKeys()
        return []

    def _key(self, key: bytes) -> ChildKeys:
        if key not in self._keys:
            raise ChildRefusedError("unknown keys")
        return self._keys[key]

    def _tensor(self, handle: bytes) -> tuple[ChildKeys, list[Any]]:
        (number,) = HANDLE.unpack(handle)
        if number not in self._tensors:
            raise ChildRefusedError("unknown ciphertexts")
        return self._tensors[number]

    def _pairs(self, left: bytes, right: bytes) -> tuple[ChildKeys, list[tuple[Any, Any]]]:
        (keys, xs), (others, ys) = self._tensor(left), self._tensor(right)
        if keys is not others or len(xs) != len(ys):
            raise ChildRefusedError("operands differ in keys or count")
        return keys, list(zip(xs, ys, strict=True))

    def _keep(self, keys: ChildKeys, ciphertexts: list[Any]) -> Parts:
        number, self._next = self._next, self._next + 1
        self._tensors[number] = keys, ciphertexts
        return [HANDLE.pack(number)]

    def _write(self, keys: ChildKeys, kind: ChildKind, ciphertexts: list[Any]) -> bytes:
        """Keyed hash, header, and the ciphertexts as OpenFHE serialises them, in equal lengths."""
        library = self._library
        bodies = [library.Serialize(x, library.BINARY) for x in ciphertexts]
        if len({len(body) for body in bodies}) != 1:
            raise ChildRefusedError("ciphertexts of one tensor differ in length")
        data = ENVELOPE.pack(keys.id, kind, len(bodies)) + b"".join(bodies)
        return self._tag(data) + data

    def _read(self, keys: ChildKeys, kind: ChildKind, envelope: bytes, count: bytes) -> list[Any]:
        tag, data = envelope[:TAG_BYTES], envelope[TAG_BYTES:]
        if not hmac.compare_digest(tag, self._tag(data)):
            raise ChildRefusedError("the ciphertexts were damaged, or made by another process")
        expected = (keys.id, kind, *COUNT.unpack(count))
        if ENVELOPE.unpack_from(data) != expected:
            raise ChildRefusedError("ciphertexts of other keys, another kind or another count")
        body, library = data[ENVELOPE.size :], self._library
        size = len(body) // expected[2]
        parts = [body[i : i + size] for i in range(0, len(body), size)]
        return [library.DeserializeCiphertextString(part, library.BINARY) for part in parts]

    def _tag(self, data: bytes) -> bytes:
        return hashlib.blake2b(data, key=self._secret, digest_size=TAG_BYTES).digest()
