"""Samples of one participant: features, labels, and what is held out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from securefair.errors import DataError, printable

FeatureArray: TypeAlias = NDArray[Any]
"""What a model sees: float64 vectors (B, d) for heads, or float32 for networks: images
(B, C, H, W), scaled and normalised, or wide vectors (B, d)."""


@dataclass(frozen=True)
class Samples:
    """Features (B, ...) as float64 or float32 and integer labels (B,) in 0..classes-1.

    Heads and everything encrypted need float64 vectors (B, d); the networks of the plaintext
    algorithms take float32, whose images would need twice the memory otherwise.

    Attributes:
        features, labels, classes: as above.
        patients: (B,) integers, equal for rows of one patient; None: nobody said whose they are.
        weights: (B,) above 0, how much each counts in a loss that trains; None: alike. Scores count
            every sample alike.
        outcome: name of what is known of each (`model.outcomes`); "": the class that is its label.
        values: (B, k), what is known where that is no class, such as a time and an event. `labels`
            then are strata, by which parts are held out, and `classes` how many there are.
        further: how many of the features, the last ones, are of columns that others need not have:
            for the model of who brings them, and for nothing that leaves (`common`).
        shape: of one sample before it was flattened, without axes of length 1; None: nobody said.

    Raises:
        DataError: shapes disagree, features are no floats, masked or not finite, or a label is
            out of range.
    """

    features: FeatureArray
    labels: NDArray[np.int64]
    classes: int
    patients: NDArray[np.int64] | None = None
    weights: NDArray[np.float64] | None = None
    outcome: str = ""
    values: NDArray[np.float64] | None = None
    further: int = 0
    shape: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        x, y = self.features, self.labels
        for what, array in (("features", x), ("labels", y)):
            if not isinstance(array, np.ndarray):
                raise DataError(
                    "samples are made of arrays",
                    where=what,
                    found=type(array).__name__,
                    expected="numpy arrays",
                    hint="make_samples takes tensors, data sets, tables and names of classes",
                )
            if isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array):
                raise DataError(
                    "a value is masked",
                    where=what,
                    hint="Fill missing values before (array.filled), or leave such samples out",
                )
        if not isinstance(self.classes, int | np.integer) or y.dtype.kind not in "iu":
            raise DataError(
                "labels are numbers of classes, and classes their count",
                where="labels",
                found=f"{y.dtype}, classes {self.classes!r}",
                hint="make_samples takes names of classes, such as 1 and 2",
            )
        if len(x) != len(y) or y.ndim != 1:
            raise DataError(
                "features and labels disagree",
                found=f"{x.shape} and {y.shape}",
                expected="(B, ...) and (B,)",
            )
        if self.patients is not None and self.patients.shape != y.shape:
            raise DataError(
                "patients and labels disagree",
                found=f"{self.patients.shape} and {y.shape}",
                expected="one patient for each row",
            )
        if self.weights is not None and not (
            self.weights.shape == y.shape
            and np.isfinite(self.weights).all()
            and (self.weights > 0).all()
        ):
            raise DataError(
                "weights do not fit the samples",
                found=self.weights.shape,
                expected=f"({len(y)},), all above 0",
            )
        if (self.values is None) != (not self.outcome) or not (
            self.values is None
            or (self.values.shape[:1] == y.shape and np.isfinite(self.values).all())
        ):
            raise DataError(
                "what is known of samples does not fit them",
                where=self.outcome or "values",
                found=None if self.values is None else self.values.shape,
                expected=f"({len(y)}, ...), finite, with the name of an outcome",
            )
        if x.dtype not in (np.float64, np.float32):
            raise DataError(
                "features of the wrong type",
                where="features",
                found=str(x.dtype),
                expected="float64, or float32 for networks",
            )
        if self.further and not (x.ndim == 2 and 0 < self.further < x.shape[1]):
            raise DataError(
                "features that others have not are some of all, and not all of them",
                where="further",
                found=self.further,
                expected=f"fewer than the features, {x.shape[1:]}",
            )
        if not np.isfinite(x).all():
            row = int(np.flatnonzero(~np.isfinite(x.reshape(len(x), -1)).all(axis=1))[0])
            raise DataError(
                "a feature is NaN or infinite",
                where=f"row {row}",
                hint="Fill missing values, or add a missing-value indicator",
            )
        if len(y) and (y.min() < 0 or y.max() >= self.classes):
            raise DataError(
                "a label is out of range",
                found=int(y.min() if y.min() < 0 else y.max()),
                expected=f"0 to {self.classes - 1}",
            )

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        """How many there are, never what is in them: a log is no place for patients."""
        shape = " x ".join(str(size) for size in self.features.shape[1:])
        what = self.outcome or f"{self.classes} classes"
        return f"Samples({len(self)} of {shape} features, {what})"

    @property
    def who(self) -> NDArray[np.int64]:
        """Whose each row is, (B,): every one a patient where nobody says otherwise."""
        return np.arange(len(self)) if self.patients is None else self.patients

    @property
    def people(self) -> int:
        """How many patients these rows are of."""
        return len(np.unique(self.who))

    @property
    def few_events(self) -> int | None:
        """How many events there are, where these are too few for errors (`known.FEWEST_EVENTS`)."""
        from securefair.data.known import few_events_of  # which reads tables

        return few_events_of(self.values, self.who, self.outcome)

    @property
    def too_few(self) -> bool:
        """Whether draws of these patients say nothing of others: they are, or they have, fewer than
        `known.FEWEST_EVENTS`."""
        from securefair.data.known import FEWEST_EVENTS  # which reads tables

        return self.people < FEWEST_EVENTS or self.few_events is not None

    @property
    def common(self) -> Samples:
        """The same with the features that everybody has, of which peers are asked and told."""
        if not self.further:
            return self
        return replace(self, features=self.features[:, : -self.further], further=0)

    def take(self, rows: NDArray[np.int64]) -> Samples:
        """The given rows, in that order."""
        return replace(
            self,
            features=self.features[rows],
            labels=self.labels[rows],
            patients=None if self.patients is None else self.patients[rows],
            weights=None if self.weights is None else self.weights[rows],
            values=None if self.values is None else self.values[rows],
        )

    def balanced(self) -> Samples:
        """The same samples, weighed so that all classes present count alike, and 1 on average."""
        counts = np.bincount(self.labels, minlength=self.classes)
        present = int((counts > 0).sum())
        weights = len(self) / (present * counts[self.labels]) if len(self) else np.zeros(0)
        return replace(self, weights=weights)


def together(parts: Sequence[Samples]) -> Samples:
    """All samples of at least one part, in order, as if each counted alike and were a patient.

    Raises:
        DataError: they have different features or outcomes.
    """
    first, values = parts[0], [one.values for one in parts if one.values is not None]
    kinds = {(one.features.shape[1:], one.further, one.classes, one.outcome) for one in parts}
    if len(kinds) > 1:
        raise DataError("samples of different kinds cannot be put together")
    return Samples(
        np.concatenate([one.features for one in parts]),
        np.concatenate([one.labels for one in parts]),
        first.classes,
        outcome=first.outcome,
        values=np.concatenate(values) if values else None,
        further=first.further,
    )


def of_one_hospital(parts: Sequence[Samples]) -> Samples:
    """`together` of one hospital's parts: rows of one patient stay of one patient.

    Raises:
        DataError: as there.
    """
    who = [one.patients for one in parts if one.patients is not None]
    everyone = together(parts)
    return replace(everyone, patients=np.concatenate(who)) if len(who) == len(parts) else everyone


Probabilities = Callable[[NDArray[np.float64]], NDArray[np.float64]]
"""Features (B, d) in [-1, 1], as peers encrypt them -> probabilities (B, M), rows that sum to 1."""


class TeacherModel(Protocol):
    """Whatever says how probable each class is. It stays at its hospital, and is never sent."""

    @property
    def name(self) -> str:
        """For people, such as "forest" or the name of a file."""
        ...

    def ready(self, train: Samples, seed: int) -> Probabilities:
        """The model as it answers.

        Args:
            train: the hospital's own training samples; a model that is fitted already needs none.
            seed: of what a fit draws.

        Raises:
            SecureFairError: it cannot be read, or fits no such samples.
        """
        ...


@dataclass(frozen=True)
class ParticipantData:
    """One participant's name, training samples and held-out samples.

    Attributes:
        name: of the participant.
        train: what its model learns from.
        test: only ever scored.
        validation: held out too, but algorithms may decide by it: CFFL scores the peers' models
            on it, DPFL chooses collaborators and checkpoints.
        test_rows: (B,) where the test samples stand among all of the participant's, which are the
            same under every seed; None where the test samples are the same under every seed.
        train_rows: (B,) the same of the training samples; None where they come first, in order.
        earlier: its data before they changed in the course of a collaboration, the first first.
        teacher: a model that answers peers instead of a fit of `train`; None: the fit does.
        reduced: whether training samples were left out on purpose, to see what fewer do.

    Raises:
        DataError: the name cannot be printed as it is.
    """

    name: str
    train: Samples
    test: Samples
    validation: Samples | None = None
    test_rows: NDArray[np.int64] | None = None
    train_rows: NDArray[np.int64] | None = None
    earlier: tuple[ParticipantData, ...] = ()
    teacher: TeacherModel | None = None
    reduced: bool = False

    def __post_init__(self) -> None:
        if printable(self.name) != self.name or "\n" in self.name:
            raise DataError(
                "a participant's name holds characters that steer a terminal",
                found=self.name,
                expected="letters, digits and signs that can be printed",
            )

    @property
    def rows(self) -> NDArray[np.int64]:
        """(B,) where training samples, and then test samples, stand among all of the participant's.

        Those of a table and of one that is for testing stand behind each other.
        """
        train = np.arange(len(self.train)) if self.train_rows is None else self.train_rows
        if self.test_rows is None:
            return np.concatenate([train, len(self.train) + np.arange(len(self.test))])
        return np.concatenate([train, self.test_rows])

    @property
    def test_patients(self) -> NDArray[np.int64]:
        """(B,) numbers by which test samples of several seeds are known to be the same."""
        return np.arange(len(self.test)) if self.test_rows is None else self.test_rows

    @property
    def common(self) -> ParticipantData:
        """The same with the features that everybody has."""
        return replace(
            self,
            train=self.train.common,
            test=self.test.common,
            validation=None if self.validation is None else self.validation.common,
            earlier=tuple(before.common for before in self.earlier),
        )

    def whole(self) -> Samples | None:
        """All own samples, training ones first, where testing ones were held out of them.

        None where test samples came by themselves, which whoever brought them may want to score
        again, and where training samples were left out on purpose.
        """
        if self.test_rows is None or self.reduced:
            return None
        parts = [one for one in (self.train, self.validation, self.test) if one is not None]
        everyone = of_one_hospital(parts)
        return everyone if self.train.weights is None else everyone.balanced()
