"""The security of a plan's keys by two cost models: what `securefair plan --estimate` prints."""

from __future__ import annotations

import msgspec

from securefair.ckks import lattice
from securefair.ckks.parameters import CkksParameters
from securefair.ckks.security import MAX_LOG_QP, SECURITY_BITS

FORMULAS = {"core_svp": "0.292 beta", "bdgl16": "0.292 beta + 16.4 + log2(8 d)"}


class LatticeCostModel(msgspec.Struct, frozen=True, kw_only=True):
    """What one cost model says.

    Attributes:
        bits: log2 of the operations of the attack.
        formula: formula of the model, beta the block size and d the dimension of the lattice.
    """

    bits: float
    formula: str


class SecurityEstimate(msgspec.Struct, frozen=True, kw_only=True):
    """An estimate, and no proof, of what an attack on a plan's keys would take.

    Attributes:
        attack: that is estimated; others may need some bits less.
        block, dimension: beta and d of the attack.
        models: by name: "core_svp" and "bdgl16".
        target_bits: that the table of moduli is made for.
        margin_bits: by which the modulus of the plan is shorter than the table allows.
        estimator_call: the same question to the public lattice-estimator, in Sage.
    """

    attack: str
    block: int
    dimension: int
    models: dict[str, LatticeCostModel]
    target_bits: int
    margin_bits: float
    estimator_call: str


def security_estimate(params: CkksParameters) -> SecurityEstimate:
    """Both cost models for the keys of a parameter set."""
    found = lattice.estimate(params)
    return SecurityEstimate(
        attack="primal, unique shortest vector",
        block=found.block,
        dimension=found.dimension,
        models={
            name: LatticeCostModel(bits=round(getattr(found, name), 1), formula=formula)
            for name, formula in FORMULAS.items()
        },
        target_bits=SECURITY_BITS,
        margin_bits=round(MAX_LOG_QP[params.ring_degree] - params.log_qp, 1),
        estimator_call=lattice.estimator_call(params),
    )


def estimate_text(found: SecurityEstimate) -> str:
    """A paragraph for a terminal."""
    lines = [
        f"Security, estimated ({found.attack}; block size {found.block}, dimension "
        f"{found.dimension}):"
    ]
    lines += [
        f"  {name:<9} {model.bits:6.1f} bits  ({model.formula})"
        for name, model in found.models.items()
    ]
    lines += [
        f"The modulus is {found.margin_bits:.1f} bits shorter than the table for "
        f"{found.target_bits} bits allows.",
        f"Ask the lattice-estimator yourself: {found.estimator_call}",
    ]
    return "\n".join(lines)
