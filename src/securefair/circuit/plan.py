"""An exchange plan: a spec, a schedule, and everything public that follows from them.

A plan comes of running the circuit itself on the planning backend, so it states exactly what an
encrypted run will do: levels, scales, keys, bytes and an error bound.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from functools import cached_property

import msgspec

from securefair.circuit.answer import release
from securefair.circuit.on_paper import run_on_paper
from securefair.circuit.packings.interface import Packing
from securefair.circuit.packings.register import packing_of
from securefair.circuit.schedule import Schedule
from securefair.circuit.spec import ExchangeSpec
from securefair.ckks import rules
from securefair.ckks.backends import wire
from securefair.ckks.backends.planning import PlanningEvaluator
from securefair.ckks.keys import evaluation_bytes
from securefair.ckks.masking import masks_hold, number_bits
from securefair.ckks.parameters import CkksParameters
from securefair.ckks.security import SECURITY_BITS
from securefair.ckks.specs import AffineSpec
from securefair.ckks.tensor import CipherMeta


@dataclass(frozen=True, eq=False)
class ExchangePlan:
    """Everything public about one exchange, from keys to answer.

    Attributes:
        spec: what was asked for.
        schedule: limbs and scales that grant it.
        params: concrete primes.
        specs: public facts of each layer.
        blocks: that the samples fill.
        features: public facts of one upload block of features.
        factors: public facts of one block of predictions or basis rows, None if there are none.
        answer: public facts of one released tensor; all of an answer are alike.
        error_bound: no released value of an honest run is further off what the model with integer
            weights gives, in its own unit (a logit, a coefficient, or a sum over samples). How far
            rounding the weights moves that depends on them, and is not in it; nor is the rounding
            of an opened value to `grid`, by up to an eighth of it.
        relative_error: the bound over the range that the spec declares; of a projection in terms
            of a logit, see `evaluation.errors`.
    """

    spec: ExchangeSpec
    schedule: Schedule
    params: CkksParameters
    specs: tuple[AffineSpec, ...]
    blocks: int
    features: CipherMeta
    factors: CipherMeta | None
    answer: CipherMeta
    error_bound: float
    relative_error: float

    def __repr__(self) -> str:
        """The parameters in one line."""
        spec, params = self.spec, self.params
        return (
            f"ExchangePlan({spec.release} of {spec.samples} samples of {spec.features} features: "
            f"N = {params.ring_degree}, limbs: {params.limbs}, log2 QP = {params.log_qp:.0f}, "
            f"blocks: {self.blocks}, relative error {self.relative_error:.2g})"
        )

    @property
    def grants(self) -> bool:
        """Precise enough, and masked under any public key."""
        return self.relative_error <= self.spec.precision and is_masked(self)

    @property
    def security_bits(self) -> int:
        """Classical security of the encryption."""
        return SECURITY_BITS

    @property
    def packing(self) -> Packing:
        """How samples travel."""
        return packing_of(self.schedule.packing)

    @property
    def ring_degree(self) -> int:
        """Of the ring in which answers are polynomials, N or less."""
        return self.packing.ring_degree(self.schedule)

    @property
    def numbers(self) -> int:
        """How many numbers an answer lets out: what the disclosure ledger counts.

        Where all logits leave, all coefficients of all blocks, whatever number of samples is
        claimed: a dishonest student may fill every place. Only those that are sent, where the masks
        of all others outlast a dishonest key; else all.
        """
        spec, sent = self.spec, self.coefficients
        if not spec.leaves.whole:
            return spec.leaves.numbers(spec.samples, spec.classes, spec.q)
        each = sent if sent is not None and self.masks_hold else self.params.ring_degree
        return self.blocks * each * spec.classes

    @cached_property
    def masks_hold(self) -> bool:
        """Whether the masks of what is not sent outlast a dishonest key."""
        return self.coefficients is not None and masks_hold(self.answer, self.coefficients)

    @property
    def tensors(self) -> int:
        """Released tensors of an answer: of `logits` each block is answered by itself."""
        return self.blocks if self.spec.leaves.whole else 1

    @property
    def released(self) -> tuple[CipherMeta, ...]:
        """Public facts of an answer, one entry a released tensor."""
        return (self.answer,) * self.tensors

    @property
    def number_bits(self) -> float:
        """Most bits that one released number carries, whatever a dishonest student asks."""
        return number_bits(self.answer)

    @property
    def needed_bits(self) -> float:
        """Bits that a number would carry if it told one logit, or one sum, to the precision."""
        needed = -math.log2(self.spec.precision)
        if self.spec.multiplies:  # a mean over all slots, of which the samples fill some
            needed += math.log2(self.blocks * self.params.slots / self.spec.samples)
        return needed

    @property
    def floods_to_precision(self) -> bool:
        """Whether flooding leaves the precision that was asked for.

        A logit is made of all q numbers of a student's basis, whose errors add up to sqrt(q) times
        one of them: there it leaves so much more.
        """
        terms = self.spec.q if self.spec.student_basis else 1
        return self.relative_error <= self.spec.precision / math.sqrt(terms)

    @property
    def bits(self) -> float:
        """Most bits that an answer carries: what the disclosure ledger charges with the numbers."""
        return self.numbers * self.number_bits

    @property
    def coefficients(self) -> int | None:
        """Released coefficients of each ciphertext; None when whole ciphertexts leave."""
        return self.packing.count(self.spec, self.schedule, self.spec.leaves.chosen(self.spec))

    @property
    def grid(self) -> float:
        """Step to which opened values are rounded, two deviations of their noise.

        The noise of a decryption depends on the secret key (Li and Micciancio 2021), so nothing
        finer than the planned precision may influence what a student sends later.
        """
        return self.error_bound / 4

    @property
    def bits_per_number(self) -> int:
        """Most bits that one released number of a student that keeps to the plan tells.

        Numbers are opened on the grid, within the agreed bound of what they are made of.
        """
        spec = self.spec
        span = 2 * spec.bounds.logit
        if spec.multiplies:  # sums over samples
            span *= spec.samples
        return max(1, math.ceil(math.log2(span / self.grid)))

    @property
    def noise_std(self) -> float:
        """Typical error of a released value, in its own unit: one deviation of its bound."""
        return self.error_bound / rules.TAIL

    @property
    def feature_bytes(self) -> int:
        """Upload once per data epoch."""
        return wire.upload_bytes(self.features) * self.blocks

    @property
    def basis_bytes(self) -> int:
        """Upload once per data epoch, with the features, for a student basis."""
        if self.spec.student_basis and self.factors:
            return wire.upload_bytes(self.factors) * self.blocks
        return 0

    @property
    def query_bytes(self) -> int:
        """Upload with every query: encrypted predictions."""
        if self.spec.sends_predictions and self.factors:
            return wire.upload_bytes(self.factors) * self.blocks
        return 0

    @property
    def answer_bytes(self) -> int:
        """Download with every answer."""
        return self.tensors * wire.answer_bytes(self.answer, self.coefficients)

    @property
    def exchange_bytes(self) -> int:
        """One whole exchange: keys, features, a student's basis, a query and its answer."""
        sent = self.key_bytes + self.feature_bytes + self.basis_bytes + self.query_bytes
        return sent + self.answer_bytes

    @property
    def zeros(self) -> int:
        """Encryptions of zero that sanitise an answer, of `schedule.flooding_limbs` limbs each."""
        return self.tensors * self.answer.count * (self.answer.polys - 1)

    @property
    def public_key_bytes(self) -> int:
        """Upload once per key epoch."""
        return wire.public_key_bytes(self.params)

    @property
    def evaluation_key_bytes(self) -> int:
        """Upload once per key epoch: the keys that the circuit switches with."""
        return evaluation_bytes(
            wire.switching_key_bytes(self.params, self.relinearization_limbs),
            wire.switching_key_bytes(self.params, self.galois_limbs),
        )

    @property
    def key_bytes(self) -> int:
        """Upload once per key epoch, all keys together."""
        return self.public_key_bytes + self.evaluation_key_bytes

    @property
    def relinearization_limbs(self) -> int:
        """Most limbs at which keys are switched after a product: of the relinearisation key that
        the student must send, 0 for none."""
        return self._switched.relinearized

    @property
    def galois_limbs(self) -> int:
        """The same of the Galois key, where features or samples share ciphertexts."""
        return self._switched.turned

    @property
    def galois_element(self) -> int:
        """The automorphism X -> X^e of that key; 0 for no key."""
        return self.packing.galois_element(self.schedule)

    @cached_property
    def _switched(self) -> PlanningEvaluator:
        """An evaluator that has run the circuit, and knows where it switched keys."""
        evaluator = PlanningEvaluator(self.params)
        run = run_on_paper(evaluator, self.spec, self.schedule)
        release(evaluator, self.schedule, run.value, run.coefficients)
        return evaluator

    @property
    def galois_name(self) -> str:
        """What that key is called."""
        return self.packing.galois_name

    @property
    def places(self) -> int:
        """How many samples the blocks have room for."""
        return self.blocks * self.packing.places(self.spec, self.schedule)

    @property
    def digest(self) -> bytes:
        """32 bytes on which both sides must agree: the spec, limbs, scales and primes.

        Primes follow from the rest by one version of this code; by two they may differ.
        """
        facts = msgspec.json.encode((self.spec, self.schedule, self.params.digest.hex()))
        return hashlib.sha256(b"securefair exchange plan\0" + facts).digest()


def is_masked(plan: ExchangePlan) -> bool:
    """Answers stay masked under any public key; `logits` tell the model's function knowingly."""
    released = plan.coefficients
    if released is None or (plan.spec.leaves.whole and plan.packing.all_may_show()):
        return True
    if released > plan.params.slots:  # for real values the other coefficients repeat these
        return False
    return plan.masks_hold
