"""What a collaboration was worth, to everyone and to each.

Place in the flow: optimizer step -> **metrics** -> report. Accuracies are fractions in [0, 1]
or percent; gains come in the same unit as the accuracies they are made of.
"""

from securefair.metrics.classification import (
    accuracy,
    balanced_accuracy,
    confusion,
    mcc,
)
from securefair.metrics.correlation import (
    Correlation,
    collaborative_fairness,
    pearson,
)
from securefair.metrics.gain import (
    DDOF_EQUATION_5,
    DDOF_TABLES,
    cgs,
    gains,
    mcg,
    mva,
    no_gain_bound,
)
from securefair.metrics.significance import PairedDifference, t_test

__all__ = [
    "DDOF_EQUATION_5",
    "DDOF_TABLES",
    "Correlation",
    "PairedDifference",
    "accuracy",
    "balanced_accuracy",
    "cgs",
    "collaborative_fairness",
    "confusion",
    "gains",
    "mcc",
    "mcg",
    "mva",
    "no_gain_bound",
    "pearson",
    "t_test",
]
