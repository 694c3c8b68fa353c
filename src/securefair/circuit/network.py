"""Encrypted inference of a private model: affine maps with squares between them.

    values -> map -> [relinearise, rescale] -> squares, summed -> [relinearise, rescale] -> ...

A plan says where values are rescaled and keys are switched: best after a pool, when four squares
have become one value. A head, one or two maps, does neither on its way: the modulus holds the whole
scale, so key switching and rounding happen once for each class, not for each hidden unit.

Maps that are whole layers are applied one after the other. Maps in bands are evaluated in a stream,
without holding any layer as a whole.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Generic, TypeAlias, TypeVar

import numpy as np
from msgspec import structs

from securefair.circuit.bands import Band, BandedMap
from securefair.circuit.schedule import LayerSteps, RescaleStep
from securefair.circuit.spec import ExchangeSpec, LayerBounds
from securefair.ckks.backends.planning import PlanningEvaluator
from securefair.ckks.backends.wire import WORD
from securefair.ckks.evaluator import Evaluator
from securefair.ckks.layers import AffineLayer
from securefair.ckks.noise import switching_limbs
from securefair.ckks.patches import Indices, Patch, PatchLayer
from securefair.ckks.rules import with_count
from securefair.ckks.specs import AffineSpec
from securefair.ckks.tensor import CipherMeta, CipherTensor
from securefair.errors import EncryptionError

P = TypeVar("P")

PrivateMap: TypeAlias = AffineLayer | BandedMap
"""A map as a whole, or in bands."""


@dataclass(frozen=True, eq=False)
class Chunk(Generic[P]):
    """Some of a student's features, loaded when they are needed.

    Attributes:
        features: (n,) numbers of the features in it.
        load: reads, checks and expands them.
    """

    features: Indices
    load: Callable[[], CipherTensor[P]]


@lru_cache(maxsize=256)
def affine_specs(spec: ExchangeSpec) -> tuple[AffineSpec, ...]:
    """The public side of every map."""
    specs, inputs = [], spec.features
    for bounds in spec.layers:
        specs.append(
            AffineSpec(
                inputs=inputs,
                outputs=bounds.outputs,
                log2_scale=bounds.log2_scale,
                max_integer=bounds.max_integer,
                l1=bounds.l1,
                l2=bounds.l2,
                bound=bounds.bound,
            )
        )
        inputs = bounds.values
    return tuple(specs)


def network_logits(
    evaluator: Evaluator[P],
    features: CipherTensor[P] | Sequence[Chunk[P]],
    specs: Sequence[AffineSpec],
    stages: Sequence[LayerSteps],
    layer_bounds: Sequence[LayerBounds],
    maps: Sequence[PrivateMap | None],
) -> CipherTensor[P]:
    """Features of one block (d ciphertexts, or chunks of them) -> logits (M ciphertexts).

    Args:
        evaluator: any backend's.
        features: all at once, or to be loaded one chunk after the other.
        specs, stages, layer_bounds: public facts, schedule and bounds of each map.
        maps: all as whole layers, or all in bands; None for each only where nothing is computed.

    Raises:
        ModelError: weights exceed what their spec bounds.
        EncryptionError: there are no weights, or chunks do not cover the features.
    """
    banded = [each for each in maps if isinstance(each, BandedMap)]
    if banded and len(banded) == len(specs):
        chunks = (
            [Chunk(np.arange(features.meta.count), lambda: features)]
            if isinstance(features, CipherTensor)
            else features
        )
        return Stream(evaluator, chunks, specs, stages, banded).logits()
    if not isinstance(features, CipherTensor):
        raise EncryptionError("whole layers read their features as a whole")
    value, place = features, 0
    while place < len(specs):
        spec, stage, layer = specs[place], stages[place], maps[place]
        if isinstance(layer, BandedMap):
            raise EncryptionError("a network needs all of its maps", found=len(banded))
        value = rescaled(evaluator, value, stage.linear)
        pair = _quadratic_pair(value, stages[place : place + 2], maps[place : place + 2])
        if pair is not None and layer_bounds[place].summed == 1:
            both = list(zip(specs[place:], pair, strict=False))
            value = evaluator.quadratic(value, both)
            place += 1
            stage = stages[place]
        else:
            value = mapped(evaluator, value, spec, layer)
        if stage.square is not None:
            value = rescaled(evaluator, value, stage.square)
            value = squared(evaluator, value, layer_bounds[place])
        place += 1
    return value


def mapped(
    evaluator: Evaluator[P], value: CipherTensor[P], spec: AffineSpec, layer: AffineLayer | None
) -> CipherTensor[P]:
    """A whole map; what else products of values that share a ciphertext hold is removed here."""
    if value.meta.interleaved:
        return evaluator.interleaved_linear(value, spec, layer)
    if value.meta.paired:
        return evaluator.real_part(evaluator.paired_linear(value, spec, layer), bound=spec.bound)
    return evaluator.linear(value, spec, layer)


def _quadratic_pair(
    value: CipherTensor[P], stages: Sequence[LayerSteps], maps: Sequence[PrivateMap | None]
) -> list[AffineLayer] | None:
    """Two maps with a square and nothing else between them, or None."""
    dense = [layer for layer in maps if isinstance(layer, AffineLayer)]
    if len(dense) < 2 or stages[0].square is None:
        return None
    between = (stages[0].square, stages[1].linear)
    idle = not value.meta.interleaved and all(
        not s.relinearize and s.limbs == value.meta.limbs for s in between
    )
    return dense if idle else None


def rescaled(
    evaluator: Evaluator[P], value: CipherTensor[P], before: RescaleStep
) -> CipherTensor[P]:
    """Key switch and rescaling as the schedule has them."""
    if before.relinearize:
        value = relinearized(evaluator, value, before.limbs)
    return value if before.limbs == value.meta.limbs else evaluator.rescale(value, before.limbs)


def relinearized(
    evaluator: Evaluator[P], value: CipherTensor[P], limbs: int, *, slots: bool = True
) -> CipherTensor[P]:
    """Three polynomials -> two, of so many limbs; keys are switched as late as the noise allows.

    `slots`: see `rules.rescale`.
    """
    late = min(switching_limbs(value.meta, limbs), value.meta.limbs)
    value = evaluator.relinearize(value, late)
    return value if late == limbs else evaluator.rescale(value, limbs, slots=slots)


def squared(
    evaluator: Evaluator[P], value: CipherTensor[P], bounds: LayerBounds
) -> CipherTensor[P]:
    """Squares of a whole layer's values, or on paper also their sums."""
    if bounds.summed == 1:
        return evaluator.square(value)
    # Whole layers are dense, so something is computed in bands only: any groups will do.
    groups = np.zeros((bounds.values, bounds.summed), dtype=np.int64)
    return evaluator.square_sums(value, groups)


class Stream(Generic[P]):
    """Demand-driven evaluation: a band is computed when another one reads it, and dropped when
    all that read it are done.

    Level 0 are the chunks of features, level i the bands of map i, rescaled for what reads them.

    Attributes:
        peak_bytes: most residues that were kept at a time so far. What one band works with on its
            way comes on top: some hundred MB at most.
    """

    def __init__(
        self,
        evaluator: Evaluator[P],
        chunks: Sequence[Chunk[P]],
        specs: Sequence[AffineSpec],
        stages: Sequence[LayerSteps],
        maps: Sequence[BandedMap],
    ) -> None:
        self._evaluator = evaluator
        self._chunks, self._specs, self._stages = chunks, specs, stages
        self._maps = maps
        written = [[c.features for c in chunks], *([b.writes for b in m.bands] for m in maps)]
        counts = [maps[0].inputs, *(m.values for m in maps)]
        self._places = [_places(units, count) for units, count in zip(written, counts, strict=True)]
        self._readers = [
            _readers(places, [band.reads for band in m.bands])
            for places, m in zip(self._places, maps, strict=False)
        ]
        self._kept: dict[tuple[int, int], CipherTensor[P]] = {}
        self._bytes = 0
        self.peak_bytes = 0

    def logits(self) -> CipherTensor[P]:
        """The values of the last map, in order."""
        last = len(self._maps)
        parts = self._dense_parts(last)
        if parts:
            return self._added_up(last, parts)
        blocks = [self._unit(last, unit) for unit in range(len(self._maps[-1].bands))]
        places = self._places[last]
        if len(blocks) == 1 and np.array_equal(places[:, 1], np.arange(len(places))):
            return blocks[0]
        return self._evaluator.gather(blocks, places)

    def _dense_parts(self, level: int) -> list[tuple[int, Indices]]:
        """Units that a dense last map reads one after the other, and their values in its order.

        Empty where that saves nothing: it reads one unit, or squares of the upload, which one
        kernel computes with it.
        """
        (band, *others) = self._maps[level - 1].bands
        patches = band.layer.patches
        if level < 3 or others or band.groups is not None or len(patches) > 1:
            return []
        where, reads = self._places[level - 1][band.reads][:, 0], patches[0].reads
        if len(reads) != 1 or len(np.unique(reads)) < len(where):
            return []
        parts = [(unit, np.flatnonzero(where[reads[0]] == unit)) for unit in np.unique(where)]
        # A row of zeros is made an encryption of zero, whose error counts once for a whole row.
        full = all(patches[0].weights[:, own].any(axis=1).all() for _, own in parts)
        return parts if full and len(parts) > 1 else []

    def _added_up(self, level: int, parts: Sequence[tuple[int, Indices]]) -> CipherTensor[P]:
        """A dense map, unit by unit: none is kept until all that it reads are there."""
        evaluator, (band,) = self._evaluator, self._maps[level - 1].bands
        (patch,), count = band.layer.patches, len(parts)
        total: CipherTensor[P] | None = None
        bias = band.layer.bias
        for unit, own in parts:
            columns = np.arange(len(own))
            piece = Patch(patch.weights[:, own], columns[None], patch.writes)
            layer = PatchLayer(len(own), (piece,), bias)
            bias = np.zeros_like(bias)
            numbers = self._places[level - 1][band.reads[patch.reads[0, own]], 1]
            rows = np.stack([np.zeros_like(numbers), numbers], axis=1)
            spec = replace(self._specs[level - 1], inputs=layer.inputs, outputs=layer.outputs)
            value = evaluator.linear_from([self._unit(level - 1, unit)], rows, spec, layer)
            self._release(level - 1, [unit])
            # Bounds of the map hold for the sum of all parts, so each counts for its share.
            meta = value.meta
            share = structs.replace(meta, bound=meta.bound / count, noise=meta.noise / count)
            part = CipherTensor(share, value.payload)
            total = part if total is None else evaluator.add(total, part)
        assert total is not None
        blocks, places = [CipherTensor(meta, total.payload)], self._places[level]
        if np.array_equal(places[:, 1], np.arange(len(places))):
            return blocks[0]
        return evaluator.gather(blocks, places)

    def _unit(self, level: int, unit: int) -> CipherTensor[P]:
        if (level, unit) not in self._kept:
            value = self._computed(level, unit)
            self._kept[level, unit] = value
            self._bytes += _size(value.meta)
            self.peak_bytes = max(self.peak_bytes, self._bytes)
        return self._kept[level, unit]

    def _computed(self, level: int, unit: int) -> CipherTensor[P]:
        value = (
            self._chunks[unit].load()
            if level == 0
            else self._mapped(level, self._maps[level - 1].bands[unit])
        )
        if level == len(self._stages):
            return value
        return rescaled(self._evaluator, value, self._stages[level].linear)

    def _mapped(self, level: int, band: Band) -> CipherTensor[P]:
        evaluator, layer, groups = self._evaluator, band.layer, band.groups
        where = self._places[level - 1][band.reads]
        units, own = np.unique(where[:, 0], return_inverse=True)
        blocks = [self._unit(level - 1, unit) for unit in units.tolist()]
        rows = np.stack([own.reshape(-1), where[:, 1]], axis=1)
        spec = replace(self._specs[level - 1], inputs=layer.inputs, outputs=layer.outputs)
        square = self._stages[level - 1].square
        if groups is None or square is None:
            value = evaluator.linear_from(blocks, rows, spec, layer)
        elif not square.relinearize and square.limbs == blocks[0].meta.limbs:
            value = evaluator.square_sums_from(blocks, rows, spec, layer, groups)
        else:
            linear = evaluator.linear_from(blocks, rows, spec, layer)
            if square.relinearize:
                linear = rescaled(evaluator, linear, square)
            value = evaluator.square_sums(linear, groups, square.limbs)
        self._release(level - 1, units.tolist())
        return value

    def _release(self, level: int, units: Sequence[int]) -> None:
        for unit in units:
            self._readers[level][unit] -= 1
            if self._readers[level][unit] == 0:
                self._bytes -= _size(self._kept.pop((level, unit)).meta)


def planned_peak(
    fresh: CipherTensor[None],
    size: int,
    specs: Sequence[AffineSpec],
    stages: Sequence[LayerSteps],
    maps: Sequence[BandedMap],
) -> int:
    """Most bytes of residues that an evaluation keeps at a time, found on paper.

    Args:
        fresh: all features of a block on the planning backend.
        size: features of a chunk.
        specs, stages, maps: as of `network_logits`.
    """
    count = fresh.meta.count

    def chunk(start: int) -> Chunk[None]:
        features = np.arange(start, min(start + size, count))
        part = CipherTensor(with_count(fresh.meta, len(features)), None)
        return Chunk(features, lambda: part)

    evaluator = PlanningEvaluator(fresh.meta.params)
    chunks = [chunk(start) for start in range(0, count, size)]
    stream = Stream(evaluator, chunks, specs, stages, maps)
    stream.logits()
    return stream.peak_bytes


def _size(meta: CipherMeta) -> int:
    return WORD * math.prod(meta.residue_shape)


def _places(units: Sequence[Indices], count: int) -> Indices:
    """For each value the unit that makes it and its number there, (count, 2)."""
    places = np.full((count, 2), -1)
    for number, values in enumerate(units):
        places[values] = np.stack([np.full(len(values), number), np.arange(len(values))], axis=1)
    if (places < 0).any():
        raise EncryptionError(
            "some values are made by no band", found=int((places[:, 0] < 0).sum()), expected=0
        )
    return places


def _readers(places: Indices, reads: Sequence[Indices]) -> list[int]:
    """How many bands read each unit."""
    counts = np.zeros(int(places[:, 0].max()) + 1, dtype=np.int64)
    for values in reads:
        counts[np.unique(places[values, 0])] += 1
    return [int(count) for count in counts]
