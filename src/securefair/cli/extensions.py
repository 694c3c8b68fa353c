"""Commands that live outside the core, found by their entry point.

`securefair.papers` brings `reproduce` so: it imports the core, and nothing imports it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import entry_points

GROUP = "securefair.commands"


def extensions() -> Mapping[str, Callable[..., None]]:
    """The commands of installed extensions, by name; one whose code was removed is left out."""
    found: dict[str, Callable[..., None]] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        try:
            found[point.name] = point.load()
        except ModuleNotFoundError as error:
            if not point.module.startswith(f"{error.name}.") and error.name != point.module:
                raise
    return found
