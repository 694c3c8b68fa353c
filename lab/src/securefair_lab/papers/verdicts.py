"""Whether seeds tell a claim: it holds, it fails, or it cannot be told.

Another seed, or another processor, moves every mean a little. So a claim is not judged by the means
alone, but by all means that the seeds leave possible: those of a t-distribution around them, with
the covariance of the seeds. What was run with the same seed moves together, as in a paired test. Of
one difference of two means this is the paired t-interval of 90 %: it is above 0, below, or neither.

A claim of several settings holds where all of it does at once. It fails where a part of it fails by
itself. That all of it is seldom true at once shows nothing: of five settings without a difference,
all five are above in one draw of 32. One part of many is also below by chance. So the twentieth is
shared by all parts (Bonferroni): where nothing is different, a claim fails in a twentieth of cases
at most, whatever its number of parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2, norm, qmc

from securefair_lab.papers.experiment import Parts, Row

Verdict = Literal["holds", "fails", "cannot be told"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

DRAWS = 4096
"""Spread evenly (Sobol), in opposite pairs: as exact as many more drawn at random."""
SURE = 0.95
"""Of all draws: each end of an interval of 90 % leaves a twentieth."""


def verdicts(
    claims: Sequence[Callable[[Sequence[Row]], Parts]], rows: Sequence[Row], *, start: int = 0
) -> list[Verdict]:
    """Of each claim, a question to rows; without two seeds at least, nothing can be told.

    Args:
        start: of the generator; verdicts that turn with it stand on the edge.
    """
    if any(len(row.each.get(metric, ())) < 2 for row in rows for metric in row.metrics):
        return ["cannot be told" for _ in claims]
    shown: list[list[Parts]] = [[] for _ in claims]
    for possible in _possible(rows, start):
        for claim, found in zip(claims, shown, strict=True):
            found.append(claim(possible))
    return [_verdict(found) for found in shown]


def _verdict(found: Sequence[Parts]) -> Verdict:
    """Of what was found in every draw."""
    if np.mean([bool(one) for one in found]) >= SURE:
        return "holds"
    parts = np.mean([one.each for one in found], axis=0)
    failing = parts <= (1 - SURE) / max(len(parts), 1)
    return "fails" if np.count_nonzero(failing) > found[0].but else "cannot be told"


def _weights(seeds: int, start: int) -> NDArray[np.float64]:
    """By how much a mean may be off, in every draw, as weights of centred seeds: (DRAWS, seeds).

    With n seeds, centred numbers D (n, K) and normal z (n,), D'z / sqrt(n - 1) has the covariance
    of a seed. Divided by sqrt(n) and by the root of a chi-square over its n - 1 degrees of freedom
    it is by how much a mean may be off. Draws come in opposite pairs, with the mean in the middle.
    """
    even = qmc.Sobol(seeds + 1, seed=np.random.default_rng(start)).random(DRAWS // 2)
    even = np.clip(even, 1e-9, 1 - 1e-9)
    scale = np.sqrt(chi2.ppf(even[:, -1:], seeds - 1) / (seeds - 1))
    half = norm.ppf(even[:, :-1]) / scale / np.sqrt(seeds * (seeds - 1))
    return np.concatenate([half, -half])


def _possible(rows: Sequence[Row], start: int) -> Iterator[list[Row]]:
    """The rows with means that the seeds leave possible; every seed's number moves with its mean.

    See `_weights`.
    """
    keys = [(row, metric) for row in rows for metric in row.metrics]
    each = np.array([row.each[metric] for row, metric in keys])
    centred = each - each.mean(axis=1, keepdims=True)
    for off in (centred @ _weights(each.shape[1], start).T).T:
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
