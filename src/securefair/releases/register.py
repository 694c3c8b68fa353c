"""The register of releases: a new release is a file and one line of `config.registers`."""

from __future__ import annotations

from functools import cache

from securefair.config.registers import RELEASES, looked_up
from securefair.errors import PlanError
from securefair.releases.interface import Release

REGISTERED = RELEASES
"""Where each release stands."""


@cache
def release_of(name: str) -> Release:
    """The release of that name.

    Raises:
        PlanError: there is none.
    """
    found: Release = looked_up(
        REGISTERED, name, "RELEASE", problem="unknown choice", where="release", error=PlanError
    )
    return found


def exchanged_releases() -> tuple[str, ...]:
    """Names of those of exchanges of samples."""
    return tuple(name for name in REGISTERED if release_of(name).exchanged)


def training_releases() -> tuple[str, ...]:
    """Names of those that a student can train on."""
    return tuple(name for name in exchanged_releases() if release_of(name).trains)
