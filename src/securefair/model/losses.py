"""The distillation loss of CaPriDe (Eq. 3), its gradient, and who computes which part of it.

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
from torch.nn.functional import kl_div, log_softmax, softmax


def approximate_kl(student_logits: Tensor, teacher_logits: Tensor, temperature: float) -> Tensor:
    """The distillation loss L(u, z) of each sample, (..., B); differentiable in both arguments."""
    log_p = log_softmax(student_logits / temperature, dim=-1)
    return (log_p.exp() * (log_p - teacher_logits / temperature)).sum(dim=-1)


def exact_kl(student_logits: Tensor, teacher_logits: Tensor, temperature: float) -> Tensor:
    """KL(p || softmax(z / T)) of each sample, (B,), never negative beyond rounding."""
    log_p = log_softmax(student_logits / temperature, dim=1)
    log_q = log_softmax(teacher_logits / temperature, dim=1)
    return kl_div(log_q, log_p, reduction="none", log_target=True).sum(dim=1)


def student_part(student_logits: Tensor, temperature: float) -> Tensor:
    """p . log p of each sample, (B,): minus the entropy, the part that needs no teacher."""
    log_p = log_softmax(student_logits / temperature, dim=1)
    return (log_p.exp() * log_p).sum(dim=1)


def teacher_part(student_logits: Tensor, teacher_logits: Tensor, temperature: float) -> Tensor:
    """p_c z_c / T of each sample and class, (B, M); L = student_part - the sum over classes.

    Summed over samples it is the `class_sums` release, over everything the `loss` release.
    """
    return softmax(student_logits / temperature, dim=1) * teacher_logits / temperature


def gradient(student_logits: Tensor, teacher_logits: Tensor, temperature: float) -> Tensor:
    """dL/du of each sample in closed form, (B, M): (1/T) p_c (q_c - p . q), q = log p - z / T."""
    log_p = log_softmax(student_logits / temperature, dim=1)
    p, q = log_p.exp(), log_p - teacher_logits / temperature
    return p * (q - (p * q).sum(dim=1, keepdim=True)) / temperature


def z_part(student_logits: Tensor, teacher_logits: Tensor, temperature: float) -> Tensor:
    """The share of `gradient` that depends on the teacher, (B, M).

    -(1/T^2) p_c (z_c - s) with s = p . z; linear in z, and each row sums to zero.
    """
    p = softmax(student_logits / temperature, dim=1)
    expected = (p * teacher_logits).sum(dim=1, keepdim=True)
    return -p * (teacher_logits - expected) / temperature**2
