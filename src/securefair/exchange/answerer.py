"""Answers of one private model, for whoever decided that they may leave: nothing is counted here.

`Teacher` counts by an account of its own. A hospital of a collaboration has its ledger, and charges
that before it asks for an answer.
"""

from __future__ import annotations

import math
from numbers import Integral
from typing import TYPE_CHECKING, Any

import msgspec

from securefair.circuit.answer import Inputs
from securefair.circuit.planner import plan_exchange, verified_plan
from securefair.circuit.schedule import Schedule
from securefair.circuit.spec import ExchangeSpec
from securefair.ckks.backends import get_backend
from securefair.ckks.keys import PublicKeys
from securefair.ckks.parameters import CkksSpec
from securefair.config import defaults
from securefair.errors import ModelError, PlanError
from securefair.exchange import steps
from securefair.exchange.compile import agreed_segments
from securefair.exchange.request import check_seed
from securefair.exchange.upload import ReceivedUpload, receive_upload
from securefair.model.foldable import Calibrated, Foldable, foldable
from securefair.model.folded import FoldedNetwork

if TYPE_CHECKING:
    from torch import nn

FEWEST = 4
"""A student may bring down to the agreed number of samples over this, by default."""


def _check_widths(network: FoldedNetwork, agreed: ExchangeSpec) -> None:
    found = math.prod(network.shapes[0]), network.classes
    if found != (agreed.features, agreed.classes):
        raise ModelError(
            "the model does not fit what was agreed",
            where="features, classes",
            found=found,
            expected=(agreed.features, agreed.classes),
        )
    agreed_segments(network, agreed.layers)


def _check_wishes(agreed: object, min_flooding_bits: object, min_samples: object) -> None:
    if not isinstance(agreed, ExchangeSpec | None):
        raise PlanError(
            "this is no spec",
            where="agreed",
            found=type(agreed).__name__,
            expected="securefair.ExchangeSpec(...), or None",
        )
    for name, value in (("min_flooding_bits", min_flooding_bits), ("min_samples", min_samples)):
        if not isinstance(value, Integral | None) or isinstance(value, bool):
            raise PlanError("this is not a whole number", where=name, found=repr(value))


class Answerer:
    """Owns a private model and gives sanitised releases only, as often as it is asked.

    Args:
        model: the head or network to evaluate, or a torch module of such a shape.
        agreed: the spec that both sides agreed on; its number of samples is the most that a
            student may bring. None answers whatever a student specifies.
        seed: public seed that was agreed on for the basis of projections.
        backend: which encryption engine to use; must be the student's ("seal" and "rns" mix).
        device: what computes on ciphertexts: "cpu", or a card such as "cuda" (rns only).
        min_flooding_bits: refuse requests that hide the model less well.
        min_samples: fewest samples that a student may bring, where something was agreed: sums over
            few patients tell more of the model. None: a quarter of the agreed number.

    Raises:
        ModelError: encryption cannot evaluate such a model.
        PlanError: a network without `agreed`: bounds of a stranger's choice would make refusals
            tell what the network computes for its owner's own samples. Or `agreed` is no spec, or
            a minimum no whole number.
        ConfigError, BackendUnavailableError: there is no such engine or device.
    """

    def __init__(
        self,
        model: Foldable | nn.Module,
        agreed: ExchangeSpec | None = None,
        *,
        seed: bytes = b"",
        backend: str = defaults.BACKEND,
        device: str = defaults.PROCESSOR,
        min_flooding_bits: int = defaults.MIN_FLOODING_BITS,
        min_samples: int | None = None,
    ) -> None:
        check_seed(seed)
        _check_wishes(agreed, min_flooding_bits, min_samples)
        self.model = foldable(model)
        if agreed is None and isinstance(self.model, Calibrated):
            raise PlanError(
                "a network answers only what was agreed",
                where="agreed",
                hint="Give Teacher the ExchangeSpec that both sides agreed on",
            )
        if agreed is not None and not (agreed.network or isinstance(self.model, Calibrated)):
            _check_widths(self.model.folded(), agreed)
        self._agreed = agreed
        self._seed = seed
        self._backend = get_backend(backend, device)
        self._min_flooding_bits = min_flooding_bits
        self._min_samples = min_samples
        self._kept: Schedule | None = None

    def receive(
        self,
        spec: ExchangeSpec,
        seed: bytes,
        keys: PublicKeys,
        features: bytes,
        basis: bytes,
        *,
        peer: str = "",
        schedule: Schedule | None = None,
    ) -> ReceivedUpload:
        """Validate a student's keys and ciphertexts once, for any number of answers.

        Args:
            spec: of the exchange, as in `answer`.
            seed: of the basis.
            keys: the student's public keys.
            features, basis: its ciphertexts.
            peer: the caller, as the channel authenticated it: whom answers are charged to. All
                callers without a name share one account.
            schedule: of the student's plan, which is verified in milliseconds. None searches for
                it, which takes up to seconds: only at the word of somebody who is trusted.

        Raises:
            PlanError: the spec is impossible, not what was agreed, or hides the model too little.
            EncryptionError: keys or ciphertexts do not fit the plan.
        """
        self._check_spec(spec, seed)
        able = self._backend.packs_coefficients
        if schedule is not None:
            self._check_parameters(spec, schedule)
        plan = verified_plan(spec, schedule) if schedule else plan_exchange(spec, coefficients=able)
        return receive_upload(plan, self._backend, keys, features, basis, seed=seed, peer=peer)

    @staticmethod
    def prepare(upload: ReceivedUpload, *, most: int | None = None) -> int:
        """Make ahead, while there is nothing else to do, what hides the next answer to an upload.

        Encryptions of zero take longer than the rest of an answer and depend on the student's key
        alone. There are never more of them than one answer needs, and each is used once.

        Args:
            upload: that is going to be asked again.
            most: made by this call; None for all that are missing.

        Returns:
            How many were made: 0 when nothing is left to do.
        """
        plan = upload.plan
        return upload.evaluator.prepare(plan.schedule.flooding_limbs, plan.zeros, most=most)

    def evaluate(self, upload: ReceivedUpload, predictions: bytes | memoryview = b"") -> bytes:
        """One answer to an upload.

        Raises:
            ModelError: the model does not fit the plan; says why, which is for its owner.
            EncryptionError: the encrypted predictions do not fit the plan.
        """
        return self._computed(upload, self._inputs(upload, predictions))

    def _inputs(self, upload: ReceivedUpload, predictions: bytes | memoryview) -> Inputs[Any]:
        plan, factors = upload.plan, upload.factors
        if plan.spec.sends_predictions and plan.factors is not None:
            factors = steps.receive(upload.evaluator, plan.factors, predictions, plan.blocks)
        return Inputs(upload.features, factors, upload.basis.signs, upload.basis.coefficients)

    def _computed(self, upload: ReceivedUpload, inputs: Inputs[Any]) -> bytes:
        model = steps.compile_model(upload.plan, self.model)
        if isinstance(self.model, Calibrated):
            steps.check_own_bounds(upload.plan, model, self.model.calibration)
        return steps.infer(upload.evaluator, upload.plan, model, inputs)

    def _check_spec(self, spec: ExchangeSpec, seed: bytes) -> None:
        """Nothing but the number of samples, within what was agreed, is the student's choice."""
        if spec.flooding_bits < self._min_flooding_bits:
            raise PlanError(
                "the request would hide the model too little",
                where="flooding_bits",
                found=spec.flooding_bits,
                expected=f"at least {self._min_flooding_bits}",
            )
        agreed = self._agreed
        if agreed is None:
            return
        same = msgspec.structs.replace(spec, samples=agreed.samples) == agreed
        if not same or seed != self._seed:
            raise PlanError(
                "the request is not what was agreed",
                hint="Use the same spec and seed on both sides",
            )
        fewest = self._fewest(agreed)
        if not fewest <= spec.samples <= agreed.samples:
            raise PlanError(
                "the request is not what was agreed",
                where="samples",
                found=spec.samples,
                expected=f"{fewest} to {agreed.samples}",
            )

    def _check_parameters(self, spec: ExchangeSpec, schedule: Schedule) -> None:
        """Refuse ring and primes of the student's choice, where something was agreed.

        They are those of the own plan of what was agreed. Who brings fewer samples may plan
        otherwise, in no larger ring and with no more primes than for the agreed number or for the
        fewest: nothing is searched at its word. A plan that was kept is the own one as well; where
        the student has another one, this version may find another, too, and searches.

        Raises:
            PlanError: other parameters, or what was agreed is impossible.
        """
        if self._agreed is None:
            return
        asked = schedule.ckks
        if self._kept is not None and asked == self._kept.ckks:
            return
        own = self._parameters(self._agreed.samples)
        if asked == own:
            return
        most = [own]
        if spec.samples < self._agreed.samples:
            most.append(self._parameters(self._fewest(self._agreed)))
        degree, limbs = max(s.ring_degree for s in most), max(len(s.limb_bits) for s in most)
        if len(most) == 1 or asked.ring_degree > degree or len(asked.limb_bits) > limbs:
            raise PlanError(
                "these are not the parameters of what was agreed",
                where="schedule",
                found=f"N = {asked.ring_degree}, primes: {len(asked.limb_bits)}",
                expected=f"N = {degree}, primes: {limbs}",
                hint="Use the same version of securefair and the same backend on both sides",
            )

    def _parameters(self, samples: int) -> CkksSpec:
        """Those of the own plan of what was agreed, for so many samples; searched once."""
        return self._planned(samples).ckks

    def _planned(self, samples: int) -> Schedule:
        assert self._agreed is not None
        spec = msgspec.structs.replace(self._agreed, samples=samples)
        return plan_exchange(spec, coefficients=self._backend.packs_coefficients).schedule

    def _fewest(self, agreed: ExchangeSpec) -> int:
        """Samples that a student must bring at least."""
        fewest = -(-agreed.samples // FEWEST) if self._min_samples is None else self._min_samples
        return min(max(1, fewest), agreed.samples)
