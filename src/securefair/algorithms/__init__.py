"""Plaintext references of the published algorithms, one file each, written like their papers.

They know nothing of encryption, messages or machines: an encrypted run of the same seed has to
take the same sharing decisions and to reach the same numbers within its planned error.
"""

from securefair.algorithms.algorithm import Algorithm, run
from securefair.algorithms.early_stopping import EarlyStopping
from securefair.algorithms.network_population import NetworkPopulation
from securefair.algorithms.population import Population
from securefair.algorithms.releases import LogitsRelease, ProjectionRelease, Release, Rounding
from securefair.algorithms.schedule import StepDecay
from securefair.algorithms.stacked_population import StackedPopulation

__all__ = [
    "Algorithm",
    "StackedPopulation",
    "EarlyStopping",
    "LogitsRelease",
    "NetworkPopulation",
    "Population",
    "ProjectionRelease",
    "Release",
    "Rounding",
    "StepDecay",
    "run",
]
