"""A project -> what its sites agree on. Nobody's data is needed for it."""

from __future__ import annotations

import hashlib

from securefair.circuit.planner import plan_exchange
from securefair.collaboration.disclosure import DisclosureLimits, limits_of
from securefair.collaboration.distillation.kind import CYCLE, VPDL
from securefair.collaboration.distillation.participant import ModelConfig
from securefair.collaboration.distillation.setup import Collaboration
from securefair.collaboration.interface import PublicFacts
from securefair.collaboration.training import optimizer_of
from securefair.config import RunConfig
from securefair.deployment.project import Project
from securefair.deployment.terms import Terms
from securefair.errors import ConfigError
from securefair.protocol.messages import PROTOCOL_VERSION
from securefair.user.tables import table_spec

DISTILLING = {kind.name: kind for kind in (CYCLE, VPDL)}
"""The kinds of collaboration that sites run."""


def collaboration_of(project: Project) -> Collaboration:
    """The public constants of a project.

    Raises:
        ConfigError: sites cannot run this kind of collaboration, or no total limits disclosure.
        PlanError: the exchange is impossible.
    """
    terms, config = project.terms, project.terms.config
    settings = terms.project
    if settings.algorithm not in DISTILLING:
        raise ConfigError(
            "sites cannot run this kind of collaboration yet",
            where="project.algorithm",
            found=settings.algorithm,
            expected=" or ".join(DISTILLING),
        )
    if settings.protocol != PROTOCOL_VERSION:
        raise ConfigError(
            "the project is of another version of the protocol",
            where="project.protocol",
            found=settings.protocol,
            expected=PROTOCOL_VERSION,
            hint="Install the same version of securefair everywhere",
        )
    features, classes = shape_of(terms)
    facts = PublicFacts(
        participants=project.names,
        shape=(features,),
        classes=classes,
        samples=settings.max_samples,
        round_seconds=settings.round_seconds,
        setup_seconds=settings.setup_seconds,
    )
    kind = DISTILLING[settings.algorithm]
    kind.check(config)
    return kind.agree(config, facts, seed=settings.seed)


def shape_of(terms: Terms) -> tuple[int, int]:
    """Numbers of features and classes.

    Raises:
        ConfigError: the rules of the table are not complete.
    """
    table, project = terms.config.table, terms.project
    if table is None:
        return project.features or 0, project.classes or 0
    spec = table_spec(table)
    return len(spec.features), len(spec.target.groups)


def disclosure_of(terms: Terms) -> DisclosureLimits:
    """What every teacher keeps to; over all rounds it is finite.

    Raises:
        ConfigError: a total is missing.
    """
    limits = limits_of(terms.config)
    if limits.student_total is None or limits.teacher_total is None:
        raise ConfigError(
            "a project needs totals of disclosed numbers",
            where="disclosure.student_total",
            found="none",
            expected="student_total and teacher_total",
            hint="`securefair project new` proposes both",
        )
    return limits


def model_of(config: RunConfig) -> ModelConfig:
    """The model that every site trains."""
    model, training = config.model, config.training
    return ModelConfig(
        kind=model.kind,
        hidden=model.hidden,
        network=model.network,
        range_penalty=model.range_penalty,
        optimizer=optimizer_of(config),
        local_epochs=training.local_epochs,
    )


def proposed_totals(config: RunConfig, *, samples: int, classes: int, sites: int) -> dict[str, int]:
    """Totals that let a student have one answer a round of every teacher, and no more."""
    release = config.distillation.release
    an_answer = (samples if release == "logits" else config.distillation.q) * classes
    student = an_answer * config.training.rounds
    return {"student_total": student, "teacher_total": student * max(1, sites - 1)}


def agreement_digest(project: Project) -> str:
    """What every site computes of the project for itself: its plan and public constants, in hex.

    Raises:
        ConfigError, PlanError: as `collaboration_of`.
    """
    collaboration = collaboration_of(project)
    plan = plan_exchange(collaboration.spec).digest
    return hashlib.sha256(b"securefair agreement 1\0" + collaboration.digest + plan).hexdigest()


def check_agreement(project: Project) -> Collaboration:
    """The public constants, if this installation finds the same plan as whoever made the project.

    Raises:
        ConfigError, PlanError: as `collaboration_of`; or it finds another plan.
    """
    disclosure_of(project.terms)
    found, said = agreement_digest(project), project.terms.project.agreement
    if found != said:
        raise ConfigError(
            "this installation plans the exchange differently",
            where="project.agreement",
            found=found[:16],
            expected=said[:16] or "a digest",
            hint="Install the same version of securefair everywhere; `securefair project add` and "
            "`project new` write the digest",
        )
    return collaboration_of(project)
