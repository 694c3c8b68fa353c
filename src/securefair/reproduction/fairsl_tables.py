"""Fair swarm learning (Tajabadi, Heider 2024): every table and figure by its name."""

from __future__ import annotations

from securefair.reproduction.experiment import Experiment
from securefair.reproduction.fairsl_forests import FOREST_EXPERIMENTS
from securefair.reproduction.fairsl_networks import NETWORK_EXPERIMENTS


def _illustration(number: int, shows: str) -> Experiment:
    return Experiment(
        name=f"fairsl-figure{number}",
        paper="fairsl",
        item=f"Figure {number}",
        shows=shows,
        needs=(),
        unit="",
        reference=None,
        contenders=lambda size, data: (),  # noqa: ARG005
        metrics=lambda run: {},  # noqa: ARG005
        sizes=(),
    )


FAIRSL_TABLES = (
    *NETWORK_EXPERIMENTS,
    *FOREST_EXPERIMENTS,
    _illustration(1, "Federated and swarm learning; an illustration"),
    _illustration(2, "The sections and cycles of fair swarm learning; an illustration"),
)
