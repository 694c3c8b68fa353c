"""CipherTensor: many ciphertexts in one array, with what is known of them in public."""

from __future__ import annotations

from typing import Generic, Literal, TypeVar

import msgspec

from securefair.ckks.parameters import CkksParameters

PayloadT = TypeVar("PayloadT")

SlotLayout = Literal["slots", "feature pairs", "coefficients"]
"""Where values sit: N/2 reals in the slots, two times N/2 reals in the slots, or N reals as
coefficients of the message polynomial.

Slots multiply one by one. Of a pair x + J y with J = X^(N/2), which is +i and -i alternately along
the slots, x and y are the parts that conjugation keeps and negates: two features of a sample, or
one of two samples, which want other maps. Coefficients do not multiply,
but the constant coefficient of a product with a reversed polynomial is an inner product, without
any key or rotation.
"""


class CipherMeta(msgspec.Struct, frozen=True, kw_only=True):
    """The public side of a CipherTensor; a plan is nothing but a sequence of these.

    A struct, because planning makes some hundred thousand.

    Attributes:
        params: parameters it was made under.
        count: number of ciphertexts, d.
        polys: polynomials of each ciphertext: 2, or 3 after unrelinearised products.
        limbs: primes left; level = limbs - 1.
        log2_scale: log2 of the factor between a value and its integer encoding.
        packing: where the values sit.
        parts: features that share a ciphertext beside each other, k: then coefficients are those of
            polynomials in X^k, and slots hold their values k times (`ckks.interleaving`).
        bound: declared bound on |value| in every slot or coefficient, of a pair on its modulus as
            a complex number. Precision is planned for
            it. Of slots the modulus itself needs only the mean to obey it, because the
            coefficients of the message polynomial are such means: a few larger slots lose
            precision, nothing else.
        noise: bound on the standard deviation of a coefficient's error, in integer units.
        flood: amplitude of the flooding noise in integer units, 0 before sanitising.
        independent: errors of the d ciphertexts are independent (fresh encryptions), so that
            sums of them grow with the Euclidean norm of the weights.
    """

    params: CkksParameters
    count: int
    polys: int
    limbs: int
    log2_scale: float
    bound: float
    noise: float
    independent: bool = False
    flood: float = 0.0
    packing: SlotLayout = "slots"
    parts: int = 1

    @property
    def interleaved(self) -> bool:
        """Features sit beside each other in a ciphertext."""
        return self.packing == "coefficients" and self.parts > 1

    @property
    def paired(self) -> bool:
        """Two values share a slot."""
        return self.packing == "feature pairs"

    @property
    def width(self) -> int:
        """Values that one ciphertext holds; of pairs all first ones come before all second ones."""
        slots = self.params.slots
        return slots if self.packing == "slots" else 2 * slots

    @property
    def level(self) -> int:
        """Rescalings left before the last prime."""
        return self.limbs - 1

    @property
    def log_q(self) -> float:
        """log2 of the modulus that is left."""
        return self.params.log_q(self.limbs)

    @property
    def residue_shape(self) -> tuple[int, int, int, int]:
        """Shape of the residue array: (d, polys, limbs, N)."""
        return self.count, self.polys, self.limbs, self.params.ring_degree


class CipherTensor(msgspec.Struct, Generic[PayloadT], frozen=True):
    """d ciphertexts in one contiguous payload; knows no key.

    A struct for the same reason.

    The payload is the backend's: residues int32 (d, polys, limbs, N) in NTT form for `seal` and
    `rns`, cleartext float64 (d, width) for `clear`, None for `planning`.
    """

    meta: CipherMeta
    payload: PayloadT
