"""What other distributions add, found by their entry points; `securefair-lab` is one of them.

They import this package, and it never imports them: it learns by name what there is.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import entry_points
from typing import Any

from securefair.errors import ConfigError

COMMANDS = "securefair.commands"
"""Commands of the program: functions that typer understands, or a `Typer` with sub-commands."""
DATA_SETS = "securefair.data_sets"
"""Functions of a partition's section or None, a test fraction and a seed: everyone's samples."""

LABORATORY = "securefair-lab"

LABORATORY_COMMANDS = ("profile", "reproduce")
"""What the laboratory brings, for whoever asks for it and has no laboratory."""


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
            _belongs(f"data set {name}"), where="data.source", hint=f"pip install {LABORATORY}"
        )
    return found[name]


def refuse_missing(name: str) -> None:
    """Refuse a command of the laboratory, which is not installed; say nothing of other names.

    Raises:
        ConfigError: it is one; says how to get it.
    """
    if name in LABORATORY_COMMANDS:
        raise ConfigError(_belongs(f"command {name}"), hint=f"pip install {LABORATORY}")


def _belongs(what: str) -> str:
    return f"{what} belongs to {LABORATORY}, which is not installed"
