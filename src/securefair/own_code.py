"""A user's own function or class: found, called with what it takes, named where it fails."""

from __future__ import annotations

import importlib
import inspect
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from securefair.errors import ConfigError, DataError, SecureFairError


def imported(entry: str, folder: Path | None) -> Callable[..., Any]:
    """The function or class of an entry such as "my_module:load".

    Args:
        entry: module and name.
        folder: where the module is looked for first.

    Raises:
        ConfigError: there is no such module, or nothing in it that can be called by that name.
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
                    where="data.entry",
                    found=error.name,
                    hint="Install it in the environment of securefair",
                ) from error
            raise ConfigError(
                "there is no such module",
                where="data.entry",
                found=error.name,
                hint=f"Put {module_name}.py into {folder or 'a folder of PYTHONPATH'}",
            ) from error
    found = getattr(module, name, None)
    if not callable(found):
        raise ConfigError(
            f"{module_name} has no function or class of this name", where="data.entry", found=name
        )
    result: Callable[..., Any] = found
    return result


@contextmanager
def _searched(folder: Path | None) -> Iterator[None]:
    """Look for modules in a folder first, for as long as this lasts."""
    if folder is None:
        yield
        return
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))


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
        last = traceback.extract_tb(error.__traceback__)[-1]
        raise DataError(
            f"your code failed with {type(error).__name__}: {error}",
            where=f"{entry} ({Path(last.filename).name}, line {last.lineno})",
        ) from error
