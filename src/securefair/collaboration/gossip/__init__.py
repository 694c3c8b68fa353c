"""Gossip averaging without gradients or models in the open (CYCle on Gossip-SGD, Alg. 3).

    gradient -> direction -> sketch -> E(sketch) -> the peer's product -> one LWE sample -> cosine
    cosines -> mixing weights -> links -> private weighted sum of models (`averaging`)

`sketch` and `alignment` carry out the first line, `round` the second, both for one participant;
who says what when is `protocol`'s.
"""

from securefair.collaboration.gossip.alignment import (
    AlignmentPlan,
    AlignmentSpec,
    AlignmentStudent,
    AlignmentTeacher,
    plan_alignment,
)

__all__ = [
    "AlignmentPlan",
    "AlignmentStudent",
    "AlignmentTeacher",
    "AlignmentSpec",
    "plan_alignment",
]
