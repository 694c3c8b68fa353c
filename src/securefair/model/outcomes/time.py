"""Time to an event: Cox's partial likelihood with Efron's ties, penalised, with an offset.

Every hospital keeps its own baseline, so a hazard that differs between hospitals is no problem. A
held-out fold f costs l_-f(b_-f) - l(b_-f), the partial likelihood of the others minus that of all,
at the fit without f (Verweij and van Houwelingen, Statistics in Medicine 1993).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from securefair.data.dataset import Samples
from securefair.data.known import Fault, Known, Range
from securefair.data.table import Target
from securefair.errors import ConfigError
from securefair.model.outcomes.class_scores import ratio
from securefair.model.outcomes.columns import Columns
from securefair.model.outcomes.interface import Frame, OwnPart, StudyOutcome
from securefair.model.outcomes.likelihood import counts_of, known_values
from securefair.model.outcomes.pictures import Shown
from securefair.model.outcomes.survival import (
    baseline,
    check_followed,
    survival,
    survival_pictures,
)
from securefair.records import Picture

Array = NDArray[np.float64]


HORIZONS = tuple(float(one) for one in np.linspace(0.1, 0.9, 9).round(1))
"""Of the integrated Brier score, as quantiles of the different own times of events: a time at which
many had the event counts once."""

QUARTERS = (0.25, 0.5, 0.75)
"""Of own events, until which survival is told where nobody asks about a time."""

ROUNDING = 1e-9
"""Of a sum, by which it may miss a quarter."""

LEAST_EVENTS = 2
"""Of a hospital: one to learn from, and one to hold out."""


class _Steps(NamedTuple):
    """Of S settings: for each of T times up to E events, one after the other.

    Attributes:
        taken: (S, T, E), share of the events at that time that are no longer at risk (Efron).
        risk: (S, T, E), summed hazards at risk, over e^highest; infinite where there is no event.
        hazards: (S, n) of every sample, weighed, over e^highest.
        highest: (S,) predictors.
    """

    taken: Array
    risk: Array
    hazards: Array
    highest: Array


@dataclass(frozen=True, eq=False)
class _Partial:
    """Of samples in the order of their times, all settings at once."""

    times: Array
    events: Array

    @cached_property
    def _order(self) -> NDArray[np.int64]:
        return np.argsort(self.times, kind="stable")

    @cached_property
    def _ordered(self) -> tuple[NDArray[np.int64], NDArray[np.int64], Array]:
        """Where each time begins, the number of its time for each sample, and the events."""
        _, first, at = np.unique(self.times[self._order], return_index=True, return_inverse=True)
        return first, at, self.events[self._order]

    def _by_time(self, values: Array) -> Array:
        """Sums (S, T, ...) over samples of one time, of values (S, n, ...)."""
        first = self._ordered[0]
        if not len(first):
            return values
        result: Array = np.add.reduceat(values, first, axis=1)
        return result

    def _steps(self, predictors: Array, counts: Array) -> _Steps:
        there, (_, _, came) = counts > 0, self._ordered
        highest = np.where(there, predictors, -np.inf).max(axis=1, initial=-np.inf)
        highest = np.where(np.isfinite(highest), highest, 0.0)
        hazards = counts * np.exp(np.minimum(predictors - highest[:, None], 0.0))
        risk = _from_here_on(self._by_time(hazards))
        of_events = self._by_time(hazards * came)
        events = np.rint(self._by_time(counts * came))[..., None]
        number = np.arange(int(events.max(initial=0)))
        taken = number / np.maximum(events, 1)
        left = risk[..., None] - taken * of_events[..., None]
        return _Steps(taken, np.where(number < events, left, np.inf), hazards, highest)

    def total(self, predictors: Array, counts: Array) -> Array:
        predictors, counts = predictors[:, self._order, 0], counts[:, self._order]
        steps = self._steps(predictors, counts)
        logs = np.log(steps.risk, out=np.zeros_like(steps.risk), where=np.isfinite(steps.risk))
        told = (counts * self._ordered[2] * (predictors - steps.highest[:, None])).sum(axis=1)
        result: Array = logs.sum(axis=(1, 2)) - told
        return result

    def derivatives(
        self, columns: Columns, predictors: Array, counts: Array
    ) -> tuple[Array, Array]:
        x, counts, (_, at, came) = columns.flat[self._order], counts[:, self._order], self._ordered
        steps = self._steps(predictors[:, self._order, 0], counts)
        inverse = 1 / steps.risk
        rate = inverse.sum(axis=2).cumsum(axis=1)
        spared = (steps.taken * inverse).sum(axis=2)
        expected = steps.hazards * (rate[:, at] - came * spared[:, at])
        gradient = (expected - counts * came) @ x
        # The sum over events of m m^T with m = (a - taken b) / risk: a of all at risk, b of events.
        weighed = steps.hazards[..., None] * x
        of_events = self._by_time(came[:, None] * weighed)
        at_risk = _from_here_on(self._by_time(weighed))
        squares = inverse**2
        whole, part = squares.sum(axis=2), (steps.taken * squares).sum(axis=2)
        mean = part / np.where(whole > 0, whole, 1.0)
        spread = (squares * (steps.taken - mean[..., None]) ** 2).sum(axis=2)
        hessian = (x.T * expected[:, None, :]) @ x
        hessian -= _gram(at_risk - mean[..., None] * of_events, whole)
        if spread.any():  # events at one time
            hessian -= _gram(of_events, spread)
        return gradient, hessian


def _from_here_on(values: Array) -> Array:
    """Sums (S, T, ...) over a time and all later ones."""
    return values[:, ::-1].cumsum(axis=1)[:, ::-1]


def _gram(rows: Array, weights: Array) -> Array:
    """Sums (S, P, P) of weighed r r^T, of rows (S, T, P)."""
    result: Array = rows.swapaxes(1, 2) @ (weights[..., None] * rows)
    return result


class TimeToEvent(StudyOutcome):
    """See the module; `Samples.values` is (n, 2), a time and whether the event came (1) or not."""

    name: ClassVar = "time"
    title: ClassVar = "the time to an event"
    scores: ClassVar = {
        "concordance": "Concordance",
        "integrated_brier": "Integrated Brier score",
        "partial_log_likelihood": "Partial log-likelihood an event",
    }
    lower_is_better: ClassVar = frozenset({"integrated_brier"})
    metric: ClassVar = "concordance"
    headline: ClassVar = "concordance"
    on_ward: ClassVar = ("concordance", "integrated_brier")
    as_shares: ClassVar = frozenset({"concordance"})
    effect: ClassVar = "hazard_ratio"
    takes_leaves: ClassVar = False
    curvature: ClassVar = 1.0
    moves: ClassVar = False
    beside: ClassVar = {"event": True}
    expects: ClassVar = (
        "a time such as 12.5, in one unit everywhere",
        "1 where the event came, 0 where it was not seen",
    )
    adds_own: ClassVar = True
    own_holds: ClassVar = "the exact time of every own event"
    strata: ClassVar = ("not seen", "event")
    few_events: ClassVar = 6

    def faults(self, numbers: Array) -> Iterator[Fault]:
        """See `StudyOutcome`."""
        times, events = numbers.T
        yield Fault(0, ~(times > 0), "a time to an event is above 0", "such as 12.5")
        yield Fault(
            1,
            ~np.isin(events, (0.0, 1.0)),
            "an event is 1 where it came and 0 where it was not seen",
            "0 or 1",
            "Write codes such as 1 and 2 anew, so that 1 says that the event came",
        )
        if events.sum() < LEAST_EVENTS:
            yield Fault(
                1,
                None,
                "nobody had the event: there is no time to predict"
                if not events.any()
                else "one patient alone had the event: nothing can be held out",
                f"{LEAST_EVENTS} events or more",
                "Such a hospital cannot take part in a study of this event",
            )

    def known(self, numbers: Array, within: Range | None) -> Known:
        """See `StudyOutcome`: strata are events and those who are censored."""
        del within
        return Known(numbers[:, 1].astype(np.int64), 2, numbers)

    def events(self, numbers: Array) -> Array:
        """See `StudyOutcome`."""
        return numbers[:, 1]

    def strata_of(self, target: Target) -> str:
        """See `StudyOutcome`: the column of events."""
        return target.beside[0]

    def likelihood(self, samples: Samples) -> _Partial:
        """See `StudyOutcome`."""
        return _Partial(*_values(samples))

    def losses(self, predictors: Array, samples: Samples) -> Array:
        """See `StudyOutcome`: of all samples together, U = 1."""
        flat = predictors.reshape(-1, *predictors.shape[-2:])
        total = self.likelihood(samples).total(flat, np.ones(flat.shape[:2]))
        return total.reshape(*predictors.shape[:-2], 1)

    def unseen(self, predictors: Array, folds: NDArray[np.int64]) -> Array:
        """See `StudyOutcome`: all of them, as those held out are ranked among the others."""
        del folds
        return predictors

    def held_out(self, unseen: Array, samples: Samples, folds: NDArray[np.int64]) -> Array:
        """See `StudyOutcome`: unseen (..., F, n, 1) -> (..., F)."""
        likelihood, number = self.likelihood(samples), unseen.shape[-3]
        every = np.tile(counts_of(samples), (number, 1))
        kept = every * (folds != np.arange(number)[:, None])
        flat = unseen.reshape(-1, number, *unseen.shape[-2:])
        costs = [likelihood.total(one, every) - likelihood.total(one, kept) for one in flat]
        return np.stack(costs).reshape(unseen.shape[:-2])

    def own_part(self, predictors: Array, samples: Samples, spread: float | None = None) -> OwnPart:
        """See `StudyOutcome`: Breslow's cumulative baseline hazard at the different own times of
        events, how many events came at each, and the longest time that anybody was followed."""
        del spread
        times, events = _values(samples)
        counts = counts_of(samples)
        hazards, came = counts * np.exp(predictors[:, 0]), counts * events
        at = np.unique(times[events > 0])
        number = [float(came[times == one].sum()) for one in at]
        steps = [one / hazards[times >= time].sum() for one, time in zip(number, at, strict=True)]
        return {
            "times": at.tolist(),
            "hazard": np.cumsum(steps).tolist(),
            "events": number,
            "until": [float(times.max())] if len(times) else [],
        }

    def drawn(self, predictors: Array, rng: np.random.Generator) -> Known:
        """See `StudyOutcome`: whole times, so that some are alike; a third is censored."""
        times = rng.exponential(10 * np.exp(-predictors[:, 0]))
        left = rng.exponential(20, len(times))
        seen = np.ceil(np.minimum(times, left))
        events = (times <= left).astype(np.float64)
        return Known(events.astype(np.int64), 2, np.column_stack([seen, events]))

    def said(self, predictors: Array, own: OwnPart) -> Array:
        """See `StudyOutcome`.

        (B, 1 + 2 H): the log of the hazard against that of a patient of predictor 0, survival until
        H horizons by the own baseline, and these horizons.
        """
        if not own["times"]:
            return predictors
        horizons = np.quantile(np.array(own["times"]), HORIZONS)
        surviving = survival(predictors, own, horizons)
        return np.column_stack([predictors, surviving, np.tile(horizons, (len(predictors), 1))])

    def told(self, said: Array, frame: Frame) -> dict[str, Array]:
        """See `StudyOutcome`: the log hazard ratio, and survival until each horizon."""
        horizons = np.array(frame.horizons or usual_horizons(frame.own), dtype=np.float64)
        if not (np.isfinite(horizons) & (horizons > 0)).all():
            raise ConfigError("a horizon is a time above 0", where="horizon", found=horizons.min())
        if frame.horizons:
            check_followed(frame.own, horizons)
        surviving = survival(said[:, :1], frame.own, horizons)
        return {
            "log_hazard_ratio": said[:, 0],
            **{
                f"survival_{horizon:g}": surviving[:, at]
                for at, horizon in enumerate(horizons.tolist())
            },
        }

    def expected_and_seen(
        self, said: Array, own: OwnPart, samples: Samples
    ) -> tuple[float, float] | None:
        """See `StudyOutcome`: cumulative hazards until own times, which are as many as events."""
        if not own["times"]:
            return None
        times, events = _values(samples)
        return float(np.exp(said[:, 0]) @ baseline(own, times)), float(events.sum())

    def weighted_scores(self, said: Array, samples: Samples, weights: Array) -> dict[str, Array]:
        """See `StudyOutcome`; concordance is Harrell's. NaN where no pair, or event, tells.

        The integrated Brier score is the mean over the horizons, which are the deciles of the
        different own times of events (`HORIZONS`). Patients who are censored before one are made up
        for by those who are not (Graf et al., Statistics in Medicine 1999), by the censoring of all
        that are scored; a horizon that nobody was followed until is left out.
        """
        times, events = _values(samples)
        risk = said[:, 0]
        first = (times[:, None] < times) | ((times[:, None] == times) & (events < events[:, None]))
        first &= events[:, None] > 0
        right = first * (np.sign(risk[:, None] - risk) + 1) / 2
        pairs = ((weights @ first) * weights).sum(axis=1)
        told = ((weights @ right) * weights).sum(axis=1)
        happened = weights @ events
        every = np.broadcast_to(said[:, :1], (len(weights), len(said), 1))
        likely = -self.likelihood(samples).total(every, weights)
        return {
            "concordance": ratio(told, pairs),
            "integrated_brier": _brier(said, times, events, weights),
            "partial_log_likelihood": ratio(likely, happened),
        }

    def pictures(self, shown: Sequence[Shown]) -> list[Picture]:
        """See `StudyOutcome`."""
        return survival_pictures(shown)

    def reliability(self, said: Array, samples: Samples) -> tuple[Array, Array]:
        """See `StudyOutcome`: the predictor, and whether the event came."""
        return said[:, 0], _values(samples)[1]


def usual_horizons(own: OwnPart) -> list[float]:
    """Times until which a quarter, half and three quarters of own events came, three digits: of
    each the earliest at which an event came; none without events.
    """
    times = np.array(own["times"])
    if not len(times):
        return []
    came = np.cumsum(own["events"])
    quarters = times[np.searchsorted(came, np.array(QUARTERS) * came[-1] * (1 - ROUNDING))]
    return list(dict.fromkeys(float(f"{one:.3g}") for one in quarters))


def _brier(said: Array, times: Array, events: Array, weights: Array) -> Array:
    """The mean over patients, for each weighting, and over the horizons in `said`; NaN without."""
    number = len(HORIZONS)
    if said.shape[1] <= number:
        return np.full(len(weights), np.nan)
    surviving, horizons = said[:, 1 : 1 + number], said[:, 1 + number :]
    at = np.unique(times[events == 0])
    kept = _kept(at, times, events, weights)
    before = kept[:, np.searchsorted(at, times, side="left")]  # just before the own time
    until = kept[:, np.searchsorted(at, horizons, side="right")]
    died = (times[:, None] <= horizons) & (events[:, None] > 0)
    alive = times[:, None] > horizons
    # Beyond, everybody left is censored, and nothing is known.
    followed = weights[:, :, None] * (until > 0)
    errors = np.einsum("rbh,rb,bh->r", followed, _inverse(before), died * surviving**2)
    errors += np.einsum("rbh,rbh,bh->r", followed, _inverse(until), alive * (1 - surviving) ** 2)
    return ratio(errors, followed.sum(axis=(1, 2)))


def _kept(at: Array, times: Array, events: Array, weights: Array) -> Array:
    """The share that is not censored by a time (Kaplan-Meier), (R, T + 1), for times (T,).

    Who has the event at a time is censored after it, if at all.
    """
    here = (times[:, None] == at) & (events[:, None] == 0)
    lost = weights @ here
    at_risk = weights @ (here | (times[:, None] > at))
    left = 1 - np.divide(lost, at_risk, out=np.zeros_like(lost), where=at_risk > 0)
    return np.hstack([np.ones((len(weights), 1)), np.cumprod(left, axis=1)])


def _inverse(share: Array) -> Array:
    """1 over it; 0 where it is 0: nobody is there who would be made up for."""
    result: Array = np.divide(1.0, share, out=np.zeros_like(share), where=share > 0)
    return result


def _values(samples: Samples) -> tuple[Array, Array]:
    values = known_values(samples)
    return values[:, 0], values[:, 1]


OUTCOME = TimeToEvent()
