"""Plaintext references of the published algorithms, one file each, written like their papers.

They know nothing of encryption, messages or machines: an encrypted run of the same seed has to
take the same sharing decisions and to reach the same numbers within its planned error.
"""

from securefair_lab.algorithms.cycle import Cycle
from securefair_lab.algorithms.cycle_gossip import CycleGossip
from securefair_lab.algorithms.gossip_sgd import GossipSgd
from securefair_lab.algorithms.network_population import NetworkPopulation
from securefair_lab.algorithms.population import Population
from securefair_lab.algorithms.releases import (
    LogitsRelease,
    ProjectionRelease,
    Release,
    Rounding,
)
from securefair_lab.algorithms.schedule import StepDecay
from securefair_lab.algorithms.stacked_population import StackedPopulation
from securefair_lab.algorithms.standalone import Standalone
from securefair_lab.algorithms.vpdl import Vpdl

__all__ = [
    "Cycle",
    "CycleGossip",
    "GossipSgd",
    "LogitsRelease",
    "NetworkPopulation",
    "Population",
    "ProjectionRelease",
    "Release",
    "Rounding",
    "StackedPopulation",
    "Standalone",
    "StepDecay",
    "Vpdl",
]
