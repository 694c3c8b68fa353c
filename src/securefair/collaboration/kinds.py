"""The register of kinds of collaboration: a new kind is a folder and one line here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from securefair.collaboration.interface import Kind
from securefair.collaboration.wording import CEILING_WORDING, CONTROL_WORDINGS, Wording
from securefair.config import RunConfig, check_settings, kinds_keys, override, to_toml
from securefair.config.base import Section, has_default
from securefair.config.registers import looked_up
from securefair.config.run import RunSection
from securefair.errors import ConfigError
from securefair.model.outcomes.register import outcome_named
from securefair.model.usual import LIBRARIES
from securefair.records import CEILING, STANDALONE

AnyKind = Kind[Any]

REGISTERED: dict[str, str] = {
    "transfer": "securefair.collaboration.transfer.kind:TRANSFER",
    "validation": "securefair.collaboration.validation.kind:VALIDATE",
    "table-one": "securefair.collaboration.table_one.kind:DESCRIBE",
    "vpdl": "securefair.collaboration.distillation.kind:VPDL",
    "cycle": "securefair.collaboration.distillation.kind:CYCLE",
    "cycle-gossip": "securefair.collaboration.gossip.kind:CYCLE_GOSSIP",
}
"""Where each kind stands, by the name of its algorithm; its folder is called as its section."""


def kind_of(algorithm: str, *, where: str = "run.algorithms") -> AnyKind:
    """The kind of one algorithm.

    Args:
        algorithm: its name.
        where: names the setting in errors.

    Raises:
        ConfigError: there is none of this name.
    """
    found: AnyKind = looked_up(
        REGISTERED, algorithm, problem="there is no such algorithm", where=where
    )
    return found


def validating_kind() -> AnyKind:
    """The kind by which hospitals look at each other's models."""
    return next(kind for kind in map(kind_of, REGISTERED) if kind.validates)


def describing_kind() -> AnyKind:
    """The kind by which hospitals describe their patients together."""
    return next(kind for kind in map(kind_of, REGISTERED) if kind.describes)


FOR_MODULES = "cycle"
"""What is run for modules that a user brings, which `transfer` cannot start from."""


def default_algorithm(*, modules: bool = False) -> str:
    """What a configuration that names none is about; with `modules`, models are a user's own."""
    if modules:
        return FOR_MODULES
    names: tuple[str, ...] = RunSection.model_fields["algorithms"].default
    return names[-1]


def libraries_of(kinds: Mapping[str, AnyKind], outcome: str | None, *, network: bool) -> list[str]:
    """Modules that take long to load and that a run needs, as far as its configuration tells.

    Those of controls are not needed either where a table turns out to be large.

    Args:
        kinds: of its algorithms.
        outcome: of a table; None: samples are numbers and tell classes.
        network: whether the run's model is one.
    """
    of_classes = outcome is None or outcome_named(outcome).tells_classes
    usual = LIBRARIES if of_classes and not network else ()
    return sorted({*usual, *(module for kind in kinds.values() for module in kind.loads)})


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


CONTROLS_READ = frozenset({"transfer.fit"})
"""What may be given for the controls alone: the degree of everybody's own regularised fit.

The control that stops early trains by `[model]` and `[training]`. Beside a kind that does not, it
has their defaults, or what an earlier version's configuration says.
"""


def unread_by(algorithms: Sequence[str]) -> frozenset[str]:
    """Keys that none of these algorithms reads; a control may.

    Without any there is nothing to be mistaken about: everyone stays alone, whatever was to be
    shared, and no key is refused.

    Raises:
        ConfigError: there is no such algorithm.
    """
    if not algorithms:
        return frozenset()
    return kinds_keys() - CONTROLS_READ.union(*(kind_of(name).reads for name in algorithms))


def unread_keys(algorithms: Sequence[str]) -> frozenset[str]:
    """Keys that none of these kinds reads, given or not; those of a kind that is gone are told from
    no others, so then there are none.
    """
    return unread_by(algorithms) if set(algorithms) <= set(REGISTERED) else frozenset()


def toml_of(config: RunConfig) -> str:
    """A configuration as a file, without what nothing reads and that says its default."""
    return to_toml(config, unread=unread_keys(config.run.collaborative))


def narrowed(config: RunConfig, algorithm: str) -> RunConfig:
    """The same configuration about one algorithm alone, without what that one does not read.

    Raises:
        ConfigError: there is no such algorithm.
    """
    table = config.model_dump(mode="json", exclude_unset=True, exclude_none=True)
    for dotted in unread_by([algorithm]):
        section, _, key = dotted.partition(".")
        table.get(section, {}).pop(key, None)
    table["run"]["algorithms"] = ["standalone", algorithm]
    if algorithm != config.run.main:
        table["run"].pop("smaller", None)  # so many samples suit the algorithm that was last
    return check_settings(table, source=f"configuration of {algorithm}")


def first_seed_of(config: RunConfig, kind: AnyKind) -> RunConfig:
    """A run's configuration as one of a kind that asks once, for `describe` and `validate`.

    Raises:
        ConfigError: settings contradict each other, or this kind.
    """
    kind.check(config)
    run = config.run.model_dump(mode="json", exclude_none=True, exclude={"smaller", "out"})
    run |= {"seeds": list(config.run.seeds[:1]), "algorithms": [STANDALONE, kind.name]}
    return override(narrowed(config, kind.name), {"run": run}, source=kind.name)


def refuse_unread(config: RunConfig, *, asked: str | None = None) -> None:
    """Refuse settings that somebody gave and that no algorithm of the configuration reads.

    For what somebody asks for now: what an earlier version wrote has all keys. A key that says what
    holds without it is no wish: whoever edits a file that has every key means those that differ.

    Args:
        config: that was asked for.
        asked: how its algorithms were given; None for as a file gives them.

    Raises:
        ConfigError: names all of them, and the algorithms that read them.
    """
    unread = unread_by(config.run.collaborative)
    given = [
        f"{name}.{key}"
        for name, section in config
        if name in config.model_fields_set and isinstance(section, Section)
        for key in type(section).model_fields
        if f"{name}.{key}" in unread
        and key in section.model_fields_set
        and not has_default(section, key)
    ]
    if not given:
        return
    readers: dict[str, list[str]] = {}
    for key in given:
        names = [name for name in REGISTERED if key in kind_of(name).reads]
        readers.setdefault(" and ".join(names), []).append(key)
    told = "; ".join(f"{', '.join(keys)}: {names or 'nobody'}" for names, keys in readers.items())
    raise ConfigError(
        f"no algorithm of this run learns by {'this key' if len(given) == 1 else 'these keys'}",
        where=", ".join(given),
        found=asked or f"run.algorithms = {', '.join(config.run.algorithms)}",
        hint=f"Leave out what these algorithms do not learn by, or name one that does. {told}",
    )


def _section(where: str) -> str:
    return where.partition(":")[0].split(".")[-2]


def wording_of(algorithm: str) -> Wording:
    """How people read of an algorithm or a control; an unknown name stays as it is."""
    if algorithm in REGISTERED:
        return kind_of(algorithm).wording
    if algorithm in CONTROL_WORDINGS:
        return CONTROL_WORDINGS[algorithm]
    return CEILING_WORDING if algorithm == CEILING else Wording(algorithm, "")
