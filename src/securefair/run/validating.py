"""Everybody's models on everybody's patients, in one process: `securefair validate`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from securefair.collaboration.host import Role
from securefair.collaboration.kinds import AnyKind, validating_kind
from securefair.collaboration.resolved import ResolvedRun
from securefair.collaboration.validated import HospitalValidation
from securefair.data.cells import Table
from securefair.data.groups import own_groups
from securefair.errors import ConfigError
from securefair.records import LedgerRow, StandInResult, TrafficRow
from securefair.sites.simulation.starting import simulated


class Validation(msgspec.Struct, frozen=True, kw_only=True):
    """What all hospitals found.

    Attributes:
        name: of the run.
        backend: encryption engine.
        label: the column that is predicted; None where samples came as numbers.
        hospitals: by name, of those who asked.
        stand_ins: of models that hospitals brought, how far what answered is from them.
        ledger: what every hospital let out to whom.
        traffic: bytes by sender, receiver and type of message.
        problems: what failed, or looked wrong.
    """

    name: str
    backend: str
    label: str | None
    hospitals: dict[str, HospitalValidation]
    stand_ins: dict[str, StandInResult]
    ledger: list[LedgerRow]
    traffic: list[TrafficRow]
    problems: list[str]

    def as_json(self) -> dict[str, Any]:
        """`hospitals` by name and peer, with each score's mean and standard error, and the rest."""
        return {
            "name": self.name,
            "backend": self.backend,
            "hospitals": {name: one.by_peer() for name, one in self.hospitals.items()},
            "own": {name: one.own for name, one in self.hospitals.items()},
            "unanswered": {name: one.unanswered for name, one in self.hospitals.items()},
            "unscored": {name: one.unscored for name, one in self.hospitals.items()},
            "stand_ins": self.stand_ins,
            "ledger": self.ledger,
            "problems": self.problems,
        }


def foretold(run: ResolvedRun, roles: Mapping[str, str]) -> list[str]:
    """What everybody must know before anything is sent, in sentences; `run` is loaded."""
    (seed, data), kind = next(iter(run.data.items())), validating_kind()
    asking = [one for one in data if roles.get(one.name) != "teacher"]
    if not asking:
        return []
    return kind.forecast(run.agreements[seed][kind.name], asking).warnings


def validate_resolved(
    run: ResolvedRun,
    *,
    by: Sequence[str] = (),
    roles: Mapping[str, str] | None = None,
    tables: Mapping[str, Table] | None = None,
) -> Validation:
    """Let everybody ask everybody once, and score the answers.

    Args:
        run: of `first_seed_of` a configuration, loaded.
        by: columns of the tables by whose groups scores are given too.
        roles: "student" validates only, "teacher" is validated only, by hospital.
        tables: by hospital, the rows behind its patients; needed for `by`.

    Raises:
        ConfigError: there is no such hospital or role, or nobody asks or answers; hospitals
            brought no tables to group by.
        DataError: there is no such column.
        SecureFairError: it is impossible with these data.
    """
    (seed, data), kind = next(iter(run.data.items())), validating_kind()
    found_roles = checked_roles(roles or {}, [one.name for one in data], kind)
    groups = {one.name: own_groups(one, by, (tables or {}).get(one.name)) for one in data}
    simulation = simulated(
        kind,
        run.agreements[seed][kind.name],
        data,
        seed=seed,
        models=None,
        roles=found_roles,
    )
    try:
        list(simulation.rounds(kind.rounds(run.config.training.rounds)))
        facts = simulation.facts()
        return Validation(
            name=run.config.run.name,
            backend=run.config.encryption.backend,
            label=None if run.rules is None else run.rules.target.name,
            hospitals={
                name: host.validation(groups=groups[name])
                for name, host in simulation.hosts.items()
                if found_roles.get(name) != "teacher"
            },
            stand_ins=facts.stand_ins,
            ledger=facts.ledger,
            traffic=facts.traffic,
            problems=facts.problems,
        )
    finally:
        simulation.close()


def checked_roles(roles: Mapping[str, str], names: Iterable[str], kind: AnyKind) -> dict[str, Role]:
    """Roles by hospital, as sites have them.

    Raises:
        ConfigError: there is no such hospital or role, or nobody is left to ask or to answer.
    """
    names, found = list(names), dict[str, Role]()
    for name, said in roles.items():
        if name not in names:
            raise ConfigError(
                "nobody of this name takes part",
                where="role",
                found=name,
                expected=", ".join(names),
            )
        role = _ROLES.get(said)
        if role is None:
            raise ConfigError(
                "there is no such role", where="role", found=said, expected=", ".join(_ROLES)
            )
        kind.check_role(role)
        found[name] = role
    everybody = [found.get(name, "both") for name in names]
    for missing, what in (("teacher", "asks"), ("student", "answers")):
        if all(one == missing for one in everybody):
            raise ConfigError(f"nobody {what}", where="role", found=f"all are {missing}s")
    return found


_ROLES: dict[str, Role] = {"both": "both", "student": "student", "teacher": "teacher"}
