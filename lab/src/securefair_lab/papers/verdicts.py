"""Whether seeds tell a claim: it holds, it fails, or it cannot be told.

Another seed, or another processor, moves every mean a little. So a claim is not judged by the means
alone, but by all means that the seeds leave possible: those of a t-distribution around them, with
the covariance of the seeds. What was run with the same seed moves together, as in a paired test. Of
one difference of two means this is the paired t-interval of 90 %: it is above 0, below, or neither.
A claim of several settings holds where all of it does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Literal, get_args

import numpy as np

from securefair_lab.papers.experiment import Row

Verdict = Literal["holds", "fails", "cannot be told"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

DRAWS = 400
SURE = 0.95
"""Of all draws: each end of an interval of 90 % leaves a twentieth."""


def verdicts(
    claims: Sequence[Callable[[Sequence[Row]], bool]], rows: Sequence[Row]
) -> list[Verdict]:
    """Of each claim, a question to rows; without two seeds at least, nothing can be told."""
    if any(len(row.each.get(metric, ())) < 2 for row in rows for metric in row.metrics):
        return ["cannot be told" for _ in claims]
    shown = np.zeros(len(claims))
    for possible in _possible(rows):
        shown += [claim(possible) for claim in claims]
    return [_verdict(float(share)) for share in shown / DRAWS]


def _verdict(share: float) -> Verdict:
    if share >= SURE:
        return "holds"
    return "fails" if share <= 1 - SURE else "cannot be told"


def _possible(rows: Sequence[Row]) -> Iterator[list[Row]]:
    """The rows with means that the seeds leave possible; every seed's number moves with its mean.

    With n seeds, centred numbers D (n, K) and normal z (n,), D'z / sqrt(n - 1) has the covariance
    of a seed. Divided by sqrt(n) and by the root of a chi-square over its n - 1 degrees of freedom
    it is by how much a mean may be off. Draws come in opposite pairs, with the mean in the middle.
    """
    keys = [(row, metric) for row in rows for metric in row.metrics]
    each = np.array([row.each[metric] for row, metric in keys])
    seeds = each.shape[1]
    rng = np.random.default_rng(0)
    half = rng.standard_normal((DRAWS // 2, seeds))
    scale = np.sqrt(rng.chisquare(seeds - 1, (DRAWS // 2, 1)) / (seeds - 1))
    weights = half / scale / np.sqrt(seeds * (seeds - 1))
    centred = each - each.mean(axis=1, keepdims=True)
    for off in (centred @ np.concatenate([weights, -weights]).T).T:
        moved = iter(zip(off.tolist(), (each + off[:, None]).tolist(), strict=True))
        result = []
        for row in rows:
            mine = {metric: next(moved) for metric in row.metrics}
            result.append(
                replace(
                    row,
                    metrics={name: row.metrics[name] + by for name, (by, _) in mine.items()},
                    each={name: seen for name, (_, seen) in mine.items()},
                )
            )
        yield result
