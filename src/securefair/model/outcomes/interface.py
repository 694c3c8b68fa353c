"""What an outcome is: all that the rest of the package asks of a question that a study puts.

A teacher answers with a linear predictor of a patient's features, whatever the outcome is. An
outcome says what a predictor means:

    columns -> what is known of a patient -> likelihood of a fit -> score of held-out patients
    predictor -> what is said of a patient -> scores, with what is known

An outcome is a file of this folder and a line of `register`. Laws, which
`tests/contract/test_outcomes.py` asks of every outcome that is registered:

- The derivatives of a likelihood are those of its total, and its curvature is never negative.
- A sample that counts 0 is as good as not there.
- The held-out score of a better predictor is lower, in nats, and is a sum over its units.
- Bootstrap weights count samples: a sample of weight 2 is that sample twice.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from securefair.data.dataset import Samples
from securefair.data.known import Fault, Known, Range
from securefair.data.table import Target
from securefair.errors import ConfigError, DataError
from securefair.model.outcomes.columns import Columns
from securefair.model.outcomes.likelihood import Likelihood, counts_of
from securefair.model.outcomes.pictures import Shown
from securefair.records import Picture

Array = NDArray[np.float64]

OwnPart = Mapping[str, Sequence[float]]
"""What a hospital adds to predictors from its own patients alone, such as a baseline."""


class Frame(NamedTuple):
    """What a prediction needs besides what is said of a patient.

    Attributes:
        classes: their names; none where an outcome has none.
        own: that the hospital adds.
        within: the public range of a number.
        horizons: times that somebody asks about; empty: the outcome's own.
    """

    classes: Sequence[str]
    own: OwnPart
    within: Range | None
    horizons: Sequence[float] = ()


class StudyOutcome(ABC):
    """One kind of outcome; it holds no state.

    Attributes:
        name: in the register, in configurations and records.
        title: for people, as in "predicts ...".
        scores: names of all scores, each with its title for people, in the order of tables.
        lower_is_better: those of them.
        metric: the score that decides what is better where nobody says another.
        described_by: scores that say what predictions are like, and not which are better.
        headline: the score of records of rounds and of gains.
        of_units: scores whose zero moves with the label's unit (`level`).
        tells_classes: whether labels are classes: usual classifiers are controls then.
        takes_leaves: whether fits of leaves of public trees compete: where they were measured to be
            worth something.
        curvature: the largest second derivative of a patient's loss by its predictor, where fits
            can be added up and that is measured; None: they are not.
        spreads: whether what is said has a deviation, which hospitals find together (`squares`).
        effect: what `effect_of` gives; empty where no single number says it.
        shown: of `scores`, those that a table has room for, the most wanted first.
        on_ward: of `scores`, those that the first page of a report tells; none: `headline`.
        as_shares: those that people read in per cent.
        moves: whether a number may be added to predictors: not where everybody has a baseline.
        beside: keys of a table's rules that name columns beside the label, and whether it needs
            each.
        expects: what stands in the label's column and in those beside it, for people.
        ranged: whether a public range scales the label.
        link: what the first number that is told is of a predictor: itself, in the label's range
            where `ranged`, or e to it, which is bounded at `farthest`.
        adds_own: whether predictions rest on an `own_part` of a hospital's own patients.
        own_holds: what such a part holds of single patients, for people; empty: nothing.
        strata: names of the parts by which patients are held out; none where these are classes.
        few_events: of a hospital, below which what it adds to a sum tells who had one
            (docs/notebook/sums.md); 0 where nobody measured that.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    scores: ClassVar[Mapping[str, str]]
    lower_is_better: ClassVar[frozenset[str]]
    metric: ClassVar[str]
    described_by: ClassVar[frozenset[str]] = frozenset()
    headline: ClassVar[str]
    of_units: ClassVar[frozenset[str]] = frozenset()
    tells_classes: ClassVar[bool] = False
    effect: ClassVar[str] = ""
    takes_leaves: ClassVar[bool] = True
    curvature: ClassVar[float | None] = None
    spreads: ClassVar[bool] = False
    shown: ClassVar[tuple[str, ...]] = ()
    on_ward: ClassVar[tuple[str, ...]] = ()
    as_shares: ClassVar[frozenset[str]] = frozenset()
    moves: ClassVar[bool] = True
    beside: ClassVar[Mapping[str, bool]] = {}
    expects: ClassVar[tuple[str, ...]] = ("a finite number", "a finite number")
    ranged: ClassVar[bool] = False
    link: ClassVar[Literal["identity", "exp"]] = "identity"
    farthest: ClassVar[float] = 32.0
    strata: ClassVar[tuple[str, ...]] = ()
    adds_own: ClassVar[bool] = False
    own_holds: ClassVar[str] = ""
    few_events: ClassVar[int] = 0

    def deciding(self, metric: str | None) -> str:
        """The score that decides what is better: a setting, or its own.

        Raises:
            ConfigError: it has no such score, or nobody is better by it.
        """
        if metric is None:
            return self.metric
        deciders = [name for name in self.scores if name not in self.described_by]
        if metric not in deciders:
            raise ConfigError(
                f"models of {self.title} are not compared by this score",
                where="run.metric",
                found=metric,
                expected=f"of {', '.join(deciders)}",
            )
        return metric

    def level(self, score: str, mean: float) -> float:
        """What a difference of a score is a share of: the score, where its zero means something.

        1 where the zero moves with the label's unit: a verdict must not depend on that.
        """
        return 1.0 if score in self.of_units else mean

    def faults(self, numbers: Array) -> Iterator[Fault]:
        """What is wrong with a table's numbers (B, k), the label first; none in most outcomes."""
        del numbers
        return iter(())

    def known(self, numbers: Array, within: Range | None) -> Known:
        """What a table's numbers say, (B, k), the label first and then what stands beside it.

        Args:
            numbers: without faults.
            within: the public range of a number.

        Raises:
            ConfigError: codes of a label tell this outcome.
        """
        del numbers, within
        raise ConfigError("codes of a label tell classes", where="table.outcome", found=self.name)

    def events(self, numbers: Array) -> Array | None:
        """How many events each row of what is known, (B, k), has, (B,); None: nothing is one."""
        del numbers
        return None

    def strata_of(self, target: Target) -> str:
        """The column of a table whose levels `strata` are."""
        return target.name

    def outputs(self, strata: int) -> int:
        """Predictors of a model, L; `strata` is `Samples.classes`."""
        del strata
        return 1

    @abstractmethod
    def likelihood(self, samples: Samples) -> Likelihood:
        """Of these samples."""

    @abstractmethod
    def losses(self, predictors: Array, samples: Samples) -> Array:
        """Held-out losses, nats: of predictors (..., n, L) by fits that did not see the sample.

        Returns:
            (..., U), one for each of U units whose sum is the score: samples, where these are
            separable.
        """

    def unseen(self, predictors: Array, folds: NDArray[np.int64]) -> Array:
        """What `held_out` needs of the fits of a cross-validation.

        Args:
            predictors: (S, F, n, L), of all samples by the fit without each fold.
            folds: (n,), which fold holds a sample out.

        Returns:
            (S, n, L), each sample's by the fit that did not see it; or more, where a score of
            held-out samples needs the others. Weighted sums over S commute with this.
        """
        result: Array = predictors[:, folds, np.arange(len(folds))]
        return result

    def held_out(self, unseen: Array, samples: Samples, folds: NDArray[np.int64]) -> Array:
        """Losses (..., U) of what `unseen` gave, weighed as the samples are."""
        del folds
        each = self.losses(unseen, samples)
        return each if samples.weights is None else each * samples.weights

    def temperature(self, unseen: Array, samples: Samples) -> float:
        """What predictors are to be divided by to be as sure as held-out samples allow."""
        del unseen, samples
        return 1.0

    def squares(self, unseen: Array, samples: Samples) -> float | None:
        """The mean square of how far held-out samples are from what `unseen` gave of them, (n, L);
        None unless `spreads`."""
        del unseen, samples
        return None

    def curvatures(self, columns: Array, predictors: Array, samples: Samples) -> Array:
        """Second derivatives (K, K) of the loss of all samples by coefficients of columns (n, K),
        at predictors (n, L): the mean over these L."""
        rows, width = predictors.shape
        own, counts = Columns(columns, np.empty((rows, width, 0))), counts_of(samples)[None]
        _, found = self.likelihood(samples).derivatives(own, predictors[None], counts)
        blocks = found[0].reshape(width, columns.shape[1], width, columns.shape[1])
        result: Array = np.einsum("lilj->ij", blocks) / width
        return result

    def own_part(self, predictors: Array, samples: Samples, spread: float | None = None) -> OwnPart:
        """What a hospital adds from its own training samples, of whom predictors (n, L) are.

        Args:
            predictors, samples: as above.
            spread: of held-out samples; None where nobody held anyone out.
        """
        del predictors, samples, spread
        return {}

    def effect_of(self, growth: Array, half: float) -> Array:
        """What it means that a predictor grows so much: the ratio of what it is the logarithm of.

        Args:
            growth: (...,) of the predictor.
            half: half the agreed range, for outcomes that are scaled by one.
        """
        del half
        result: Array = np.exp(growth)
        return result

    @abstractmethod
    def drawn(self, predictors: Array, rng: np.random.Generator) -> Known:
        """What might be known of patients whose true predictors, (n, L), these are."""

    @abstractmethod
    def said(self, predictors: Array, own: OwnPart) -> Array:
        """Predictors (B, L) -> what is said of each patient, (B, K)."""

    @abstractmethod
    def told(self, said: Array, frame: Frame) -> dict[str, Array]:
        """What a prediction tells people of each patient, in the unit of the table.

        Args:
            said: (B, K).
            frame: what it needs besides.

        Returns:
            (B,) numbers each, by the name of a column.

        Raises:
            ConfigError: horizons mean nothing for this outcome, or are not above 0.
        """

    def refuse_horizons(self, frame: Frame) -> None:
        """For outcomes of which nothing comes at a time.

        Raises:
            ConfigError: somebody asks about one.
        """
        if frame.horizons:
            raise ConfigError(
                f"horizons mean nothing for {self.title}",
                where="horizon",
                found=", ".join(f"{one:g}" for one in frame.horizons),
                expected="a model of the time to an event",
            )

    def predictors(self, said: Array) -> Array | None:
        """What is said of each patient, (B, K), as one predictor, (B, 1); None: it has several."""
        return said[:, :1]

    def unit(self, samples: Samples) -> float:
        """What a predictor that grows by 1 grows by in the unit of scores: of the table, where the
        predictor is a scaled number."""
        del samples
        return 1.0

    def recalibrated(self, said: Array, samples: Samples) -> Array | None:
        """What would be said if predictors were right on average for these patients.

        Args:
            said: (B, K).
            samples: of whom it is said.

        Returns:
            (B, K); None where everybody is right on average anyway.
        """
        del said, samples
        return None

    def expected_and_seen(
        self, said: Array, own: OwnPart, samples: Samples
    ) -> tuple[float, float] | None:
        """How many events are expected of these patients, and how many came; None where nothing is
        an event."""
        del said, own, samples
        return None

    def benefits(
        self, said: Array, samples: Samples, threshold: float
    ) -> tuple[Array, Array] | None:
        """Net benefit of each patient, (B,), if those are treated of whom a probability from the
        threshold on is said; and if all are. None where there is no such probability.
        """
        del said, samples, threshold
        return None

    @abstractmethod
    def weighted_scores(self, said: Array, samples: Samples, weights: Array) -> dict[str, Array]:
        """All of `scores` for many weightings at once; NaN where one is undefined.

        Args:
            said: (B, K).
            samples: of whom it is said; features are not looked at.
            weights: (R, B), how often each sample counts.

        Returns:
            (R,) of each.
        """

    def check_said(self, said: Array, samples: Samples) -> None:
        """Refuse what cannot be scored.

        Raises:
            DataError: shapes disagree, there are no samples, or a number is none.
        """
        if said.ndim != 2 or len(said) != len(samples) or not len(said):
            raise DataError(
                "predictions and samples disagree, or there are none",
                found=f"{said.shape} and ({len(samples)},)",
                expected="(B, K) and (B,)",
            )
        if not np.isfinite(said).all():
            raise DataError("a prediction is NaN or infinite")

    def point_scores(self, said: Array, samples: Samples) -> dict[str, float | None]:
        """All of `scores`, every sample counted once; None where one is undefined."""
        found = self.weighted_scores(said, samples, np.ones((1, len(samples))))
        points = {name: float(values[0]) for name, values in found.items()}
        return {name: None if np.isnan(value) else value for name, value in points.items()}

    def shares(self, samples: Samples) -> dict[str, int]:
        """Scores that are shares of patients, and of how many."""
        del samples
        return {}

    def confusion(self, said: Array, samples: Samples) -> NDArray[np.int64] | None:
        """Counts (M, M), row the true class; None where nothing is told apart."""
        del said, samples
        return None

    def constant(self, said: Array) -> bool:
        """Whether nearly the same is said of everybody."""
        return bool(len(said)) and bool(np.ptp(said, axis=0).max() <= 1e-9)

    def pictures(self, shown: Sequence[Shown]) -> list[Picture]:
        """What people look at to judge predictions of hospitals, one at least, on one agreed range;
        none where nothing is drawn.
        """
        del shown
        return []

    def page_pictures(self, shown: Shown) -> list[Picture]:
        """What stands on a page of scores of one model: `pictures`, and of classes theirs."""
        return self.pictures([shown])

    @abstractmethod
    def reliability(self, said: Array, samples: Samples) -> tuple[Array, Array]:
        """What was predicted of each sample and what was seen, as one number each, (B,)."""
