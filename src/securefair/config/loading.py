"""TOML text to a checked `RunConfig`; every mistake becomes a `ConfigError` with its facts."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from securefair.config.base import Section
from securefair.config.data import CODE_SOURCES
from securefair.config.describing import (
    Location,
    expectation,
    file_path,
    key_names,
    sections_with,
)
from securefair.config.keys import closest
from securefair.config.sections import RunConfig
from securefair.errors import ConfigError

S = TypeVar("S", bound=Section)

_PROBLEMS = {  # pydantic's error types, in the words of whoever wrote the file
    "missing": "a key is missing",
    "extra_forbidden": "there is no such key",
    "union_tag_invalid": "a value is not one of those allowed",
    "union_tag_not_found": "a key is missing",
    "literal_error": "a value is not one of those allowed",
    "nul_in_path": "no path has a NUL character",
    "model_type": "a section is expected here",
    "model_attributes_type": "a section is expected here",
}


def load_config(path: Path | str) -> RunConfig:
    """Read and check one TOML file; paths of data in it are relative to its folder.

    Raises:
        ConfigError: the file cannot be read, is not TOML, or a key is unknown, missing, of the
            wrong type or out of range; names file, key, found and expected.
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")  # Windows puts a mark before
    except OSError as error:
        raise ConfigError(
            "the configuration file cannot be read",
            where=str(path),
            found=error.strerror,
            hint="Give the path of a TOML file",
        ) from error
    except UnicodeDecodeError as error:
        raise ConfigError(
            "the configuration file is not UTF-8 text", where=str(path), found=error.reason
        ) from error
    config, folder = parse_config(text, source=str(path)), Path(path).absolute().parent
    changes: dict[str, object] = {}  # paths of data are absolute: it means the same anywhere
    if config.participants:
        changes["participants"] = tuple(one.in_folder(folder) for one in config.participants)
    if config.renewals:
        changes["renewals"] = tuple(one.in_folder(folder) for one in config.renewals)
    if config.table is not None:
        changes["table"] = config.table.in_folder(folder)
    if config.data.source in CODE_SOURCES:
        found = folder / (config.data.module_folder or "")
        changes["data"] = config.data.model_copy(update={"module_folder": found})
    return config.model_copy(update=changes)


def demo_config() -> RunConfig:
    """The packaged demonstration: four heart hospitals, standalone, VPDL and CYCle."""
    text = resources.files("securefair.config").joinpath("demo.toml").read_text(encoding="utf-8")
    return parse_config(text, source="demo.toml")


def _comma(text: str, error: tomllib.TOMLDecodeError) -> str | None:
    """A hint where the line of an error holds a number with a decimal comma."""
    place = re.search(r"line (\d+)", str(error))
    lines = text.splitlines()
    line = lines[int(place[1]) - 1] if place and int(place[1]) <= len(lines) else ""
    found = re.search(r"=\s*([+-]?\d+),(\d+)\s*(?:#.*)?$", line)
    return None if found is None else f"Numbers have a decimal point: {found[1]}.{found[2]}"


def parse_config(text: str, *, source: str) -> RunConfig:
    """Check TOML text; `source` names it in errors.

    Raises:
        ConfigError: as in `load_config`.
    """
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(
            "this is not valid TOML", where=source, found=str(error), hint=_comma(text, error)
        ) from error
    if "project" in table:
        raise ConfigError(
            "this is a project of sites, no configuration of a run",
            where=source,
            hint=f"securefair project check {source}",
        )
    return check_settings(table, source=source)


def override(
    config: RunConfig, settings: Mapping[str, object], *, source: str = "override"
) -> RunConfig:
    """The same configuration with some keys changed, checked again as a whole.

    What nobody gave stays so.

    Args:
        config: stays as it is.
        settings: dotted keys such as "training.rounds" and their new values.
        source: names the settings in errors, for instance "command line".

    Raises:
        ConfigError: as in `load_config`.
    """
    table = config.model_dump(mode="json", exclude_unset=True, exclude_none=True)
    for dotted, value in settings.items():
        *sections, key = dotted.split(".")
        inner: Any = table
        for name in sections:
            inner = inner.setdefault(name, {})
            if not isinstance(inner, dict):
                raise ConfigError(
                    "there is no such key", where=f"{source}: {dotted}", found=f"{name} is a value"
                )
        inner[key] = value
    return check_settings(table, source=source)


def check_settings(table: Mapping[str, object], *, source: str) -> RunConfig:
    """Check plain values, as TOML has them; `source` names them in errors.

    Raises:
        ConfigError: as in `load_config`.
    """
    try:
        return RunConfig.model_validate(table)
    except ValidationError as error:
        # Unknown keys first: a misspelt key is also reported as a missing one.
        mistakes = sorted(error.errors(), key=lambda e: e["type"] != "extra_forbidden")
        raise _config_error(mistakes, source) from None


def check_section(kind: type[S], values: Mapping[str, object], *, source: str) -> S:
    """Check one section by itself, where nobody has a whole configuration.

    Args:
        kind: class of a configuration's sections.
        values: plain values of its keys.
        source: names them in errors.

    Raises:
        ConfigError: as in `load_config`.
    """
    name = next(name for name, one in RunConfig.model_fields.items() if one.annotation is kind)
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        mistakes = error.errors()
        for mistake in mistakes:
            mistake["loc"] = (name, *mistake["loc"])
        raise _config_error(mistakes, source) from None


def _config_error(mistakes: list[ErrorDetails], source: str) -> ConfigError:
    """The first mistake in full, the others in the hint so that one run shows them all."""
    first, *others = [_facts(mistake) for mistake in mistakes]
    hints = [first.hint] if first.hint else []
    hints += [f"Also: {other}" for other in others]
    return ConfigError(
        first.problem,
        where=f"{source}: {first.where}",
        found=first.found,
        expected=first.expected,
        hint="; ".join(hints) or None,
    )


def _facts(mistake: ErrorDetails) -> ConfigError:
    kind, location, facts = mistake["type"], mistake["loc"], mistake.get("ctx", {})
    if kind == "contradiction":
        return ConfigError(
            facts["problem"],
            where=_dotted((*file_path(location), *facts["key"].split("."))),
            found=facts["found"],
            expected=facts["expected"],
        )
    if kind == "extra_forbidden":
        return ConfigError(
            _PROBLEMS[kind],
            where=_dotted(file_path(location)),
            found=_short(mistake["input"]),
            hint=_suggestion(location),
        )
    expected = expectation(location)
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        location += ("kind",)
    found = None if kind in ("missing", "union_tag_not_found") else mistake["input"]
    return ConfigError(
        _PROBLEMS.get(kind, "a value cannot be used"),
        where=_dotted(file_path(location)),
        found=_short(facts["tag"] if kind == "union_tag_invalid" else found),
        expected=expected,
    )


def _suggestion(location: Location) -> str:
    """What the writer of an unknown key may have meant."""
    *parents, key = location
    here = key_names(tuple(parents))
    close = closest(str(key), here)
    if close:
        return f"Did you mean {close}"
    elsewhere = sections_with(str(key))
    if elsewhere:
        return f"{key} belongs in [{elsewhere[0]}]"
    return f"Known here: {', '.join(here)}"


def _dotted(path: Location) -> str:
    """`run.seeds[2]` for ("run", "seeds", 2)."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def _short(value: object) -> object:
    """The value itself, or its beginning where it would fill the screen."""
    text = repr(value)
    return value if len(text) <= 60 else f"{text[:57]}..."
