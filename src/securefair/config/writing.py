"""A `RunConfig` back to TOML, so that every run keeps the file that repeats it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from securefair.config.base import has_default
from securefair.config.describing import Location, expectation, key_names, node_at
from securefair.config.sections import RunConfig

# TOML allows these only escaped in basic strings (TOML 1.0, "String").
_ESCAPED = re.compile(r'["\\\x00-\x1f\x7f]')


def to_toml(config: RunConfig, *, comments: bool = False, unread: Collection[str] = ()) -> str:
    """Every key with its value, defaults included; `parse_config` gives an equal configuration.

    Args:
        config: what to write. Keys that are not set (None) have no TOML and are left out.
        comments: precede each key by its description and what it accepts; of a list of sections,
            in the first of each kind.
        unread: as of `plain_sections`.
    """
    table = plain_sections(config, unread=unread)
    lines = _section_lines(table, (), "", comments, set(), frozenset(unread))
    return "\n".join(lines).lstrip("\n") + "\n"


def plain_sections(config: RunConfig, *, unread: Collection[str]) -> dict[str, Any]:
    """Every section with its keys as plain values, defaults included.

    Args:
        config: what is written.
        unread: dotted keys that are left out where they have their default, with sections of
            nothing else: what no algorithm of the configuration reads. Any other value stays: a
            control may read it, and what is written repeats the figures.
    """
    table = config.model_dump(mode="json", exclude_none=True)
    for dotted in unread:
        section, _, key = dotted.partition(".")
        if section in table and has_default(getattr(config, section), key):
            table[section].pop(key, None)
    return {key: value for key, value in table.items() if value != {}}


def plain_toml(table: Mapping[str, object]) -> str:
    """Plain values (texts, numbers, booleans, lists, tables) as TOML, in their order."""
    return "\n".join(_section_lines(table, ("",), "", False, set())).lstrip("\n") + "\n"


def _section_lines(
    table: Mapping[str, object],
    location: Location,
    header: str,
    comments: bool,
    explained: set[Location],
    unread: frozenset[str] = frozenset(),
) -> Iterator[str]:
    """A section with its sub-sections; `location` is its place in the schema."""
    comments = comments and location not in explained
    explained.add(location)
    if header:
        yield ""
        yield header
    for key, value in table.items():
        if not _is_section(value):
            yield from _comment((*location, key)) if comments else ()
            yield f"{key} = {_value(value)}"
    if comments and location:
        for key in key_names(location):
            if key not in table and ".".join(map(str, (*location, key))) not in unread:
                yield from _comment((*location, key))
                yield f"# {key} ="
    name = header.strip("[]")
    for key, value in table.items():
        inner = f"{name}.{key}" if name else key
        if isinstance(value, Mapping):
            place = _of_its_kind((*location, key), value)
            yield from _section_lines(value, place, f"[{inner}]", comments, explained, unread)
        elif _is_section(value) and isinstance(value, list | tuple):
            for one in value:
                place = _of_its_kind((*location, key, 0), one)
                yield from _section_lines(one, place, f"[[{inner}]]", comments, explained)


def _is_section(value: object) -> bool:
    """Whether a value has a header of its own: a table, or a list of tables."""
    first = value[0] if isinstance(value, list | tuple) and value else value
    return isinstance(first, Mapping)


def _of_its_kind(location: Location, value: Mapping[str, object]) -> Location:
    """The place of a section in the schema, where its `kind` decides which keys it has."""
    node = node_at(location) or {}
    return (*location, str(value["kind"])) if "discriminator" in node else location


def _comment(location: Location) -> Iterator[str]:
    node = node_at(location)
    if node is not None:
        yield f"# {node['description']} ({expectation(location)})"


def _value(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str():
            return '"' + _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", value) + '"'
        case list() | tuple():
            return f"[{', '.join(map(_value, value))}]"
    raise TypeError(f"no TOML for {type(value).__name__}")
