"""Greedy choice of collaborators: GGC and BGGC (Kharrat, Canini, Horvath, AISTATS 2025).

Participant k wants the set X of peers for which the average of their models and its own does best
on its validation samples. Both algorithms walk through the candidates once, in one random order:

    a = max(R(X + j) - R(X), 0)        what adding j to those chosen would gain
    b = max(R(Y - j) - R(Y), 0)        what removing j from those not yet removed would gain

and add j with probability a / (a + b), or remove it. GGC (Alg. 2) has all models at once; BGGC
(Alg. 3) never holds more than its budget, and keeps weighted sums instead of models. With equal
draws they choose alike (Theorem 1).

Each is a generator that yields models (2, V), is sent their two rewards R (minus the validation
loss), and returns the chosen peers: so whoever drives it decides how to evaluate, and can let many
participants walk in step.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

Rewards = tuple[float, float]
Walk = Generator[Tensor, Rewards, frozenset[int]]
Receive = Callable[[Sequence[int]], Tensor]


@dataclass(frozen=True, kw_only=True)
class Search:
    """What one participant's choice depends on besides the models.

    Args:
        own: k.
        order: the candidates, shuffled; without k.
        coins: a uniform number in [0, 1) for each of them.
        sizes: (N,), p: training samples of all participants.
        budget: B_c, most peers to choose; None: as many as are of use.
        count_self: stop at B_c members of X with k among them, as the published code does.
        resolution: gains below this part of the loss are rounding, and count as none.
    """

    own: int
    order: Sequence[int]
    coins: Sequence[float]
    sizes: Tensor
    budget: int | None = None
    count_self: bool = False
    resolution: float = 0.0

    def adds(self, step: int, before: Rewards, after: Rewards) -> bool:
        """Whether the candidate of this step joins X; otherwise it leaves Y.

        Args:
            before: R(X), R(Y).
            after: R(X + j), R(Y - j).
        """
        a, b = (self._gain(new, old) for new, old in zip(after, before, strict=True))
        # 0 / 0 is 1 (section 3.2): who neither helps nor harms is added.
        return a + b == 0 or self.coins[step] < a / (a + b)

    def full(self, chosen: int) -> bool:
        """Whether X with so many peers has reached the budget."""
        return self.budget is not None and chosen + self.count_self >= self.budget

    def _gain(self, new: float, old: float) -> float:
        gain = new - old
        return gain if gain > self.resolution * max(1.0, abs(old)) else 0.0


def ggc(search: Search, own: Tensor, received: Tensor) -> Walk:
    """Greedy graph construction (Alg. 2) among models that are all at hand.

    Args:
        search: whose choice it is.
        own: (V,), the participant's own model.
        received: (N, V), everyone's; read where candidates are.
    """

    def average(peers: set[int]) -> Tensor:
        rows = sorted(peers)
        weights = search.sizes[rows].double()
        total = weights @ received[rows].double() + search.sizes[search.own].double() * own.double()
        return total / (weights.sum() + search.sizes[search.own])

    chosen: set[int] = set()  # X without k
    left = set(search.order)  # Y without k
    rewards = yield torch.stack([average(chosen), average(left)]).to(own)
    for step, j in enumerate(search.order):
        after = yield torch.stack([average(chosen | {j}), average(left - {j})]).to(own)
        if search.adds(step, rewards, after):
            chosen.add(j)
            rewards = (after[0], rewards[1])
        else:
            left.remove(j)
            rewards = (rewards[0], after[1])
        if search.full(len(chosen)):
            break
    return frozenset(chosen)


def bggc(search: Search, own: Tensor, receive: Receive) -> Walk:
    """Batched greedy graph construction (Alg. 3): at most B_c models of others at a time.

    Args:
        search: whose choice it is.
        own: (V,), the participant's own model.
        receive: asks so many peers for their models, (b, V), which are forgotten afterwards.
    """
    size, p = search.budget or max(1, len(search.order)), search.sizes.double()
    x_weight = y_weight = p[search.own]
    x_sum = y_sum = p[search.own] * own.double()
    batches = [
        list(search.order[start : start + size]) for start in range(0, len(search.order), size)
    ]
    models = None
    for batch in batches:  # lines 1 to 7: the sum of all
        models = receive(batch)
        y_sum = y_sum + p[batch] @ models.double()
        y_weight = y_weight + p[batch].sum()
    chosen: set[int] = set()
    rewards = yield torch.stack([x_sum / x_weight, y_sum / y_weight]).to(own)
    step = 0
    for batch in batches:
        if models is None or len(batches) > 1:  # a single batch is still at hand
            models = receive(batch)
        for j, model in zip(batch, models.double(), strict=True):
            with_j = (x_sum + p[j] * model, x_weight + p[j])
            without_j = (y_sum - p[j] * model, y_weight - p[j])
            after = yield torch.stack([with_j[0] / with_j[1], without_j[0] / without_j[1]]).to(own)
            if search.adds(step, rewards, after):
                chosen.add(j)
                (x_sum, x_weight), rewards = with_j, (after[0], rewards[1])
            else:
                (y_sum, y_weight), rewards = without_j, (rewards[0], after[1])
            step += 1
            if search.full(len(chosen)):
                return frozenset(chosen)
    return frozenset(chosen)
