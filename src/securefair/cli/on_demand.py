"""Commands that are imported and made when somebody asks for them by name, or for all of them.

A start needs one command; typer would make all of them each time, and import what they import.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any

import typer
from typer.main import get_group

from securefair.config.extensions import extensions, refuse_missing


class CommandsOnDemand(Mapping[str, Any]):
    """Names of commands, and each command of click's, made when it is first looked up.

    Args:
        places: for each name its panel in the help and where it is, "module:attribute": a function
            of that name, or a `Typer` with sub-commands.
        panel_of_extensions: where commands of installed extensions stand; these are looked for
            only where a name is not among the places, and cannot take one of these names.
        group: group of entry points that name these commands.
    """

    def __init__(
        self,
        places: Mapping[str, tuple[str | None, str]],
        panel_of_extensions: str | None,
        group: str,
    ) -> None:
        self._places = places
        self._panel = panel_of_extensions
        self._group = group
        self._made: dict[str, Any] = {}
        self._extensions: Mapping[str, Callable[..., None]] | None = None

    def __getitem__(self, name: str) -> Any:
        """The command of this name.

        Raises:
            KeyError: there is none.
            ConfigError: the laboratory has it, which is not installed.
        """
        if name not in self._made:
            if name in self._places:
                panel, place = self._places[name]
                module, attribute = place.split(":")
                self._made[name] = _made(getattr(import_module(module), attribute), panel)
            else:
                installed = self._installed()
                if name not in installed:
                    refuse_missing(self._group, name)
                self._made[name] = _made(installed[name], self._panel)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        """Names, those of extensions last."""
        yield from self._places
        yield from self._installed()

    def __len__(self) -> int:
        """How many there are, those of extensions included."""
        return len(self._places) + len(self._installed())

    def _installed(self) -> Mapping[str, Callable[..., None]]:
        if self._extensions is None:
            found = extensions(self._group)
            self._extensions = {name: found[name] for name in found if name not in self._places}
        return self._extensions


def _made(command: Callable[..., None] | typer.Typer, panel: str | None) -> Any:
    """A command of click's, as typer makes it."""
    alone = typer.Typer()
    if isinstance(command, typer.Typer):
        alone.add_typer(command, rich_help_panel=panel)
    else:
        alone.command(rich_help_panel=panel)(command)
    (made,) = get_group(alone).commands.values()
    _join_lines(made)
    return made


def _join_lines(command: Any) -> None:
    """A paragraph of a help is one line, which a terminal wraps: source breaks lines elsewhere."""
    if command.help:
        paragraphs = inspect.cleandoc(command.help).split("\n\n")
        command.help = "\n\n".join(" ".join(one.split()) for one in paragraphs)
    for one in getattr(command, "commands", {}).values():
        _join_lines(one)
