"""Missing values by multiple imputation, beside the indicators of the rules, on the heart data.

    python bench/imputation.py --seeds 5      # prints a table; about a minute of one core

Alone, averaged over penalties. A hospital imputes its own training patients five times
(scikit-learn's `IterativeImputer`, drawn from its posterior), fits each, and averages the logits;
test patients are imputed by the same five. Indicators are features of the rules.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray
from page import run_script
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer
from worth_data import DATA_SETS

from securefair.data import HEART_SPEC, Samples, feature_names
from securefair.model.probabilities import log_losses
from securefair.model.transfer import own_fit

Array = NDArray[np.float64]
TIMES = 5


def without_indicators(samples: Samples) -> Samples:
    """Missing values as NaN, in place of zeros beside an indicator."""
    parts, at = [], 0
    for rule in HEART_SPEC.columns:
        width = len(feature_names(rule))
        part = samples.features[:, at : at + width].astype(np.float64)
        at += width
        if rule.optional:
            missing = part[:, -1] > 0
            part = part[:, :-1]
            part[missing] = np.nan
        parts.append(part)
    return _holed(samples, np.column_stack(parts))


def _holed(samples: Samples, features: Array) -> Samples:
    found = replace(samples, features=np.nan_to_num(features))
    found.features[np.isnan(features)] = np.nan  # checked when it was made
    return found


def imputed_loss(train: Samples, test: Samples, seed: int) -> Array:
    """Of each test patient, nats, by the average of five fits."""
    held = without_indicators(train).features
    asked = without_indicators(test).features
    known = ~np.isnan(held).all(axis=0)  # what nobody has is left out
    logits = []
    for at in range(TIMES):
        imputer = IterativeImputer(
            sample_posterior=True, max_iter=5, min_value=-1, max_value=1, random_state=seed + at
        )
        features = imputer.fit_transform(held[:, known])
        own = own_fit(replace(train, features=features), rng=np.random.default_rng(seed))
        logits.append(own.averaged.logits(imputer.transform(asked[:, known])))
    return log_losses(np.mean(logits, axis=0), test.labels)


def main(seeds: Annotated[int, typer.Option(help="Divisions.")] = 5) -> None:
    """Measure and print."""
    print("| data | indicators | imputed, difference |")
    print("|---|---|---|")
    for name in ("heart, 40", "heart, all"):
        marked, apart = [], []
        for seed in range(seeds):
            for one in DATA_SETS[name].hospitals(seed):
                own = own_fit(one.train, rng=np.random.default_rng(seed))
                losses = log_losses(own.averaged.logits(one.test.features), one.test.labels)
                marked.append(losses.mean())
                apart.append((imputed_loss(one.train, one.test, seed) - losses).mean())
        error = np.std(apart, ddof=1) / np.sqrt(len(apart))
        print(
            f"| {name} | {np.mean(marked):.3f} | {np.mean(apart):+.3f} ± {error:.3f} |", flush=True
        )


if __name__ == "__main__":
    run_script(main)
