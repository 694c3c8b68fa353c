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

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import rel_entr
from scipy.stats import chi2, norm, qmc

from securefair_lab.papers.experiment import Parts, Row

Verdict = Literal["holds", "fails", "cannot be told"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

DRAWS = 4096
"""Spread evenly (Sobol), in opposite pairs: as exact as many more drawn at random."""
SURE = 0.95
"""Of all draws: each end of an interval of 90 % leaves a twentieth."""
CHANCE = 1e-6
"""With which, at each look, some draws may mislead about all: a bound for independent draws."""
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
        unanswered = [pair for pair in zip(claims, counts, strict=True) if not pair[1].verdict]
        if not unanswered:
            break
        for claim, count in unanswered:
            count.add(claim(possible))
    return [count.verdict or "cannot be told" for count in counts]


class _Count:
    """In how many draws a claim is true, and each of its parts.

    Attributes:
        verdict: None as long as the draws that are left may decide. Most claims are told after a
            few hundred draws.
    """

    def __init__(self) -> None:
        self.draws, self.true = 0, 0
        self.parts: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.verdict: Verdict | None = None

    def add(self, found: Parts) -> None:
        """What was found in another draw."""
        if self.draws == 0:
            self.parts = np.zeros(len(found.each), dtype=np.int64)
        self.draws += 1
        self.true += bool(found)
        self.parts += np.asarray(found.each, dtype=np.int64)
        if self.draws % _LOOK_EVERY == 0:
            self.verdict = self._told(found.but)

    def _told(self, but: int) -> Verdict | None:
        all_true = _side(np.array([self.true]), self.draws, SURE)[0]
        if all_true > 0:
            return "holds"
        parts = _side(self.parts, self.draws, (1 - SURE) / max(len(self.parts), 1))
        if all_true == 0:
            return None
        if np.count_nonzero(parts < 0) > but:
            return "fails"
        return "cannot be told" if np.count_nonzero(parts <= 0) <= but else None


def _side(true: NDArray[np.int64], draws: int, share: float) -> NDArray[np.int64]:
    """Of counts in so many draws: 1 where of all DRAWS more than a share is true, -1 where less.

    0 where it is open still. Either no further draw can turn it, or, among the first half, which
    are no pairs, Chernoff's bound leaves it CHANCE: exp(-n KL(count / n, share)) for n draws.
    """
    sure = np.where(true + DRAWS - draws < share * DRAWS, -1, np.where(true > share * DRAWS, 1, 0))
    if draws > DRAWS // 2:
        return sure
    seen = true / draws
    apart = rel_entr(seen, share) + rel_entr(1 - seen, 1 - share)
    likely = np.where(draws * apart > -np.log(CHANCE), np.sign(seen - share), 0)
    return np.where(sure == 0, likely.astype(np.int64), sure)


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

    They are the same objects every time, with other numbers: thousands of draws make none anew.
    See `_weights`.
    """
    names = [tuple(row.metrics) for row in rows]
    ends = np.cumsum([len(own) for own in names]).tolist()
    places = [slice(end - len(own), end) for own, end in zip(names, ends, strict=True)]
    keys = [(row, metric) for row in rows for metric in row.metrics]
    means = np.array([row.metrics[metric] for row, metric in keys])
    each = np.array([row.each[metric] for row, metric in keys])
    centred = each - each.mean(axis=1, keepdims=True)
    metrics = [dict(row.metrics) for row in rows]
    seeds = [_Moved(row.each, own) for row, own in zip(rows, names, strict=True)]
    drawn = [
        replace(row, metrics=own, each=moved)
        for row, own, moved in zip(rows, metrics, seeds, strict=True)
    ]
    parts = list(zip(metrics, seeds, names, places, strict=True))
    for off in (centred @ _weights(each.shape[1], start).T).T:
        values, by = (means + off).tolist(), off.tolist()
        for now, moved, own, at in parts:
            now.update(zip(own, values[at], strict=True))
            moved.by = by[at]
        yield drawn


class _Moved(Mapping[str, Sequence[float]]):
    """Every seed's number, each metric moved by its own; few claims ask for any.

    Attributes:
        by: how far each metric is moved, in the order of names.
    """

    def __init__(self, each: Mapping[str, Sequence[float]], names: tuple[str, ...]) -> None:
        self.by: Sequence[float] = ()
        self._each, self._names = each, names
        self._place = {name: place for place, name in enumerate(names)}

    def __getitem__(self, name: str) -> Sequence[float]:
        by = self.by[self._place[name]]
        return [one + by for one in self._each[name]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
