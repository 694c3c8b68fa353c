"""The distillation loss of CaPriDe (Eq. 3).

One sample's loss between the student's logits u and a teacher's logits z at temperature T, with
p = softmax(u / T):

    L(u, z) = p . log p  -  p . z / T  =  KL(p || softmax(z / T))  -  logsumexp(z / T)

The last term does not depend on the student, so L has the gradient of the exact KL and only its
value is shifted (it can be negative). L is affine in z: the first part is the student's own, the
second is all that a teacher's answer is needed for, and a weighted sum over teachers needs only
their weighted mean logits. Adding a constant to a sample's z changes no gradient.

Tensors are (B, M) float64; per-sample results (B,). Nothing here averages: the caller does.
"""

from __future__ import annotations

from torch import Tensor
from torch.nn.functional import log_softmax


def approximate_kl(student_logits: Tensor, teacher_logits: Tensor, temperature: float) -> Tensor:
    """The distillation loss L(u, z) of each sample, (..., B); differentiable in both arguments."""
    log_p = log_softmax(student_logits / temperature, dim=-1)
    return (log_p.exp() * (log_p - teacher_logits / temperature)).sum(dim=-1)
