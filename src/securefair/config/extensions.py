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

LOGGERS = "securefair.loggers"
"""Functions of a place, names of participants and a run's name: a callback that is a context."""

LABORATORY = "securefair-lab"

LABORATORY_COMMANDS: Mapping[str, tuple[str, ...]] = {
    COMMANDS: ("bundle", "compare", "reproduce"),
    PROFILES: ("alignment", "averaging", "cnn", "scale", "sharing"),
}
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


def extension_of(group: str, name: str, *, what: str, where: str) -> Any:
    """What an extension brings by a name that a user gave.

    Args:
        group: group of entry points.
        name: the user's.
        what: what the group holds, as people say it: "data set".
        where: key or option that named it.

    Raises:
        ConfigError: none that is installed brings it; says how to get the laboratory, where there
            is none.
    """
    found = extensions(group)
    if name in found:
        return found[name]
    if found:
        known = " or ".join(found)
        raise ConfigError(f"there is no such {what}", where=where, found=name, expected=known)
    raise ConfigError(_belongs(f"{what} {name}"), where=where, hint=f"pip install {LABORATORY}")


def refuse_missing(group: str, name: str) -> None:
    """Refuse a command of the laboratory, which is not installed; say nothing of other names.

    Raises:
        ConfigError: it is one; says how to get it.
    """
    if name in LABORATORY_COMMANDS.get(group, ()):
        raise ConfigError(_belongs(f"command {name}"), hint=f"pip install {LABORATORY}")


def _belongs(what: str) -> str:
    return f"{what} belongs to {LABORATORY}, which is not installed"
