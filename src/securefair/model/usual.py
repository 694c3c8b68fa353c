"""Models that a hospital with a statistician fits to its own patients, with usual settings.

A model of this kind is a function here and a line in `USUAL`. They are controls of every gain, and
may teach. None is tuned; a study chose settings that do not overfit some dozens of patients.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from securefair.data.dataset import Samples
from securefair.data.warned import filtered
from securefair.errors import ConfigError

Array = NDArray[np.float64]
Probabilities = Callable[[Array], Array]

MOST_OF_A_PROCESS = 400
"""Patients that a Gaussian process is fitted to: its time grows with their third power."""

TREES = 100
"""Of a forest."""

LIBRARIES = ("sklearn.ensemble", "sklearn.gaussian_process")
"""What the models are from; a second to load."""


@dataclass(frozen=True, eq=False, repr=False)
class Estimated:
    """A fitted model of which nothing is known but what it says. It predicts and is not stored.

    Attributes:
        probabilities: features (B, d) -> (B, M), above 0.
        features: d.
        classes: M.
    """

    probabilities: Probabilities
    features: int
    classes: int

    def __repr__(self) -> str:
        """Its size; what it has learnt is private."""
        return f"{type(self).__name__}({self.features} -> {self.classes}, redacted)"

    def logits(self, features: Array) -> Array:
        """Features (B, d) -> logits (B, M): logarithms of the probabilities."""
        result: Array = np.log(self.probabilities(features))
        return result


def usual_model(name: str, samples: Samples, seed: int) -> Estimated:
    """One of `USUAL`, fitted as `estimated` does.

    Args:
        name: of the model.
        samples: see `estimated`. Their weights count where the model takes any.
        seed: of what the model draws.

    Raises:
        ConfigError: there is no such model.
    """
    if name not in USUAL:
        raise ConfigError("there is no such model", found=name, expected=", ".join(USUAL))
    return estimated(USUAL[name], samples, seed)


def estimated(fit: Callable[[Samples, int], Any], samples: Samples, seed: int) -> Estimated:
    """What a model gives that knows only the classes that it saw.

    Where patients are of one class only, it gives the class frequencies. Probabilities are shrunk
    by one patient more, divided among all classes: none is 0.

    Args:
        fit: patients and a seed -> a fitted classifier as scikit-learn has them.
        samples: own training patients, flat features (n, d), n >= 1.
        seed: of what the model draws.
    """
    if len(np.unique(samples.labels)) == 1:
        said = _frequencies(samples)
    else:
        said = _KnownClasses(fit(samples, seed), samples.classes)
    shrunk = _Shrunk(said, len(samples), samples.classes)
    return Estimated(shrunk, int(samples.features.shape[1]), samples.classes)


def averaged(models: Sequence[Probabilities], like: Samples) -> Estimated:
    """The equal average of what several models say."""

    return Estimated(_Mean(tuple(models)), int(like.features.shape[1]), like.classes)


def _forest(samples: Samples, seed: int, trees: int = TREES) -> Any:
    from sklearn.ensemble import RandomForestClassifier  # takes a second to load

    forest = RandomForestClassifier(n_estimators=trees, min_samples_leaf=3, random_state=seed)
    forest.fit(samples.features, samples.labels, sample_weight=samples.weights)
    return _Trees([one.tree_ for one in forest.estimators_], forest.classes_)


@dataclass(frozen=True, eq=False)
class _Trees:
    """What a forest of scikit-learn says, in a fifth of its time: nothing is checked anew a tree.

    Attributes:
        trees: (rows, float32) -> class frequencies of leaves.
        classes_: columns of these.
    """

    trees: Sequence[Any]
    classes_: NDArray[np.int64]

    def predict_proba(self, features: Array) -> Array:
        """Features (B, d) -> probabilities (B, classes)."""
        rows = features.astype(np.float32)
        result: Array = np.mean([tree.predict(rows) for tree in self.trees], axis=0)
        return result


def _boosting(samples: Samples, seed: int) -> Any:
    from sklearn.ensemble import GradientBoostingClassifier

    boosting = GradientBoostingClassifier(
        n_estimators=100, learning_rate=0.05, max_depth=2, subsample=0.8, random_state=seed
    )
    return boosting.fit(samples.features, samples.labels, sample_weight=samples.weights)


def _gaussian_process(samples: Samples, seed: int) -> Any:
    """With a radial kernel, by Laplace's method; its two parameters by the marginal likelihood."""
    from sklearn.gaussian_process import GaussianProcessClassifier
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel

    order = np.random.default_rng(seed).permutation(len(samples))
    drawn = order[:MOST_OF_A_PROCESS]
    missed = np.setdiff1d(samples.labels, samples.labels[drawn])
    rare = [order[np.flatnonzero(samples.labels[order] == label)[0]] for label in missed]
    drawn = np.concatenate([drawn, np.array(rare, dtype=np.int64)])
    kernel = ConstantKernel(1.0, (1e-2, 1e2)) * RBF(2.0, (1e-1, 1e2))
    process = GaussianProcessClassifier(kernel, random_state=seed)
    return _quietly(process.fit, samples.features[drawn], samples.labels[drawn])


USUAL: Mapping[str, Callable[[Samples, int], Any]] = MappingProxyType(
    {"forest": _forest, "boosting": _boosting, "gaussian process": _gaussian_process}
)
"""Patients and a seed -> a fitted classifier as scikit-learn has them."""


def _quietly(fit: Callable[..., Any], *data: Any) -> Any:
    """That a parameter ends at its bound is no news to a user."""
    from sklearn.exceptions import ConvergenceWarning

    with filtered("ignore", ConvergenceWarning):
        return fit(*data)


def _frequencies(samples: Samples) -> Probabilities:
    return _Constant(np.bincount(samples.labels, minlength=samples.classes) / len(samples))


# Functions that can be sent to another process.


@dataclass(frozen=True, eq=False)
class _Shrunk:
    """What a model says, and one patient more, who is divided among all classes."""

    said: Probabilities
    patients: int
    classes: int

    def __call__(self, features: Array) -> Array:
        return (self.patients * self.said(features) + 1 / self.classes) / (self.patients + 1)


@dataclass(frozen=True, eq=False)
class _Mean:
    """The equal average."""

    models: Sequence[Probabilities]

    def __call__(self, features: Array) -> Array:
        result: Array = np.mean([says(features) for says in self.models], axis=0)
        return result


@dataclass(frozen=True, eq=False)
class _KnownClasses:
    """An estimator's probabilities with a column for every class, also those it never saw."""

    estimator: Any
    classes: int

    def __call__(self, features: Array) -> Array:
        result = np.zeros((len(features), self.classes))
        result[:, self.estimator.classes_] = self.estimator.predict_proba(features)
        return result


@dataclass(frozen=True, eq=False)
class _Constant:
    """The same for everybody."""

    probabilities: Array

    def __call__(self, features: Array) -> Array:
        return np.tile(self.probabilities, (len(features), 1))
