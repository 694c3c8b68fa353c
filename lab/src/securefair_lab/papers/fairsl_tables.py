"""Fair swarm learning (Tajabadi, Heider 2024): every table and figure by its name."""

from __future__ import annotations

from securefair_lab.papers.experiment import illustration
from securefair_lab.papers.fairsl_forests import FOREST_EXPERIMENTS
from securefair_lab.papers.fairsl_networks import NETWORK_EXPERIMENTS

FAIRSL_TABLES = (
    *NETWORK_EXPERIMENTS,
    *FOREST_EXPERIMENTS,
    illustration("fairsl", "Figure 1", "Federated and swarm learning; an illustration"),
    illustration(
        "fairsl", "Figure 2", "Sections and cycles of fair swarm learning; an illustration"
    ),
)
