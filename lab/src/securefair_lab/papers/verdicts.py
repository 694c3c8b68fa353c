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
_LOOK_EVERY = 64  # draws


def verdicts(
    claims: Sequence[Callable[[Sequence[Row]], Parts]], rows: Sequence[Row], *, start: int = 0
) -> list[Verdict]:
    """Of each claim, a question to rows; without two seeds at least, nothing can be told.

    Args:
        start: of the generator; verdicts that turn with it stand on the edge.
    """
    if any(len(row.each.get(metric, ())) < 2 for row in rows for metric in row.metrics):
        return ["cannot be told" for _ in claims]
    counts = [_Count() for _ in claims]
    for possible in _possible(rows, start):
        open_still = False
        for claim, count in zip(claims, counts, strict=True):
            if not count.untold:
                count.add(claim(possible))
                open_still = True
        if not open_still:
            break
    return [count.verdict for count in counts]


class _Count:
    """In how many draws a claim is true, and each of its parts.

    Attributes:
        untold: whether no further draw can make it hold or fail. Counts only rise: so most claims
            that cannot be told are through after a few hundred draws.
    """

    def __init__(self) -> None:
        self.draws, self.true, self.untold, self.but = 0, 0, False, 0
        self.parts: NDArray[np.int64] = np.zeros(0, dtype=np.int64)

    def add(self, found: Parts) -> None:
        """What was found in another draw."""
        if self.draws == 0:
            self.parts, self.but = np.zeros(len(found.each), dtype=np.int64), found.but
        self.draws += 1
        self.true += bool(found)
        self.parts += np.asarray(found.each, dtype=np.int64)
        self.untold = self.draws % _LOOK_EVERY == 0 and self.verdict == "cannot be told"

    @property
    def verdict(self) -> Verdict:
        """After all draws; before, what is possible still."""
        if (self.true + DRAWS - self.draws) / DRAWS >= SURE:
            return "holds"
        failing = self.parts / DRAWS <= (1 - SURE) / max(len(self.parts), 1)
        return "fails" if np.count_nonzero(failing) > self.but else "cannot be told"


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
    names = [tuple(row.metrics) for row in rows]
    ends = np.cumsum([len(own) for own in names]).tolist()
    places = [slice(end - len(own), end) for own, end in zip(names, ends, strict=True)]
    keys = [(row, metric) for row in rows for metric in row.metrics]
    means = np.array([row.metrics[metric] for row, metric in keys])
    each = np.array([row.each[metric] for row, metric in keys])
    centred = each - each.mean(axis=1, keepdims=True)
    for off in (centred @ _weights(each.shape[1], start).T).T:
        moved, seen = (means + off).tolist(), (each + off[:, None]).tolist()
        yield [
            Row(
                fields=row.fields,
                metrics=dict(zip(own, moved[at], strict=True)),
                spread=row.spread,
                paper=row.paper,
                each=dict(zip(own, seen[at], strict=True)),
            )
            for row, own, at in zip(rows, names, places, strict=True)
        ]
