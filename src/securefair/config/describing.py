"""What a key accepts, in words, read from the JSON schema that pydantic derives.

One source for error messages and for the comments of a written configuration.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

from securefair.config.sections import RunConfig

Location = tuple[str | int, ...]
Node = dict[str, Any]

_TYPES = {
    "integer": "a whole number",
    "number": "a number",
    "string": "text",
    "boolean": "true or false",
}


@cache
def _schema() -> Node:
    schema: Node = RunConfig.model_json_schema()
    return schema


def _follow(node: Node) -> Node:
    """The node behind a reference or an optional value."""
    while True:
        if "$ref" in node:
            node = _schema()["$defs"][node["$ref"].rsplit("/", 1)[-1]] | {
                key: value for key, value in node.items() if key != "$ref"
            }
        elif "anyOf" in node:
            choices = [choice for choice in node["anyOf"] if choice.get("type") != "null"]
            rest = {key: value for key, value in node.items() if key != "anyOf"}
            node = choices[0] | rest
        else:
            return node


def _walk(location: Location) -> Iterator[tuple[str | int, Node | None]]:
    """Each part of a pydantic location with its node; union tags come without a part of the file.

    Yields None for a node once the location leaves what the schema knows.
    """
    node: Node | None = _follow(_schema())
    for part in location:
        if node is None:
            yield part, None
        elif "discriminator" in node and part in node["discriminator"]["mapping"]:
            node = _follow({"$ref": node["discriminator"]["mapping"][part]})
            yield "", node
        elif isinstance(part, int):
            node = _follow(node["items"]) if "items" in node else None
            yield part, node
        else:
            child = node.get("properties", {}).get(part)
            node = _follow(child) if child is not None else None
            yield part, node


def file_path(location: Location) -> Location:
    """A pydantic location as its place in the file: without the tags of unions."""
    return tuple(part for part, _ in _walk(location) if part != "")


def node_at(location: Location) -> Node | None:
    """The schema of a key, or None where there is no such key."""
    nodes = [_follow(_schema()), *(node for _, node in _walk(location))]
    return nodes[-1]


def key_names(location: Location) -> list[str]:
    """The keys that a section accepts, in the order of their definition."""
    return list((node_at(location) or {}).get("properties", {}))


def sections_with(key: str) -> list[str]:
    """The names of all sections that have this key."""
    return [section for section in key_names(()) if key in key_names((section,))]


def described_keys() -> dict[str, dict[str, tuple[str, str, str | None]]]:
    """Every key of every section: what it means, what it accepts, and its default if it has one.

    Of a section that is one of several kinds all kinds are told, as SECTION, kind KIND.
    """
    found: dict[str, dict[str, tuple[str, str, str | None]]] = {}
    for section in key_names(()):
        node = node_at((section,)) or {}
        place: Location = (section,) if node.get("type") != "array" else (section, 0)
        _describe(section, place, found)
    return found


def _describe(
    name: str, place: Location, found: dict[str, dict[str, tuple[str, str, str | None]]]
) -> None:
    keys: dict[str, tuple[str, str, str | None]] = {}
    found[name] = keys
    for key in key_names(place):
        inner = (*place, key)
        node = node_at(inner) or {}
        listed = node_at((*inner, 0)) or {}
        if "discriminator" in node or "discriminator" in listed:
            many = inner if "discriminator" in node else (*inner, 0)
            for kind in (node_at(many) or {})["discriminator"]["mapping"]:
                _describe(f"{name}.{key}, kind {kind}", (*many, kind), found)
        default = node.get("default")
        keys[key] = (
            str(node.get("description", "")),
            expectation(inner) or "",
            None if default is None else json.dumps(default),
        )


def expectation(location: Location) -> str | None:
    """What a key accepts: its type, its choices, its range; None for an unknown key."""
    node = node_at(location)
    return None if node is None else _expectation(node)


def _expectation(node: Node) -> str:
    if "expected" in node:
        return str(node["expected"])
    if "discriminator" in node:
        return _choices(list(node["discriminator"]["mapping"]))
    if "const" in node:
        return _choices([node["const"]])
    if "enum" in node:
        return _choices(node["enum"])
    if node.get("type") == "object":
        return "a section"
    if node.get("type") == "array":
        inner = _expectation(_follow(node["items"]))
        return f"a list of one or more, each {inner}"
    words = _TYPES[node["type"]]
    bounds = [
        f"{word} {_number(node[key])}"
        for key, word in (
            ("exclusiveMinimum", "above"),
            ("minimum", "at least"),
            ("exclusiveMaximum", "below"),
            ("maximum", "at most"),
        )
        if key in node
    ]
    if "maxLength" in node:
        bounds.append(f"of at most {node['maxLength']} characters")
    return " ".join([words, " and ".join(bounds)]) if bounds else words


def _choices(values: list[str]) -> str:
    quoted = [f'"{value}"' for value in values]
    return " or ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:g}"
