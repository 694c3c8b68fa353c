"""Every experiment by name."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from types import MappingProxyType

from securefair.errors import ConfigError
from securefair_lab.papers.capride_batches import CAPRIDE_BATCHES
from securefair_lab.papers.capride_code import CAPRIDE_CODE
from securefair_lab.papers.cffl_tables import CFFL_TABLES
from securefair_lab.papers.controls import CONTROLS
from securefair_lab.papers.cycle_figures import CYCLE_FIGURES
from securefair_lab.papers.cycle_hospitals import CYCLE_HOSPITALS
from securefair_lab.papers.cycle_lambda import CYCLE_BASELINES, CYCLE_LAMBDA
from securefair_lab.papers.cycle_misbehaviour import CYCLE_MISBEHAVIOUR
from securefair_lab.papers.cycle_rates import CYCLE_RATES
from securefair_lab.papers.cycle_tables import CYCLE_TABLES
from securefair_lab.papers.dpfl_figures import DPFL_FIGURES
from securefair_lab.papers.dpfl_synergy import DPFL_SYNERGY
from securefair_lab.papers.dpfl_tables import DPFL_TABLES
from securefair_lab.papers.experiment import Experiment
from securefair_lab.papers.fairsl_tables import FAIRSL_TABLES
from securefair_lab.papers.mean_estimation import MEAN_ESTIMATION

PAPERS = ("cycle", "dpfl", "cffl", "fairsl")


def _place(experiment: Experiment) -> tuple[int, str, int]:
    """Papers in our order; of each the tables, then the figures, by their numbers."""
    kind, _, number = experiment.item.partition(" ")
    place = int(number) if number.isdecimal() else 0
    return PAPERS.index(experiment.paper), {"Table": "", "Figure": "f"}.get(kind, "z"), place


EXPERIMENTS: Mapping[str, Experiment] = MappingProxyType(
    {
        experiment.name: experiment
        for experiment in sorted(
            (
                *CYCLE_TABLES,
                *CYCLE_FIGURES,
                *CYCLE_MISBEHAVIOUR,
                *CYCLE_HOSPITALS,
                CYCLE_LAMBDA,
                CYCLE_BASELINES,
                CYCLE_RATES,
                CAPRIDE_CODE,
                CAPRIDE_BATCHES,
                *MEAN_ESTIMATION,
                *DPFL_TABLES,
                *DPFL_FIGURES,
                DPFL_SYNERGY,
                *CFFL_TABLES,
                *FAIRSL_TABLES,
                *CONTROLS,
            ),
            key=_place,
        )
    }
)


def experiment_named(name: str) -> Experiment:
    """One of `EXPERIMENTS`.

    Raises:
        ConfigError: there is none of this name; suggests one.
    """
    if name not in EXPERIMENTS:
        close = difflib.get_close_matches(name, EXPERIMENTS, n=1)
        raise ConfigError(
            "there is no such experiment",
            found=name,
            hint=f"Did you mean {close[0]}?" if close else "securefair reproduce --list names all",
        )
    return EXPERIMENTS[name]
