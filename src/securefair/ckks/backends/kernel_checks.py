"""What residue kernels refuse: shapes, types, devices and indices that do not fit."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from securefair.ckks.backends.basis import Basis
from securefair.ckks.backends.packing import packed_bytes
from securefair.ckks.backends.residues import Residues, device_of
from securefair.errors import EncryptionError

SEED_BYTES = 64
"""Length of the seed of a ciphertext's second polynomial."""

MAX_WEIGHT = (1 << 15) - 1
"""Largest absolute weight of `linear`: it must fit one signed 16-bit digit."""


Patch = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]
"""Weights, reads and writes of `linear_patches`."""


def check(name: str, x: Residues, shape: tuple[object, ...], dtype: str = "int32") -> None:
    """Refuse another type or shape; None stands for any size, a leading ... for any sizes."""
    if shape[0] is ...:
        fits = x.ndim >= len(shape) - 1 and tuple(x.shape[1 - len(shape) :]) == shape[1:]
    else:
        fits = x.ndim == len(shape) and all(
            want is None or have == want for have, want in zip(x.shape, shape, strict=True)
        )
    whole = x.flags.c_contiguous if isinstance(x, np.ndarray) else x.is_contiguous()
    kind = _name_of(x.dtype)
    if fits and kind == dtype and whole:
        return
    wanted = ", ".join("..." if s is ... else "any" if s is None else str(s) for s in shape)
    raise EncryptionError(
        "a residue array does not fit",
        where=name,
        found=f"{kind} {tuple(x.shape)}{'' if whole else ', not contiguous'}",
        expected=f"contiguous {dtype} ({wanted})",
    )


@cache
def _name_of(dtype: Any) -> str:
    """As arrays and tensors name it alike. numpy makes the name anew at every call."""
    return str(dtype).removeprefix("torch.")


def check_patches(
    blocks: Sequence[Residues],
    polys: int | None,
    rows: NDArray[np.int64],
    patches: Sequence[Patch],
    basis: Basis,
    bias: Residues,
) -> None:
    """Refuse patches that read or write what is not there, or write an output not once."""
    polys = polys or blocks[0].shape[1]
    for block in blocks:
        check("blocks", block, (None, polys, len(basis), basis.ring_degree))
        check_device("blocks", block, blocks[0])
    check("bias", bias, (None, len(basis)))
    check_device("bias", bias, blocks[0])
    counts = np.array([len(block) for block in blocks])
    check_indices("rows", rows[:, 0], len(blocks))
    if bool(((rows[:, 1] < 0) | (rows[:, 1] >= counts[rows[:, 0]])).any()):
        raise EncryptionError("an index is out of range", where="rows")
    written = np.zeros(len(bias), dtype=np.int64)
    for weights, reads, writes in patches:
        places, (outputs, inputs) = len(reads), weights.shape
        if reads.shape != (places, inputs) or writes.shape != (places, outputs):
            raise EncryptionError(
                "places do not fit the weights",
                where="patches",
                found=f"{tuple(reads.shape)} and {tuple(writes.shape)}",
                expected=f"({places}, {inputs}) and ({places}, {outputs})",
            )
        check_weights(weights)
        check_indices("reads", reads, len(rows))
        check_indices("writes", writes, len(bias))
        written += np.bincount(writes.ravel(), minlength=len(bias))
    if bool((written != 1).any()):
        raise EncryptionError("every output must be written once", where="writes")


def check_dense(weights: NDArray[np.int64], inputs: int) -> None:
    """Refuse anything but integers (outputs, inputs) of one digit, outputs at least 1."""
    if weights.dtype.kind not in "iu" or weights.shape[1:] != (inputs,) or not len(weights):
        raise EncryptionError(
            "weights do not fit the ciphertexts",
            where="weights",
            found=f"{weights.dtype} {tuple(weights.shape)}",
            expected=f"integers (outputs, {inputs})",
        )
    check_weights(weights)


def check_key(key: Residues, special: int, basis: Basis) -> None:
    """Refuse a switching key that does not fit ciphertexts over a prefix of its basis."""
    check("key", key, (None, 2, None, basis.ring_degree))
    if len(key) < len(basis) or key.shape[2] != len(key) + 1:
        raise EncryptionError(
            "the key does not fit the ciphertexts",
            where="key",
            found=tuple(key.shape),
            expected=f"at least {len(basis)} digits and one limb more than digits",
        )
    Basis(basis.ring_degree, (*basis.primes, special))  # refuses an unfit special prime


def check_message(first: NDArray[np.uint8], seeds: NDArray[np.uint8], basis: Basis) -> None:
    """Refuse what is not packed first polynomials (d, bytes) and seeds (d, 64)."""
    fitting = (len(seeds), packed_bytes(basis.primes, basis.ring_degree))
    if first.shape != fitting or seeds.shape[1:] != (SEED_BYTES,):
        raise EncryptionError(
            "a message does not fit",
            where="first, seeds",
            found=f"{first.shape} and {seeds.shape}",
            expected=f"{fitting} and {(len(seeds), SEED_BYTES)}",
        )


def not_below() -> EncryptionError:
    """What is raised where a message holds a residue that its prime does not allow."""
    return EncryptionError(
        "a residue is not below its prime",
        hint="It was damaged on the way, or made under other parameters",
    )


def check_weights(weights: NDArray[np.int64]) -> None:
    """Refuse weights of more than one digit."""
    largest = max(int(weights.max()), -int(weights.min())) if weights.size else 0
    if largest > MAX_WEIGHT:
        raise EncryptionError(
            "a weight is too large",
            where="weights",
            found=largest,
            expected=f"at most {MAX_WEIGHT}",
            hint="Quantise to fewer bits, or add two products of a high and a low part",
        )


def check_indices(name: str, index: NDArray[np.int64], count: int) -> None:
    """Refuse indices that are not below `count`."""
    if index.size and (int(index.min()) < 0 or int(index.max()) >= count):
        raise EncryptionError(
            "an index is out of range",
            where=name,
            found=f"{int(index.min())} to {int(index.max())}",
            expected=f"0 to {count - 1}",
        )


def check_device(name: str, x: Residues, reference: Residues) -> None:
    """Refuse residues on another device."""
    there, expected = device_of(x), device_of(reference)
    if there != expected:
        raise EncryptionError(
            "residues are on different devices",
            where=name,
            found=str(there or "a numpy array"),
            expected=str(expected or "a numpy array"),
        )


def check_in_memory(name: str, x: Residues) -> NDArray[Any]:
    """Refuse residues that are not in this process's memory."""
    if isinstance(x, np.ndarray):
        return x
    raise EncryptionError(
        "residues are on different devices",
        where=name,
        found=str(x.device),
        expected="a numpy array",
    )


def check_written(name: str, x: Residues) -> None:
    """Refuse an array that cannot be written, where the result goes into it."""
    if isinstance(x, np.ndarray) and not x.flags.writeable:
        raise EncryptionError(
            "a residue array cannot be written",
            where=name,
            hint="Copy it, or use the function that returns a new array",
        )


def check_pair(x: Residues, y: Residues, basis: Basis) -> None:
    """Refuse what is not residues of the same shape."""
    check("x", x, (..., len(basis), basis.ring_degree))
    check("y", y, tuple(x.shape))
    check_device("y", y, x)


def check_with_plain(x: Residues, plain: Residues, basis: Basis) -> None:
    """Refuse anything but ciphertexts and one plaintext each."""
    check("x", x, (None, None, len(basis), basis.ring_degree))
    check("plain", plain, (len(x), len(basis), basis.ring_degree))
    check_device("plain", plain, x)
