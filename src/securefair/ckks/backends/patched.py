"""Sums of squares that are not made before something reads them, of ciphertexts as they arrived.

Until a key is switched all that a network does is done column by column. Where its first map and
the squares are followed by a map that reads all of them, one native kernel goes from the message to
what that map gives, tile by tile: neither the expanded ciphertexts nor the squares ever exist as a
whole. Fresh memory costs a process more than the arithmetic on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from securefair.ckks.backends import kernels
from securefair.ckks.backends.arrivals import Arrivals, expanded
from securefair.ckks.backends.basis import Basis
from securefair.ckks.backends.kernel_checks import Patch, check_in_memory
from securefair.ckks.backends.residues import Residues


@dataclass(frozen=True, eq=False)
class PatchMap:
    """A sparse map: arguments of `kernels.linear_patches`.

    Attributes:
        rows: int64 (inputs, 2), block and number of each input.
        patches: matrices and their places.
        bias: residues (outputs, limbs).
    """

    rows: NDArray[np.int64]
    patches: Sequence[Patch]
    bias: Residues


class Squares:
    """Ciphertexts (groups, 3, limbs, N): `kernels.square_patches` of arrivals, when asked for.

    Args:
        blocks: what the map reads, as it arrived.
        square_map: the map.
        groups: int64 (groups, terms), of its outputs.
        basis: primes of the limbs.
    """

    def __init__(
        self,
        blocks: Sequence[Arrivals],
        square_map: PatchMap,
        groups: NDArray[np.int64],
        basis: Basis,
    ) -> None:
        self.blocks, self.square_map, self.groups, self.basis = blocks, square_map, groups, basis
        self.used = False
        self._whole: Residues | None = None

    def __len__(self) -> int:
        return len(self.groups)

    @property
    def fresh(self) -> bool:
        """Whether nothing has read them yet."""
        return not self.used and self._whole is None

    def expanded(self) -> Residues:
        """All of them, made when they are first asked for and kept."""
        if self._whole is None:
            m = self.square_map
            blocks = [block.expanded() for block in self.blocks]
            self._whole = kernels.square_patches(
                blocks, m.rows, m.patches, self.basis, m.bias, self.groups
            )
            self.blocks = ()
        return self._whole


Payload: TypeAlias = "Residues | Arrivals | Squares"
"""Ciphertexts, expanded or as they arrived, or squares of what arrived."""


def whole(x: Payload) -> Residues:
    """Ciphertexts as one array, whatever they were."""
    return x.expanded() if isinstance(x, Squares) else expanded(x)


def linear_patches(blocks: Sequence[Payload], outer: PatchMap, basis: Basis) -> Residues:
    """`kernels.linear_patches` of blocks, bit for bit.

    Squares that it reads all of, as the first to do so, are not made as a whole. What is read again
    is, as reading is then faster than making it for every reader.
    """
    squares = [block for block in blocks if isinstance(block, Squares) and block.fresh]
    rows = np.unique(outer.rows, axis=0)
    if len(squares) < len(blocks) or len(rows) < sum(len(each) for each in squares):
        each = [whole(block) for block in blocks]
        return kernels.linear_patches(each, outer.rows, outer.patches, basis, outer.bias)
    from securefair.ckks.backends import residues_native

    messages: dict[int, tuple[int, Arrivals]] = {}  # by identity: where each begins
    count, bands = 0, []
    for one in squares:
        for block in one.blocks:
            if id(block) not in messages:
                messages[id(block)] = count, block
                count += len(block)
        starts = np.array([messages[id(block)][0] for block in one.blocks])
        bands.append((_numbered(one.square_map, starts), one.groups))
        one.used = True
    ends = np.cumsum([len(one) for one in squares])
    return residues_native.patched_quadratic(
        [block.message for _, block in messages.values()],
        bands,
        _numbered(outer, ends - [len(one) for one in squares]),
        basis,
    )


def _numbered(
    m: PatchMap, starts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], Sequence[Patch], NDArray[np.int32]]:
    """Inputs by number, where blocks begin at `starts`; patches; bias."""
    return starts[m.rows[:, 0]] + m.rows[:, 1], m.patches, check_in_memory("bias", m.bias)
