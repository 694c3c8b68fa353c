"""A `RunConfig` back to TOML, so that every run keeps the file that repeats it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from securefair.config.describing import Location, expectation, key_names, node_at
from securefair.config.sections import RunConfig

# TOML allows these only escaped in basic strings (TOML 1.0, "String").
_ESCAPED = re.compile(r'["\\\x00-\x1f\x7f]')


def to_toml(config: RunConfig, *, comments: bool = False) -> str:
    """Every key with its value, defaults included; `parse_config` gives an equal configuration.

    Args:
        config: what to write. Keys that are not set (None) have no TOML and are left out.
        comments: precede each key by its description and what it accepts.
    """
    table = config.model_dump(mode="json", exclude_none=True)
    return "\n".join(_section_lines(table, (), comments)).lstrip("\n") + "\n"


def _section_lines(
    table: Mapping[str, object], location: Location, comments: bool
) -> Iterator[str]:
    plain = {key: value for key, value in table.items() if not isinstance(value, Mapping)}
    if location:
        yield ""
        yield f"[{'.'.join(map(str, location))}]"
    for key, value in plain.items():
        yield from _comment((*location, key)) if comments else ()
        yield f"{key} = {_value(value)}"
    if comments and location:
        for key in key_names(location):
            if key not in table:
                yield from _comment((*location, key))
                yield f"# {key} ="
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _section_lines(value, (*location, key), comments)


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
        case list():
            return f"[{', '.join(map(_value, value))}]"
    raise TypeError(f"no TOML for {type(value).__name__}")
