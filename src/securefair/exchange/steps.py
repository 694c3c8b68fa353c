"""The flow of one exchange, one function an arrow.

    samples -> slots -> ciphertexts -> the teacher's encrypted inference -> released numbers

`learning` goes on from there. Everything else in the package is either called from one of the two
or hosts these calls. Neither side needs torch here: a model comes folded into weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from securefair.circuit.answer import Inputs, answer, released_coefficients
from securefair.circuit.network import Chunk
from securefair.circuit.packings.interface import in_columns
from securefair.circuit.planner import ExchangePlan
from securefair.ckks.evaluator import Evaluator, Released
from securefair.ckks.keys import Decryptor, Encryptor
from securefair.ckks.rules import coefficient_error, with_count
from securefair.ckks.tensor import CipherMeta, CipherTensor
from securefair.errors import DataError, EncryptionError, ModelError
from securefair.exchange.compile import CompiledNetwork, bound_logits, compile_network
from securefair.exchange.request import check_seed
from securefair.model.balance import balance_by_weights
from securefair.model.foldable import Calibrated, Foldable
from securefair.model.projection import block_signs, public_indices, sample_at

Array = NDArray[np.float64]
P = TypeVar("P")

ENCRYPTED_AT_ONCE = 1 << 22
"""Residues: enough work to share between processes, and some 50 MB, which the C library keeps for
what is encrypted next. Larger parts began with pages that the system had to clear."""

LOADED_AT_ONCE = 4
"""Features of a network that are expanded together: neighbours in a row of an image."""


@dataclass(frozen=True)
class PublicBasis:
    """Which coefficients of a public projection leave, and the signs of the blocks.

    Drawn from a seed that both sides know and that stays the same for a data epoch, so that an
    unchanged teacher tells nothing more in later rounds.
    """

    coefficients: NDArray[np.int64]
    signs: NDArray[np.int64]


def public_basis(plan: ExchangePlan, seed: bytes) -> PublicBasis:
    """The basis of this plan's projection under a public seed.

    Raises:
        DataError: the seed is no bytes.
    """
    check_seed(seed)
    signs = block_signs(plan.blocks, seed).astype(np.int64)
    chosen = 1 if plan.spec.leaves.whole else plan.spec.leaves.chosen(plan.spec)
    indices = public_indices(plan.ring_degree, chosen or 1, seed)
    return PublicBasis(indices, signs)


def pack(plan: ExchangePlan, features: Array) -> Array:
    """Features (B, d) -> what is encrypted (blocks, ciphertexts, width), as the plan packs it.

    Places beyond B repeat the samples (`model.projection.sample_at`).

    Raises:
        DataError: shape, NaN, or features beyond the public bounds of the plan.
    """
    spec, bounds = plan.spec, plan.spec.bounds
    if features.shape != (spec.samples, spec.features):
        raise DataError(
            "the features do not fit the plan",
            found=features.shape,
            expected=(spec.samples, spec.features),
        )
    if not np.isfinite(features).all():
        raise DataError("a feature is NaN or infinite", hint="Fill missing values first")
    for name, size, bound in (
        ("feature", np.abs(features), bounds.feature),
        ("feature_norm", np.linalg.norm(features, axis=1), spec.feature_norm),
    ):
        if size.max() > bound * (1 + 1e-9):
            raise DataError(
                "features exceed the agreed bound",
                where=name,
                found=round(float(size.max()), 4),
                expected=f"at most {bound}",
                hint="Scale the features, or agree on larger bounds",
            )
    rows = features[sample_at(spec.samples, plan.places)]
    return plan.packing.pack(spec, plan.schedule, rows)


def pack_factors(plan: ExchangePlan, rows: Array) -> Array:
    """Predictions (B, M) or basis rows (B, q) -> slots (blocks, count, N/2), zero beyond B."""
    padded = np.zeros((plan.blocks * plan.params.slots, rows.shape[1]))
    padded[: len(rows)] = rows
    return in_columns(padded, plan.params.slots)


def encrypt(encryptor: Encryptor, meta: CipherMeta, slots: Array) -> bytes:
    """Slots (blocks, count, N/2), or pairs of them, -> upload."""
    return b"".join(part for block in slots for part in encrypted_parts(encryptor, meta, block))


def encrypted_at_once(meta: CipherMeta) -> int:
    """Ciphertexts of a part."""
    return max(1, ENCRYPTED_AT_ONCE // (meta.limbs * meta.params.ring_degree))


def encrypted_parts(encryptor: Encryptor, meta: CipherMeta, block: Array) -> Iterator[bytes]:
    """Slots (count, N/2) of one block -> its upload, some ciphertexts at a time.

    Uploads are joined and split at will, so only the part in hand need be in memory.
    """
    step = encrypted_at_once(meta)
    for start in range(0, len(block), step):
        part = block[start : start + step]
        yield encryptor.encrypt(part, with_count(meta, len(part)))


def receive(
    evaluator: Evaluator[P], meta: CipherMeta, upload: bytes | memoryview, blocks: int
) -> list[CipherTensor[P]]:
    """Upload -> one tensor a block, validated against the plan."""
    return [evaluator.load(block, meta) for block in _split(memoryview(upload), blocks)]


def receive_in_chunks(
    evaluator: Evaluator[P], meta: CipherMeta, upload: bytes | memoryview, blocks: int
) -> list[list[Chunk[P]]]:
    """Upload -> for each block its features in chunks, all of them validated against the plan.

    A network reads them one after the other, so they are never expanded all at once; what is
    expanded here to be checked is dropped again. So an upload that cannot be used is refused when
    it arrives, not late in every answer.

    Raises:
        DataError, EncryptionError: the upload does not fit the plan.
    """

    def read(block: memoryview) -> Callable[[int, int], memoryview]:
        return lambda start, stop: block[start:stop]

    found = [
        feature_chunks(evaluator, meta, len(block), read(block))
        for block in _split(memoryview(upload), blocks)
    ]
    for chunks in found:
        for chunk in chunks:
            chunk.load()
    return found


def feature_chunks(
    evaluator: Evaluator[P],
    meta: CipherMeta,
    size: int,
    read: Callable[[int, int], bytes | memoryview],
) -> list[Chunk[P]]:
    """One block's features in chunks.

    Args:
        evaluator: expands them.
        meta: public facts of the block.
        size: its bytes.
        read: gives the bytes from start to stop, from wherever the block is kept.

    Raises:
        DataError: the block does not divide into its ciphertexts.
    """
    each, rest = divmod(size, meta.count)
    if rest:
        raise DataError("an upload does not divide into ciphertexts", found=size)

    def chunk(start: int, stop: int) -> Chunk[P]:
        facts = with_count(meta, stop - start)
        return Chunk(
            np.arange(start, stop), lambda: evaluator.load(read(start * each, stop * each), facts)
        )

    starts = range(0, meta.count, LOADED_AT_ONCE)
    return [chunk(start, min(start + LOADED_AT_ONCE, meta.count)) for start in starts]


def compile_model(plan: ExchangePlan, model: Foldable) -> CompiledNetwork:
    """A trained model -> integer weights at the plan's public scales.

    A head is balanced by its weights, which bounds its values for any sample; a network comes
    balanced by its owner's samples.

    Raises:
        ModelError: the model's shape is not the plan's.
    """
    spec, folded = plan.spec, model.folded()
    if isinstance(model, Calibrated) != bool(spec.network):
        planned = "network" if spec.network else "head"
        raise ModelError(f"a {planned} was planned", found=type(model).__name__)
    if spec.network:
        return compile_network(folded, spec.layers)
    balanced = balance_by_weights(folded, spec.bounds.row_norm)
    return compile_network(balanced, spec.layers, most=None)


def check_own_bounds(plan: ExchangePlan, model: CompiledNetwork, own: Array) -> None:
    """Refuse to answer with a network that goes beyond the agreed bounds on its owner's samples.

    Its weights may keep all promises: biases, and logits, do not show in them.

    Args:
        plan: of the exchange.
        model: what is to answer; heads are bounded by their weights.
        own: (B, d) samples of the owner.

    Raises:
        ModelError: says for how many samples.
    """
    if not plan.spec.network:
        return
    images = own.reshape(-1, *model.quantized.folded.input_shape)
    _, beyond = bound_logits(model.quantized.network, plan.spec.network, images)
    if beyond.any():
        raise ModelError(
            "a network's values exceed the agreed bounds on its owner's own samples",
            found=f"{int(beyond.sum())} of {len(own)} samples",
            expected="none",
            hint="Agree on larger bounds, or train with more weight decay or range_penalty",
        )


def infer(
    evaluator: Evaluator[P],
    plan: ExchangePlan,
    model: CompiledNetwork,
    inputs: Inputs[P],
) -> bytes:
    """The teacher's whole answer: encrypted inference, distillation terms, release, sanitising."""
    with evaluator.meanwhile(plan.schedule.flooding_limbs, plan.zeros):
        released = answer(evaluator, plan.spec, plan.schedule, plan.specs, model.maps, inputs)
    return b"".join(part.data for part in released)


def open_answer(
    decryptor: Decryptor, plan: ExchangePlan, basis: PublicBasis, data: bytes, *, summed: int = 1
) -> Array:
    """Answer -> released values in their natural unit, rounded to the plan's grid.

    Args:
        decryptor: the student's.
        plan: of the exchange; of a sum of answers, made for bounds that hold for the sum.
        basis: of a public projection.
        data: the answer, or the sum of several.
        summed: how many; their noise adds, and so does what the grid must cover.

    Returns:
        `logits` (B, M); `projection` (q, M) with public rows in coefficient units or the
        student's Phi Z; `class_sums` (M,) and `loss` () as sums over samples of p.z / T
        without the division by T.
    """
    values = _natural_unit(decryptor, plan, basis, data)
    grid = plan.grid * summed
    return values if decryptor.exact else grid * np.rint(values / grid)


def _natural_unit(
    decryptor: Decryptor, plan: ExchangePlan, basis: PublicBasis, data: bytes
) -> Array:
    spec = plan.spec
    opened = [_plausible(decryptor.open(part), part) for part in _parts(plan, basis, data)]
    if spec.leaves.whole:
        blocks = [plan.packing.opened(spec, plan.schedule, values) for values in opened]
        return np.concatenate(blocks, axis=1)[:, : spec.samples].T
    values = opened[0]
    if not spec.multiplies:
        return values.T
    sums = values[:, 0] * plan.params.slots  # a mean over the slots of a block
    return np.asarray(spec.leaves.shaped(spec, sums))


def _plausible(values: Array, part: Released) -> Array:
    """Refuse coefficients that no honest teacher's model has: each is a mean over slots."""
    limit = part.meta.bound + coefficient_error(part.meta)
    largest = np.inf if part.coefficients is None else limit
    if not np.abs(values).max() <= largest or not np.isfinite(values).all():
        # Nothing of the value: texts of errors may travel.
        raise EncryptionError(
            "an opened value is out of range",
            hint="It may be an answer to another request, or under other keys",
        )
    return values


def _split(upload: memoryview, blocks: int) -> list[memoryview]:
    size, rest = divmod(len(upload), blocks)
    if rest:
        raise DataError("an upload does not divide into blocks", found=len(upload))
    return [upload[i * size : (i + 1) * size] for i in range(blocks)]


def _parts(plan: ExchangePlan, basis: PublicBasis, data: bytes) -> Iterable[Released]:
    """The answer's bytes, one released tensor at a time."""
    size = -(-len(data) // plan.tensors)  # a remainder shows as a wrong length later
    chosen = None
    if plan.coefficients is not None:
        chosen = released_coefficients(plan.spec, plan.schedule, basis.coefficients)
    for index in range(plan.tensors):
        yield Released(plan.answer, chosen, data[index * size : (index + 1) * size])
