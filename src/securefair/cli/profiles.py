"""`securefair profile ...`: what things cost on this machine; the laboratory measures more."""

from __future__ import annotations

from typing import Any, cast

import typer
from typer.core import TyperGroup

from securefair.cli.on_demand import CommandsOnDemand
from securefair.config.extensions import PROFILES

PLACES = {"head": (None, "securefair.profiling.head_command:head")}


class _Profiles(TyperGroup):
    """All that can be measured, each made when it is needed."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = cast("dict[str, Any]", CommandsOnDemand(PLACES, None, PROFILES))


app = typer.Typer(
    name="profile",
    cls=_Profiles,
    help="Measure on this machine what an exchange costs; with securefair-lab installed also "
    "networks, sharing, averages, alignments and how costs grow.",
    no_args_is_help=True,
)
