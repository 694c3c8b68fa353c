"""Plans with so many features beside each other in a ciphertext, also where others cost less."""

from securefair.circuit import weighing
from securefair.circuit.candidates import kept_whole
from securefair.circuit.network import affine_specs
from securefair.circuit.planner import verified_plan
from securefair.ckks.security import MAX_LOG_QP


def plan_beside(spec, parts, ring_degree=8192):
    """The cheapest one of that ring, verified as a stranger's."""
    cap = MAX_LOG_QP[ring_degree]
    found = list(
        kept_whole(spec, affine_specs(spec), ring_degree, cap, packing="beside", parts=parts)
    )
    granting = weighing.granting(found)
    assert granting, f"no plan with {parts} features beside each other"
    best = min(granting, key=weighing.exchange_cost)
    plan = verified_plan(spec, weighing.flooded(best[0]).schedule)
    assert plan.schedule.parts == parts
    return plan
