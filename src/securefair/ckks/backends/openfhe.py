"""The openfhe backend: the same circuits in another library, at its own parameters.

An independent check of circuits and error bounds, not a way to deploy them. OpenFHE picks ring and
primes for 128 bits, 59-bit scales and levels of its own, so that an error in our planning,
residue arithmetic or use of SEAL cannot repeat here. One child process (`openfhe_child`) holds the
keys of every student and every ciphertext. So

- public keys are names of keys in that process, and uploads and answers can be read there only;
- an answer is the whole ciphertext: OpenFHE lets no coefficient out alone. The chosen coefficients
  are taken from the decrypted message, and nothing is hidden from the holder of the keys;
- sanitising re-encrypts and adds noise of the planned size, in value units, so that errors are as
  large as planned. A third polynomial gets no mask: the teacher's weights are not protected;
- `rescale` does nothing. OpenFHE rescales by itself after each product;
- pairs are two ciphertexts each: the layout is none of OpenFHE's, and nothing is conjugated.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from securefair.ckks.backends.openfhe_child.frames import (
    COUNT,
    GENERATE,
    GENERATED,
    HANDLE,
    KEY_ID,
    REAL,
    SIGN,
    Decryption,
    Op,
    Parts,
    pack_array,
    unpack_array,
)
from securefair.ckks.backends.openfhe_process import ChildProcess, child_under, find_interpreter
from securefair.ckks.encoding import to_coefficients, to_slots
from securefair.ckks.evaluator import Evaluator, Released
from securefair.ckks.keys import Backend, PublicKeys, StudentKeys
from securefair.ckks.layers import AffineLayer, Layer, pair_weights
from securefair.ckks.parameters import CkksParameters
from securefair.ckks.specs import AffineSpec, FactorSpec, PolynomialSpec
from securefair.ckks.tensor import CipherMeta, CipherTensor
from securefair.errors import ConfigError, EncryptionError

PRODUCTS = 5
"""Linear, square, linear and a product take four; six levels still fit N = 16384."""


class KeyRing:
    """One student's keys in the child process, dropped there with this object.

    Attributes:
        ring_degree: N of OpenFHE's own choice.
        log_q: log2 of its whole modulus; keys are switched without special primes.
    """

    def __init__(
        self,
        child: ChildProcess,
        params: CkksParameters,
        *,
        products: int,
        relinearization: bool,
        decryption: Decryption,
        noise_bits: float,
    ) -> None:
        spec = GENERATE.pack(params.slots, products, relinearization, decryption, noise_bits)
        self._child = child
        self.params = params
        self._generation, (reply,) = child.start(Op.GENERATE, spec)
        self.id, self.ring_degree, self.log_q = GENERATED.unpack(reply)
        forget = child.forget_later
        weakref.finalize(self, forget, self._generation, Op.FORGET_KEYS, KEY_ID.pack(self.id))

    def call(self, op: Op, *parts: bytes) -> Parts:
        """Ask the process that holds the keys."""
        return self._child.call(self._generation, op, *parts)

    def tensor(self, op: Op, *parts: bytes) -> Ciphertexts:
        """Ask for something whose result stays in the process."""
        (handle,) = self.call(op, *parts)
        return Ciphertexts(self, handle)

    def forget_later(self, handle: bytes) -> None:
        """Drop ciphertexts before the next request."""
        self._child.forget_later(self._generation, Op.FORGET, handle)


class Ciphertexts:
    """Ciphertexts in the child process, dropped there with this object."""

    def __init__(self, keys: KeyRing, handle: bytes) -> None:
        HANDLE.unpack(handle)
        self.keys, self.handle = keys, handle
        weakref.finalize(self, keys.forget_later, handle)


OpenfheTensor = CipherTensor[Ciphertexts]
Integers = NDArray[np.int64]

_rings: weakref.WeakValueDictionary[bytes, KeyRing] = weakref.WeakValueDictionary()


class OpenfheEvaluator(Evaluator[Ciphertexts]):
    """Asks the child process, operation by operation."""

    def __init__(self, keys: KeyRing, *, relinearizes: bool) -> None:
        super().__init__(keys.params)
        self.keys = keys
        self._relinearizes = relinearizes

    def load(self, data: bytes | memoryview, meta: CipherMeta) -> OpenfheTensor:
        """Ciphertexts as the same process wrote them; anything else is refused unread."""
        count = COUNT.pack(meta.count * (2 if meta.paired else 1))
        return CipherTensor(meta, self.keys.tensor(Op.LOAD, self.keys.id, bytes(data), count))

    def _linear(
        self, x: OpenfheTensor, spec: AffineSpec, layer: Layer | None, meta: CipherMeta
    ) -> Ciphertexts:
        del meta
        if layer is None:
            raise EncryptionError("only planning works without weights")
        weights = pack_array(layer.dense() / 2.0**spec.log2_scale)
        return self._ask(Op.LINEAR, x, weights, pack_array(layer.bias[None]))

    def _paired_linear(
        self, x: OpenfheTensor, spec: AffineSpec, layer: AffineLayer | None, meta: CipherMeta
    ) -> Ciphertexts:
        del meta
        if layer is None:
            raise EncryptionError("only planning works without weights")
        weights = np.concatenate(np.split(pair_weights(layer), 2), axis=1)
        values = pack_array(weights / 2.0**spec.log2_scale)
        return self._ask(Op.LINEAR, x, values, pack_array(layer.bias[None]))

    def _real_part(self, x: OpenfheTensor) -> Ciphertexts:
        return x.payload  # there was nothing else

    def _gather(self, blocks: Sequence[OpenfheTensor], rows: NDArray[np.int64]) -> Ciphertexts:
        del blocks, rows
        raise EncryptionError(
            "the openfhe backend evaluates layers as a whole",
            hint='Use the backend "rns" or "seal"',
        )

    def _combine(self, x: OpenfheTensor, y: OpenfheTensor, sign: int) -> Ciphertexts:
        return self._ask(Op.COMBINE, x, y.payload.handle, SIGN.pack(sign))

    def _square(self, x: OpenfheTensor) -> Ciphertexts:
        return self._multiply(x, x)

    def _square_sums(self, x: OpenfheTensor, groups: NDArray[np.int64]) -> Ciphertexts:
        del x, groups
        raise EncryptionError(
            "the openfhe backend evaluates layers as a whole",
            hint='Use the backend "rns" or "seal"',
        )

    def _multiply(self, x: OpenfheTensor, y: OpenfheTensor) -> Ciphertexts:
        return self._ask(Op.MULTIPLY, x, y.payload.handle)

    def _inner(self, x: OpenfheTensor, y: OpenfheTensor) -> Ciphertexts:
        return self._ask(Op.INNER, x, y.payload.handle)

    def _outer(self, x: OpenfheTensor, y: OpenfheTensor) -> Ciphertexts:
        return self._ask(Op.OUTER, x, y.payload.handle)

    def _interleaved_linear(
        self, x: OpenfheTensor, spec: AffineSpec, layer: AffineLayer | None, meta: CipherMeta
    ) -> Ciphertexts:
        del x, spec, layer, meta
        raise EncryptionError(
            "the openfhe backend packs in slots only", hint='Use the backend "rns" or "seal"'
        )

    def _inner_plain(
        self, x: OpenfheTensor, spec: PolynomialSpec, polynomials: NDArray[np.int64] | None
    ) -> Ciphertexts:
        del x, spec, polynomials
        raise EncryptionError(
            "the openfhe backend packs in slots only", hint='Use the backend "rns" or "seal"'
        )

    def _outer_plain(
        self, x: OpenfheTensor, spec: FactorSpec, polynomials: NDArray[np.int64] | None
    ) -> Ciphertexts:
        del x, spec, polynomials
        raise EncryptionError(
            "the openfhe backend packs in slots only", hint='Use the backend "rns" or "seal"'
        )

    def _relinearize(self, x: OpenfheTensor) -> Ciphertexts:
        if not self._relinearizes:
            raise EncryptionError("the peer sent no relinearisation key")
        return self._ask(Op.RELINEARIZE, x)

    def _rescale(self, x: OpenfheTensor, limbs: int) -> Ciphertexts:
        del limbs
        return x.payload

    def _sanitize(self, x: OpenfheTensor, log2_amplitude: int) -> Ciphertexts:
        amplitude = 2.0 ** (log2_amplitude - x.meta.log2_scale)
        noise = amplitude * _uniform((x.meta.count, self.params.ring_degree))
        return self._ask(Op.ADD_ENCRYPTED, x, pack_array(to_slots(noise)))

    def _extract(self, x: OpenfheTensor, coefficients: NDArray[np.int64] | None) -> bytes:
        del coefficients
        (data,) = self.keys.call(Op.EXTRACT, x.payload.handle)
        return data

    def _ask(self, op: Op, x: OpenfheTensor, *parts: bytes) -> Ciphertexts:
        return self.keys.tensor(op, x.payload.handle, *parts)


class OpenfheEncryptor:
    """Symmetric encryption in the child process."""

    def __init__(self, keys: KeyRing) -> None:
        self._keys = keys

    def encrypt(self, values: NDArray[np.float64], meta: CipherMeta) -> bytes:
        """Real slots (d, n <= N/2), the rest zero -> upload; of pairs all first ones first."""
        if meta.packing == "coefficients":
            raise EncryptionError(
                "the openfhe backend packs in slots only", hint='Use the backend "rns" or "seal"'
            )
        padded = np.zeros((meta.count, meta.width))
        padded[:, : values.shape[1]] = values
        if meta.paired:
            padded = np.concatenate(np.split(padded, 2, axis=1))
        (data,) = self._keys.call(Op.ENCRYPT, self._keys.id, pack_array(padded))
        return data


class OpenfheDecryptor:
    """Decryption in the child process."""

    exact = False

    def __init__(self, keys: KeyRing) -> None:
        self._keys = keys

    def open(self, released: Released) -> NDArray[np.float64]:
        """Released coefficients (d, q), or all slots (d, N/2), of the decrypted message."""
        (reply,) = self._ask(Op.OPEN, released)
        slots = unpack_array(reply)
        if released.coefficients is None:
            return slots
        return to_coefficients(slots, self._keys.params.ring_degree)[:, released.coefficients]

    def noise_bits(self, released: Released) -> float:
        """log2 of the deviation of an answer's noise, for `OpenfheBackend(noise_bits=...)`.

        Raises:
            EncryptionError: the keys are not of `OpenfheBackend(measure_noise=True)`.
        """
        (reply,) = self._ask(Op.MEASURE, released)
        (bits,) = REAL.unpack(reply)
        return float(bits)

    def _ask(self, op: Op, released: Released) -> Parts:
        count = COUNT.pack(released.meta.count)
        return self._keys.call(op, self._keys.id, released.data, count)


class OpenfheBackend(Backend):
    """OpenFHE in a child process.

    OpenFHE's NOISE_FLOODING_DECRYPT hides what decryption errors tell of the secret key (Li and
    Micciancio 2021) and takes two runs of the same circuit, each with keys of its own:

        measured = decryptor.noise_bits(released)   # keys of OpenfheBackend(measure_noise=True)
        OpenfheBackend(noise_bits=measured)         # decrypts with flooding for that noise

    Args:
        products: successive products that its ciphertexts can bear, layers included.
        measure_noise: only measure the noise of a circuit; nothing opens.
        noise_bits: flood every decryption, 2^15 above noise of this log2 deviation (30 bits of
            statistical security against one decryption, OpenFHE's default).

    Raises:
        BackendUnavailableError: no interpreter can import openfhe.
    """

    name = "openfhe"
    planned_bytes = False
    packs_coefficients = False
    portable = False

    def __init__(
        self,
        *,
        products: int = PRODUCTS,
        measure_noise: bool = False,
        noise_bits: float | None = None,
    ) -> None:
        if measure_noise and noise_bits is not None:
            raise ConfigError("noise_bits is what measure_noise finds out: give one of them")
        if noise_bits is not None and not noise_bits > 0:
            raise ConfigError(
                "out of range", where="noise_bits", found=noise_bits, expected="above 0"
            )
        self._products = products
        self._decryption, self._noise_bits = Decryption.DEFAULT, 0.0
        if measure_noise:
            self._decryption = Decryption.MEASURE
        elif noise_bits is not None:
            self._decryption, self._noise_bits = Decryption.FLOOD, noise_bits
        self._child = child_under(find_interpreter())

    def generate_keys(
        self, params: CkksParameters, *, relinearization: int = 0, galois: int = 0, element: int = 0
    ) -> StudentKeys:
        """Keys of OpenFHE, which stay in its process; only slots of `params` carry over."""
        del galois, element
        keys = KeyRing(
            self._child,
            params,
            products=self._products,
            relinearization=bool(relinearization),
            decryption=self._decryption,
            noise_bits=self._noise_bits,
        )
        _rings[keys.id] = keys
        public = PublicKeys(keys.id, keys.id if relinearization else b"")
        return StudentKeys(public, OpenfheEncryptor(keys), OpenfheDecryptor(keys))

    def evaluator(self, params: CkksParameters, public: PublicKeys) -> OpenfheEvaluator:
        """An evaluator under keys that this Python process generated and still holds."""
        keys = _rings.get(public.encryption)
        fitting = keys is not None and keys.params == params
        if keys is None or not fitting or public.relinearization not in (b"", keys.id):
            raise EncryptionError(
                "no keys of that name and these parameters are held here",
                hint="Keys of the openfhe backend work in the process that made them only",
            )
        return OpenfheEvaluator(keys, relinearizes=bool(public.relinearization))


def _uniform(shape: tuple[int, int]) -> NDArray[np.float64]:
    """Uniform in [-1, 1), from the operating system."""
    words = np.frombuffer(os.urandom(8 * shape[0] * shape[1]), dtype=np.int64)
    return (words / 2.0**63).reshape(shape)
