"""Settings by the names of their keys alone -> the sections that they stand in.

    rounds=20                       a key that one of the sections that are read has
    training={"rounds": 20}         a section as a table

A key that two of them have is written in its section's table.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from securefair.config.base import Section
from securefair.errors import ConfigError


def in_sections(
    settings: Mapping[str, object],
    keys: Iterable[str],
    *,
    others: Iterable[str] = (),
    meant: Mapping[str, str] | None = None,
    source: str,
) -> dict[str, dict[str, Any]]:
    """The tables of a configuration that settings stand for; their values are not checked here.

    Args:
        settings: values of keys by name, or tables by the name of their section. None stands for
            a key that nobody gave.
        keys: dotted keys that are read, such as "training.rounds".
        others: that are known as well, for whoever says more of a key that nobody reads.
        meant: what to write instead of a key that is not taken, by its name.
        source: names the settings in errors.

    Raises:
        ConfigError: there is no such key, by itself or in a table; several sections have it, or it
            is given twice.
    """
    keys, others, meant = frozenset(keys), frozenset(others), meant or {}
    homes, elsewhere = _homes(keys), _homes(others)
    sections = {section for found in (homes | elsewhere).values() for section in found}
    homes = {key: found[:1] for key, found in elsewhere.items()} | homes
    tables: dict[str, dict[str, Any]] = {}
    for name, value in settings.items():
        if value is None:
            continue
        if name in sections and (name not in homes or isinstance(value, Mapping | Section)):
            given = _plain(name, value, source)
            inner = {
                dotted.partition(".")[2] for dotted in keys | others if _section(dotted) == name
            }
            for key in sorted(set(given) - inner, key=str):
                raise _unknown(f"{name}.{key}", inner, inner, meant, source)
        elif name in homes:
            _refuse_ambiguous(name, homes[name], source)
            (section,) = homes[name]
            given, name = {name: value}, section
        else:
            read = {*_homes(keys), *map(_section, keys)}
            raise _unknown(name, {*homes, *sections}, read, meant, source)
        table = tables.setdefault(name, {})
        twice = sorted(set(table) & set(given))
        if twice:
            raise ConfigError(
                "a key is given twice",
                where=f"{source}: {name}.{twice[0]}",
                found=f"{twice[0]}, and {name} with it",
                expected="one of them",
            )
        table |= given
    return tables


def _homes(keys: Iterable[str]) -> dict[str, list[str]]:
    """The sections that have a key, by its name."""
    homes: dict[str, list[str]] = {}
    for dotted in sorted(keys):
        section, _, key = dotted.partition(".")
        homes.setdefault(key, []).append(section)
    return homes


def _section(dotted: str) -> str:
    return dotted.partition(".")[0]


def _plain(name: str, value: object, source: str) -> dict[str, Any]:
    """A section's keys that somebody gave."""
    if isinstance(value, Section):
        return value.model_dump(exclude_unset=True, exclude_none=True)
    if not isinstance(value, Mapping):
        raise ConfigError(
            "a section comes as a table",
            where=f"{source}: {name}",
            found=type(value).__name__,
            expected=f"a dict of keys of [{name}]",
        )
    return {key: inner for key, inner in value.items() if inner is not None}


def _refuse_ambiguous(name: str, sections: list[str], source: str) -> None:
    if len(sections) > 1:
        raise ConfigError(
            "several sections have this key",
            where=f"{source}: {name}",
            found=name,
            expected=" or ".join(f"{section}={{{name!r}: ...}}" for section in sections),
        )


def _unknown(
    dotted: str, known: set[str], read: set[str], meant: Mapping[str, str], source: str
) -> ConfigError:
    """A key that is not taken; the hint names one that is like it, or all that are read."""
    name = dotted.rpartition(".")[2]
    close = meant.get(name) or closest(name, known)
    return ConfigError(
        "there is no such key",
        where=f"{source}: {dotted}",
        found=name,
        hint=f"Did you mean {close}" if close else f"Known here: {', '.join(sorted(read))}",
    )


def closest(name: str, known: Iterable[str]) -> str | None:
    """The known name that a misspelt one stands for; None where all are other words."""
    return next(iter(difflib.get_close_matches(name, list(known), n=1, cutoff=0.75)), None)
