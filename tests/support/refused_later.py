"""Requests that a plan grants and that are refused later: no work goes into them."""

from __future__ import annotations

import contextlib
import itertools

import msgspec

from securefair.circuit.admission import check_schedule
from securefair.circuit.evaluation import evaluate
from securefair.circuit.planner import ExchangePlan, plan_exchange, verified_plan
from securefair.circuit.schedule import LayerSteps, RescaleStep
from securefair.circuit.spec import ExchangeSpec
from securefair.circuit.weighing import flooded
from securefair.ckks.backends.seal_bytes import SEED_BYTES
from securefair.ckks.backends.wire import switching_key_bytes
from securefair.ckks.keys import PublicKeys
from securefair.ckks.parameters import CkksSpec
from securefair.errors import SecureFairError
from securefair.exchange.request import REQUEST_FORMAT, Request, encode_request

RINGS = (8192, 16_384, 32_768)


def granted(
    spec: ExchangeSpec, *, bits_of: range = range(31, 25, -1), limbs_of: range = range(5, 13)
) -> list[ExchangePlan]:
    """Plans in slots that a teacher verifies, with rings and primes of a student's choice.

    Args:
        spec: of the exchange.
        bits_of: lengths of primes that are tried.
        limbs_of: numbers of them.
    """
    own, found = plan_exchange(spec, coefficients=False).schedule, []
    sizes = itertools.product(RINGS, bits_of, limbs_of)
    for ring_degree, bits, limbs in sizes:
        ckks = CkksSpec(
            ring_degree=ring_degree, limb_bits=(31,) + (bits,) * (limbs - 1), special_bits=31
        )
        whole = RescaleStep(relinearize=False, limbs=limbs)
        stages = tuple(
            LayerSteps(linear=whole, square=None if stage.square is None else whole)
            for stage in own.stages
        )
        schedule = msgspec.structs.replace(own, ckks=ckks, product_limbs=limbs, stages=stages)
        with contextlib.suppress(SecureFairError):
            check_schedule(spec, schedule)
            plan = evaluate(spec, schedule)
            if plan is not None:
                found.append(verified_plan(spec, flooded(plan).schedule))
    return found


def hollow(plan: ExchangePlan) -> bytes:
    """A request of the planned lengths, whose last residue is none; no work goes into it."""
    features = bytearray(plan.feature_bytes)
    features[-SEED_BYTES - 4 : -SEED_BYTES] = b"\xff" * 4
    switching = [
        bytes(switching_key_bytes(plan.params, limbs))
        for limbs in (plan.relinearization_limbs, plan.galois_limbs)
    ]
    return encode_request(
        Request(
            format=REQUEST_FORMAT,
            spec=plan.spec,
            schedule=plan.schedule,
            digest=plan.digest,
            seed=b"",
            public_key=memoryview(bytes(plan.public_key_bytes)),
            evaluation_keys=memoryview(PublicKeys(b"", *switching).evaluation),
            features=memoryview(features),
            basis=memoryview(bytes(plan.basis_bytes)),
            predictions=memoryview(bytes(plan.query_bytes)),
        )
    )
