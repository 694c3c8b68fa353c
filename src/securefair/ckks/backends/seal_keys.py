"""A student's keys in SEAL: key generation, seeded encryption, decryption of answers.

Only SEAL samples, and only SEAL multiplies with the secret key. `rns` and `seal` share this.
"""

from __future__ import annotations

from dataclasses import dataclass

import _sealapi_cpp as seal
import numpy as np
from numpy.typing import NDArray

from securefair.ckks.backends import kernels, wire
from securefair.ckks.backends.seal_bytes import (
    Residues,
    own_pipe,
    read_ciphertext,
    read_plaintext,
    read_seeded_key,
    write_plaintext,
    write_seeded_key,
)
from securefair.ckks.backends.seal_context import (
    SEAL_REFUSALS,
    SealContext,
    SealObject,
    seal_context,
)
from securefair.ckks.encoding import coefficient_residues, to_slots
from securefair.ckks.evaluator import Released
from securefair.ckks.keys import PublicKeys
from securefair.ckks.tensor import CipherMeta
from securefair.errors import EncryptionError


def generate(
    context: SealContext, *, relinearization: int = 0, galois: int = 0, element: int = 0
) -> tuple[SealObject, PublicKeys]:
    """A fresh secret key from SEAL's generator, which the operating system seeds, and its public
    keys.

    The public key (b, a) is a seeded encryption of zero at the key level: half the bytes of the
    one that SEAL's Python surface would save, and its a is expanded by whoever receives it.

    Args:
        context: context of the ciphertexts.
        relinearization, galois, element: see `Backend.generate_keys`.
    """
    generator = seal.KeyGenerator(context.seal)
    secret = generator.secret_key()
    zero = seal.Encryptor(context.seal, secret).encrypt_zero_symmetric(context.seal.key_parms_id())
    first, seed = read_ciphertext(own_pipe().body(zero))
    makers = {
        limbs: _short_generator(context, secret, limbs) for limbs in {relinearization, galois} - {0}
    }
    public = PublicKeys(
        encryption=wire.write_public_key(first[0].astype(np.uint32), seed),
        relinearization=_switching_key(context, makers, relinearization, 0),
        galois=_switching_key(context, makers, galois, element or conjugation(context)),
    )
    return secret, public


def _short_generator(context: SealContext, secret: SealObject, limbs: int) -> SealObject:
    """SEAL's generator of keys for ciphertexts of at most `limbs` limbs: under the parameters that
    such ciphertexts have, with the residues of the secret under these primes."""
    short = shortened(context, limbs)
    if short is not context:
        residues = read_plaintext(own_pipe().body(secret), context.params.ring_degree)
        kept = np.concatenate([residues[:limbs], residues[-1:]])
        secret = seal.SecretKey()
        short.load(secret, write_plaintext(kept, short.key_level, short.key_primes))
    return seal.KeyGenerator(short.seal, secret)


def _switching_key(
    context: SealContext, makers: dict[int, SealObject], limbs: int, element: int
) -> bytes:
    """A key for ciphertexts of at most `limbs` limbs, as it travels; of a Galois element, or of
    products for the element 0."""
    if not limbs:
        return b""
    short, generator = shortened(context, limbs), makers[limbs]
    made = generator.create_galois_keys([element]) if element else generator.create_relin_keys()
    shape = (limbs, limbs + 1, context.params.ring_degree)
    first, seeds = read_seeded_key(
        own_pipe().body(made), short.key_level, short.key_primes, shape, place=_place(element)
    )
    packed = kernels.pack(first.astype(np.uint32), short.key_primes)
    return wire.join_upload(packed, seeds)


def shortened(context: SealContext, limbs: int) -> SealContext:
    """The context of ciphertexts of at most that many limbs: that of their keys."""
    params = context.params
    return context if limbs == params.limbs else seal_context(params.prefix(limbs))


def conjugation(context: SealContext) -> int:
    """The Galois element of conjugation: X -> X^(2N - 1) = 1/X."""
    return 2 * context.params.ring_degree - 1


def symmetric_encryptor(context: SealContext, secret: SealObject) -> SealObject:
    """SEAL's encryptor under the student's own secret key."""
    return seal.Encryptor(context.seal, secret)


def seeded_zero(context: SealContext, encryptor: SealObject, limbs: int) -> tuple[Residues, bytes]:
    """First polynomial (limbs, N) and seed of a fresh symmetric encryption of zero."""
    zero = encryptor.encrypt_zero_symmetric(context.parms_words(limbs))
    residues, seed = read_ciphertext(own_pipe().body(zero))
    first: Residues = residues[0]
    return first, seed


def decrypt_residues(context: SealContext, secret: SealObject, residues: Residues) -> Residues:
    """Ciphertexts (count, polys, limbs, N) -> message residues (count, limbs, N), NTT form."""
    decryptor = seal.Decryptor(context.seal, secret)
    messages = []
    for row in residues:
        plaintext, ciphertext = seal.Plaintext(), context.ciphertext(row)
        try:
            decryptor.decrypt(ciphertext, plaintext)
        except SEAL_REFUSALS as error:
            raise EncryptionError("SEAL refuses to decrypt", found=str(error)) from error
        body = own_pipe().body(plaintext)
        messages.append(read_plaintext(body, context.params.ring_degree))
    return np.stack(messages)


class SealEncryptor:
    """Symmetric, seeded encryption: SEAL encodes, samples and encrypts."""

    def __init__(self, context: SealContext, secret: SealObject) -> None:
        self._context = context
        self._encryptor = symmetric_encryptor(context, secret)
        self._encoder = seal.CKKSEncoder(context.seal)

    def encrypt(self, values: NDArray[np.float64], meta: CipherMeta) -> bytes:
        """Real values (d, n <= width) -> upload.

        Raises:
            EncryptionError: a ciphertext does not hold so many values.
        """
        check_width(values, meta)
        if meta.packing == "coefficients":
            return self._encrypt_coefficients(values, meta)
        level = self._context.parms_words(meta.limbs)
        first, seeds = [], []
        for row in _complex(values, meta) if meta.paired else values:
            plaintext = seal.Plaintext()
            self._encoder.encode(row.tolist(), level, 2.0**meta.log2_scale, plaintext)
            ciphertext = self._encryptor.encrypt_symmetric(plaintext)
            residues, seed = read_ciphertext(own_pipe().body(ciphertext))
            first.append(residues[0].astype(np.uint32))
            seeds.append(seed)
        return wire.write_upload(np.stack(first), seeds, meta.params.primes[: meta.limbs])

    def _encrypt_coefficients(self, values: NDArray[np.float64], meta: CipherMeta) -> bytes:
        """SEAL encrypts zero; the message, no secret but the student's own, is added to it."""
        primes = meta.params.primes[: meta.limbs]
        residues = coefficient_residues(values, meta.log2_scale, meta.width, primes)
        message = self._context.to_ntt(residues.astype(np.uint64))
        moduli = np.array(primes, dtype=np.uint64)[:, None]
        first, seeds = [], []
        for row in message:
            zero, seed = seeded_zero(self._context, self._encryptor, meta.limbs)
            first.append(((zero + row) % moduli).astype(np.uint32))
            seeds.append(seed)
        return wire.write_upload(np.stack(first), seeds, primes)


def check_width(values: NDArray[np.float64], meta: CipherMeta) -> None:
    """Refuse more values (d, n) than a ciphertext holds as it is packed."""
    if values.shape[1] > meta.width:
        raise EncryptionError(
            "too many values for a ciphertext",
            where="values",
            found=values.shape[1],
            expected=f"at most {meta.width} packed in {meta.packing}",
        )


def _complex(values: NDArray[np.float64], meta: CipherMeta) -> NDArray[np.complex128]:
    """Pairs (d, n <= N) -> slots (d, N/2): J is +i and -i alternately along them."""
    padded = np.zeros((len(values), meta.width))
    padded[:, : values.shape[1]] = values
    first, second = np.split(padded, 2, axis=1)
    slots: NDArray[np.complex128] = first + 1j * second * (-1.0) ** np.arange(meta.params.slots)
    return slots


class SealDecryptor:
    """Opens answers; what it returns must not be sent anywhere unrounded (IND-CPA-D)."""

    exact = False

    def __init__(self, context: SealContext, secret: SealObject) -> None:
        self._context = context
        self._secret = secret

    def open(self, released: Released) -> NDArray[np.float64]:
        """Released coefficients (d, q), or all slots (d, N/2)."""
        meta, chosen = released.meta, released.coefficients
        if chosen is None:
            whole = wire.read_whole(released.data, meta)
            return to_slots(self._values(self._decrypt(whole, meta), meta))
        masks, values = wire.read_answer(released.data, meta, len(chosen))
        # By linearity: decrypt with c0 = 0, then add the released coefficients of c0.
        blank = np.zeros_like(masks[:, :1])
        shares = self._decrypt(np.concatenate([blank, masks], axis=1), meta)[:, :, chosen]
        return self._values(shares + values.swapaxes(1, 2), meta)

    def _decrypt(self, residues: NDArray[np.uint32], meta: CipherMeta) -> Residues:
        """Ciphertexts (d, polys, limbs, N) -> message residues (d, limbs, N), coefficients."""
        del meta
        plain = decrypt_residues(self._context, self._secret, residues.astype(np.uint64))
        return self._context.from_ntt(plain)

    def _values(self, residues: Residues, meta: CipherMeta) -> NDArray[np.float64]:
        return centred(residues, meta) * float(2.0**-meta.log2_scale)


def centred(residues: Residues, meta: CipherMeta) -> NDArray[np.float64]:
    """Residues (..., limbs, n) -> signed integers (..., n) in (-Q/2, Q/2], relatively to 2^-50.

    By Garner's algorithm with centred digits e_k: value = e_0 + p_0 (e_1 + p_1 (e_2 + ..)). The
    digits above a small value are zero, and none cancels another: so the float sum is accurate.
    """
    primes = meta.params.primes[: meta.limbs]
    digits: list[NDArray[np.int64]] = []
    for k, prime in enumerate(primes):
        row = residues[..., k, :].astype(np.int64) % prime
        for digit, lower in zip(digits, primes, strict=False):
            # Below 1.5 * 2^31 times 2^31: a product fits 64-bit words.
            row = (row - digit) * pow(lower, -1, prime) % prime
        digits.append(np.where(row > prime // 2, row - prime, row))
    value = digits[-1].astype(np.float64)
    for digit, prime in zip(digits[-2::-1], primes[-2::-1], strict=True):
        value = value * prime + digit
    return value


@dataclass(frozen=True)
class LoadedKey:
    """A peer's switching key in SEAL.

    Attributes:
        context: in which it switches; ciphertexts have no more limbs than that.
        key: SEAL's object.
    """

    context: SealContext
    key: SealObject


def load_relinearization_key(context: SealContext, data: bytes) -> LoadedKey | None:
    """A peer's relinearisation key, or None where the plan lists none.

    Raises:
        EncryptionError: not a key of these parameters, or a residue is not below its prime.
    """
    return _loaded(context, data, seal.RelinKeys(), 0)


def load_galois_key(context: SealContext, data: bytes, element: int) -> LoadedKey | None:
    """A peer's Galois key for X -> X^element, or None where the plan lists none; otherwise as
    `load_relinearization_key`."""
    return _loaded(context, data, seal.GaloisKeys(), element)


def _place(element: int) -> int:
    """Where SEAL keeps the key of a Galois element; its one relinearisation key is at 0."""
    return max(0, (element - 1) // 2)


def _loaded(context: SealContext, data: bytes, key: SealObject, element: int) -> LoadedKey | None:
    if not data:
        return None
    first, seeds = wire.read_switching_key(data, context.params)
    short = shortened(context, len(first))
    level, primes = short.key_level, short.key_primes
    body = write_seeded_key(first.astype(np.uint64), seeds, level, primes, place=_place(element))
    short.load(key, body)
    return LoadedKey(short, key)


def export_secret_key(context: SealContext, secret: SealObject) -> bytes:
    """A secret key as its residues (limbs with the special prime, N), for whoever keeps it safe."""
    return read_plaintext(own_pipe().body(secret), context.params.ring_degree).tobytes()


def import_secret_key(context: SealContext, data: bytes) -> SealObject:
    """The inverse of `export_secret_key`.

    Raises:
        EncryptionError: the bytes are of other parameters.
    """
    limbs, n = len(context.key_primes), context.params.ring_degree
    wire.check_length("a secret key", data, 8 * limbs * n)
    residues = np.frombuffer(data, dtype="<u8").reshape(limbs, n)
    secret = seal.SecretKey()
    context.load(secret, write_plaintext(residues, context.key_level, context.key_primes))
    return secret
