"""What other distributions add, found by their entry points; `securefair-lab` is one of them.

They import this package, and it never imports them: it learns by name what there is.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import entry_points
from typing import Any

from securefair.errors import ConfigError

COMMANDS, PROFILES = "securefair.commands", "securefair.profiles"
"""Commands of the program, and of `securefair profile`: functions that typer understands."""
DATA_SETS = "securefair.data_sets"
"""Functions of a partition's section or None, a test fraction and a seed: everyone's samples."""

LABORATORY = "securefair-lab"


def extensions(group: str) -> Mapping[str, Any]:
    """What installed extensions bring to a group, by name; removed code is left out."""
    found: dict[str, Any] = {}
    for point in sorted(entry_points(group=group), key=lambda point: point.name):
        try:
            found[point.name] = point.load()
        except ModuleNotFoundError as error:
            if not point.module.startswith(f"{error.name}.") and error.name != point.module:
                raise
    return found


def data_set_of(name: str) -> Any:
    """A data set that an extension brings.

    Raises:
        ConfigError: none that is installed does; says how to get the laboratory, whose they are.
    """
    found = extensions(DATA_SETS)
    if name not in found:
        raise ConfigError(
            f"data set {name} belongs to {LABORATORY}, which is not installed",
            where="data.source",
            hint=f"pip install {LABORATORY}",
        )
    return found[name]
