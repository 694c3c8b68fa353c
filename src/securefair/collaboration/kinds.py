"""The register of kinds of collaboration: a new kind is a folder and one line here."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from securefair.collaboration.interface import Kind
from securefair.collaboration.wording import CEILING_WORDING, CONTROL_WORDINGS, Wording
from securefair.config import RunConfig
from securefair.config.run import RunSection
from securefair.errors import ConfigError
from securefair.records import CEILING

AnyKind = Kind[Any]

REGISTERED: dict[str, str] = {
    "transfer": "securefair.collaboration.transfer.kind:TRANSFER",
    "vpdl": "securefair.collaboration.distillation.kind:VPDL",
    "cycle": "securefair.collaboration.distillation.kind:CYCLE",
    "cycle-gossip": "securefair.collaboration.gossip.kind:CYCLE_GOSSIP",
}
"""Where each kind stands, by the name of its algorithm; its folder is called as its section."""


def kind_of(algorithm: str) -> AnyKind:
    """The kind of one algorithm.

    Raises:
        ConfigError: there is none of this name.
    """
    if algorithm not in REGISTERED:
        close = difflib.get_close_matches(algorithm, REGISTERED, n=1)
        raise ConfigError(
            "there is no such algorithm",
            where="run.algorithms",
            found=algorithm,
            expected=", ".join(["standalone", *REGISTERED]),
            hint=f"Did you mean {close[0]}" if close else None,
        )
    module, _, name = REGISTERED[algorithm].partition(":")
    found: AnyKind = getattr(import_module(module), name)
    return found


FOR_MODULES = "cycle"
"""What is run for modules that a user brings, which `transfer` cannot start from."""


def default_algorithm(*, modules: bool = False) -> str:
    """What a configuration that names none is about; with `modules`, models are a user's own."""
    if modules:
        return FOR_MODULES
    names: tuple[str, ...] = RunSection.model_fields["algorithms"].default
    return names[-1]


def kinds_of(config: RunConfig) -> Mapping[str, AnyKind]:
    """The kinds of a configuration's algorithms, in its order; its settings fit them.

    Settings of a kind that is not run are checked where its section is given; other kinds are not
    even imported.

    Raises:
        ConfigError: there is no such algorithm, or settings contradict each other.
    """
    kinds = {name: kind_of(name) for name in config.run.collaborative}
    fixed = [name for name, kind in kinds.items() if not kind.renews]
    if config.renewals and fixed:
        raise ConfigError(
            "participants whose data change cannot go on in this kind of collaboration",
            where="renewals",
            found=", ".join(fixed),
            expected=", ".join(name for name in REGISTERED if kind_of(name).renews),
            hint="Run it again with the new tables",
        )
    for name, where in REGISTERED.items():
        if name in kinds or _section(where) in config.model_fields_set:
            kind_of(name).check(config)
    return kinds


def _section(where: str) -> str:
    return where.partition(":")[0].split(".")[-2] if "." in where else ""


def kind_of_controls(config: RunConfig) -> AnyKind:
    """Whose controls a run is measured against: those of its last algorithm, which it is about.

    Raises:
        ConfigError: there is no such algorithm.
    """
    return kind_of(next(reversed(config.run.collaborative), next(iter(REGISTERED))))


def wording_of(algorithm: str) -> Wording:
    """How people read of an algorithm or a control; an unknown name stays as it is."""
    if algorithm in REGISTERED:
        return kind_of(algorithm).wording
    if algorithm in CONTROL_WORDINGS:
        return CONTROL_WORDINGS[algorithm]
    for name in REGISTERED:
        known = kind_of(name).control_wordings
        if algorithm in known:
            return known[algorithm]
    return CEILING_WORDING if algorithm == CEILING else Wording(algorithm, "")
