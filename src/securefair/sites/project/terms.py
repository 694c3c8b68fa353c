"""The terms of a project: settings that every site agrees on, in the words of a configuration."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import Field, ValidationError

from securefair.collaboration.kinds import kinds_of, unread_keys
from securefair.config import RunConfig, check_settings, defaults
from securefair.config.base import Ratio, Section
from securefair.config.writing import plain_sections
from securefair.errors import ConfigError
from securefair.protocol.messages import OLDEST_PROTOCOL, PROTOCOL_VERSION, SPOKEN

_LOCAL = {"run", "data", "participants", "renewals", "report"}
"""Sections of a configuration that a project does not have, or says in other words."""

_SETTINGS = set(RunConfig.model_fields) - _LOCAL
"""Sections of a configuration that a project has too."""


class ProjectSection(Section):
    """[project]: who and what for, and how patient sites are with each other."""

    name: str = Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", description="Name of the project"
    )
    algorithm: str = Field(min_length=1, description="The kind of collaboration")
    max_samples: int = Field(ge=2, description="Most training samples that a site may bring")
    features: int | None = Field(
        default=None, ge=1, description="Of a sample; only where no [table] says it"
    )
    classes: int | None = Field(
        default=None, ge=2, description="Of a sample; only where no [table] says it"
    )
    test_fraction: Ratio = Field(
        default=defaults.TEST_FRACTION,
        gt=0,
        lt=1,
        description="Share of its samples that a site tests on",
    )
    seed: int = Field(
        default=0,
        ge=0,
        le=2**32 - 1,
        description="Public; draws the basis of projections, and who stands in a group",
    )
    round_seconds: float = Field(
        default=defaults.SITE_ROUND_SECONDS, gt=0, description="Deadline of a round"
    )
    setup_seconds: float = Field(
        default=defaults.SITE_SETUP_SECONDS,
        ge=0,
        description="Added to the first round's, for sites that start late, and to the wait for "
        "the last keys of a sum",
    )
    min_peers: int | None = Field(
        default=None,
        ge=0,
        description="Peers that a site needs in a round, of all or of its group: with fewer it "
        "waits, to the end of the project. Default: half of them",
    )
    valid_from: int = Field(ge=0, description="Seconds since 1970")
    valid_until: int = Field(ge=1, description="Seconds since 1970")
    protocol: int = Field(ge=1, description="Version of the protocol")
    agreement: str = Field(
        default="", description="Digest of the plan and all public constants, as everyone finds it"
    )


@dataclass(frozen=True)
class Terms:
    """The content of a project file but for its cards.

    Attributes:
        project: who and what for.
        config: the settings, and the rules of the table, as a configuration has them. Its data and
            participants stand for files that only their owners can read.
        written: as their file has them, which is what was signed: a later version may have keys,
            and defaults, that the file does not name. None where they come from no file.
    """

    project: ProjectSection
    config: RunConfig
    written: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)

    @property
    def valid_from(self) -> int:
        """Seconds since 1970."""
        return self.project.valid_from

    @property
    def valid_until(self) -> int:
        """Seconds since 1970."""
        return self.project.valid_until

    def as_table(self) -> dict[str, Any]:
        """All keys that its kind reads, as plain values; of a file those that it names."""
        if self.written is not None:
            return copy.deepcopy(dict(self.written))
        settings = project_sections(self.config)
        return {"project": self.project.model_dump(mode="json", exclude_none=True), **settings}

    def replaced(self, **changes: object) -> Terms:
        """With other values of [project].

        Raises:
            ConfigError: a value cannot be used.
        """
        table = self.as_table()
        table["project"] |= changes
        return checked_terms(table, source="project")


def spoken(protocol: int) -> bool:
    """Whether this version of securefair speaks a version of the protocol."""
    return protocol in SPOKEN


def check_version(protocol: int) -> None:
    """See that the protocol of a project is spoken here.

    Raises:
        ConfigError: it is not.
    """
    if not spoken(protocol):
        newer = protocol > PROTOCOL_VERSION
        which = "a newer" if newer else "an older" if protocol < OLDEST_PROTOCOL else "an unknown"
        raise ConfigError(
            f"the project speaks {which} version of the protocol",
            where="project.protocol",
            found=protocol,
            expected=" or ".join(map(str, sorted(SPOKEN))),
            hint="Install a newer version of securefair, as whoever founded the project has"
            if newer
            else "Found the project anew, or go on with the version that founded it",
        )


def project_sections(config: RunConfig) -> dict[str, Any]:
    """Of a configuration, what a project has too, as plain values.

    Everything that its kind reads, defaults included: what all sign must not change with the
    defaults of a later version. What no kind of it reads is left out, unless
    it has another value than its default, and so is what older versions would not know.
    """
    later = {
        f"{name}.{key}"
        for name in _SETTINGS
        if isinstance(section := getattr(config, name), Section)
        for key in section.unsaid
    }
    sections = plain_sections(config, unread={*unread_keys(config.run.collaborative), *later})
    return {name: keys for name, keys in sections.items() if name in _SETTINGS}


def checked_terms(table: Mapping[str, Any], *, source: str) -> Terms:
    """Check plain values, as TOML has them; `source` names them in errors.

    Raises:
        ConfigError: a key is unknown, missing or out of range, or two contradict each other.
    """
    unknown = sorted(set(table) - _SETTINGS - {"project"})
    if unknown:
        raise ConfigError(
            "there is no such section in a project",
            where=source,
            found=unknown[0],
            expected=", ".join(("project", *sorted(_SETTINGS))),
            hint="Rules for a table come from proposals: securefair project check A.toml B.toml "
            "--out settings.toml",
        )
    project = _project(table.get("project"), source)
    settings = {key: value for key, value in table.items() if key != "project"}
    ending = "csv" if "table" in settings else "npz"
    _check_own(settings, source)
    settings["run"] = {
        "name": project.name,
        "algorithms": ["standalone", project.algorithm],
        "seeds": [project.seed],
    }
    settings["data"] = {"source": "files", "test_fraction": project.test_fraction}
    settings["participants"] = [
        {"name": name, "file": f"{name}.{ending}"} for name in ("site", "peer")
    ]
    config = check_settings(settings, source=source)
    kinds_of(config)
    if (config.table is None) == (project.features is None or project.classes is None):
        raise ConfigError(
            "a project needs the rules of a table, or the numbers of features and classes",
            where=f"{source}: project.features",
            found="both"
            if config.table is not None
            else f"features {project.features}, classes {project.classes}",
            expected="a [table] section, or features and classes",
        )
    return Terms(project, config)


_OWN = {
    ("privacy", key): (
        "every site keeps the budget of its patients in its own store",
        "no such key: epsilon and delta hold for the whole project",
    )
    for key in ("store", "total_epsilon", "total_delta")
} | {
    ("encryption", "device"): (
        "every site says which device it has",
        "no such key: `device` stands in each site's site.toml",
    )
}
"""Keys that a project cannot say, with why, and what to do instead."""


def _check_own(settings: Mapping[str, Any], source: str) -> None:
    """Refuse what is every site's own.

    Raises:
        ConfigError: names the key.
    """
    for (name, key), (problem, instead) in _OWN.items():
        section = settings.get(name)
        if isinstance(section, Mapping) and key in section:
            raise ConfigError(
                problem, where=f"{source}: {name}.{key}", found=section[key], expected=instead
            )


_NAMES = "up to 64 letters A to Z without accents, digits, dots, dashes and underscores"


def _project(table: object, source: str) -> ProjectSection:
    try:
        return ProjectSection.model_validate(table)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        raise ConfigError(
            "a value of the project cannot be used",
            where=f"{source}: project.{key}" if key else f"{source}: project",
            found=None if first["type"] == "missing" else str(first["input"])[:60],
            expected=_NAMES if first["type"] == "string_pattern_mismatch" else first["msg"],
        ) from None
