"""A user's own function or class: found, called with what it takes, named where it fails."""

from __future__ import annotations

import importlib
import inspect
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

from securefair.errors import ConfigError, DataError, SecureFairError

_FOUND: dict[str, Path] = {}
"""Modules that were imported from a user's folder, which Python itself keeps by name only."""


def imported(entry: str, folder: Path | None, *, where: str) -> Callable[..., Any]:
    """The function or class of an entry such as "my_module:load".

    A module of another folder that came here under the same name before is forgotten, and so are
    the modules beside it; what was taken from them goes on as it is.

    Args:
        entry: module and name.
        folder: where the module is looked for first.
        where: the setting that names the entry, for errors.

    Raises:
        ConfigError: there is no such module, nothing in it that can be called by that name, or
            the folder's cannot be had because a library of this name is loaded.
        DataError: importing the module failed; names the line.
    """
    module_name, _, name = entry.partition(":")
    with user_code(entry), _searched(folder):
        try:
            module = importlib.import_module(module_name)
        except ModuleNotFoundError as error:
            if not f"{module_name}.".startswith(f"{error.name}."):
                raise ConfigError(
                    f"{module_name} imports a module that is not there",
                    where=where,
                    found=error.name,
                    hint="Install it in the environment of securefair",
                ) from error
            raise ConfigError(
                "there is no such module",
                where=where,
                found=error.name,
                hint=f"Put {module_name}.py into {folder or 'a folder of PYTHONPATH'}",
            ) from error
        if folder is not None:
            _check_origin(module_name.partition(".")[0], folder, where)
    found = getattr(module, name, None)
    if not callable(found):
        raise ConfigError(
            f"{module_name} has no function or class of this name", where=where, found=name
        )
    result: Callable[..., Any] = found
    return result


@contextmanager
def _searched(folder: Path | None) -> Iterator[None]:
    """Look for modules in a folder first, and in no earlier one, for as long as this lasts."""
    folder = folder and folder.resolve()
    for name in [name for name, other in _FOUND.items() if other != folder]:
        sys.modules.pop(name, None)
        del _FOUND[name]
    if folder is None:
        yield
        return
    before = set(sys.modules)
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        new = set(sys.modules) - before
        # Directly in the folder: an environment somewhere in it holds libraries, to be kept.
        own = {name for name in new if "." not in name and _lies_in(sys.modules[name], folder)}
        _FOUND.update((name, folder) for name in new if name.partition(".")[0] in own)


def _lies_in(module: ModuleType, folder: Path) -> bool:
    """Whether this is a file of the folder, or a package in it, with or without __init__.py."""
    packages = list(getattr(module, "__path__", ()))
    places = packages or [getattr(module, "__file__", None) or ""]
    return any(place and Path(place).resolve().parent == folder for place in places)


def _check_origin(name: str, folder: Path, where: str) -> None:
    """Refuse a module that was loaded from elsewhere while the folder has one of its name."""
    wanted, loaded = PathFinder.find_spec(name, [str(folder)]), sys.modules[name]
    if wanted is None or wanted.origin is None:
        return
    file = getattr(loaded, "__file__", None)
    if file is None or Path(file).resolve() != Path(wanted.origin).resolve():
        raise ConfigError(
            "another module of this name is loaded",
            where=where,
            found=file or f"{name}, which is part of Python",
            expected=wanted.origin,
            hint=f"Give the one in {folder} another name",
        )


def accepted(function: Callable[..., Any], offered: Mapping[str, object]) -> dict[str, object]:
    """Those of the offered arguments that a function has a name for."""
    parameters = inspect.signature(function).parameters
    anything = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())
    return {name: value for name, value in offered.items() if anything or name in parameters}


@contextmanager
def user_code(entry: str) -> Iterator[None]:
    """Name the place in a user's own code that failed; its traceback is of no use to others."""
    try:
        yield
    except SecureFairError:
        raise
    except Exception as error:  # whatever foreign code raises is its own fault
        raise DataError(
            f"your code failed with {type(error).__name__}: {error}",
            where=f"{entry} ({_place(error)})",
        ) from error


def _place(error: Exception) -> str:
    """The line that an exception is about."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    file, line = Path(last.filename), last.lineno
    # What cannot be read has not run: the traceback ends in what tried to import it.
    if isinstance(error, SyntaxError) and error.filename and Path(error.filename).is_file():
        file, line = Path(error.filename), error.lineno
    return f"{file.name}, line {line}"
