"""The exact Kullback-Leibler divergence, which CaPriDe's loss approximates."""

from torch import Tensor
from torch.nn.functional import kl_div, log_softmax


def exact_kl(student_logits: Tensor, teacher_logits: Tensor, temperature: float) -> Tensor:
    """KL(softmax(u / T) || softmax(z / T)) of each sample, (B,)."""
    log_p = log_softmax(student_logits / temperature, dim=1)
    log_q = log_softmax(teacher_logits / temperature, dim=1)
    return kl_div(log_q, log_p, reduction="none", log_target=True).sum(dim=1)
