"""A project -> what its sites agree on. Nobody's data is needed for it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from securefair.collaboration.agreement import Agreement, PublicFacts
from securefair.collaboration.kinds import AnyKind, kind_of
from securefair.config import DisclosureSection
from securefair.data.table import class_names
from securefair.errors import ConfigError
from securefair.model.outcomes import outcome_named
from securefair.sites.project.project import Project
from securefair.sites.project.terms import Terms, check_version
from securefair.user.tables import table_spec


def kind_in(terms: Terms) -> AnyKind:
    """The kind of collaboration that was agreed on."""
    return kind_of(terms.project.algorithm)


def rounds_of(terms: Terms) -> int:
    """That the collaboration takes."""
    return kind_in(terms).rounds(terms.config.training.rounds)


def fewest_peers(project: Project, peers: int) -> int:
    """Of so many peers, how many a round needs: what was agreed on, or half of them."""
    said = project.terms.project.min_peers
    return -(-peers // 2) if said is None else min(said, peers)


def agreement_of(project: Project) -> Any:
    """The public constants of a project, an `Agreement` of its kind.

    Raises:
        ConfigError: these sites cannot collaborate so.
        PlanError: no parameters do what was asked.
    """
    terms, settings = project.terms, project.terms.project
    check_version(terms.project.protocol)
    features, classes = shape_of(terms)
    facts = PublicFacts(
        participants=project.names,
        shape=(features,),
        classes=classes,
        outcome=outcome_in(terms),
        samples=settings.max_samples,
        round_seconds=settings.round_seconds,
        setup_seconds=settings.setup_seconds,
        protocol=settings.protocol,
    )
    return kind_in(terms).agree(terms.config, facts, seed=settings.seed)


def cautions_of(project: Project) -> list[str]:
    """What a site must know before it signs, in sentences.

    Raises:
        ConfigError, PlanError: as `agreement_of`.
    """
    found = list(kind_in(project.terms).cautions(agreement_of(project)))
    if project.terms.config.tells_ranges:
        found.append(
            "Ranges and levels of columns come from the sites' tables, which tells everyone "
            "something of them, and no differential privacy covers it."
        )
    return found


def shape_of(terms: Terms) -> tuple[int, int]:
    """Numbers of features and classes.

    Raises:
        ConfigError: the rules of the table are not complete.
    """
    table, project = terms.config.table, terms.project
    if table is None:
        return project.features or 0, project.classes or 0
    spec = table_spec(table)
    return len(spec.features), spec.target.classes


def outcome_in(terms: Terms) -> str:
    """What is predicted, a name of `model.outcomes`; "": one of the classes."""
    table = terms.config.table
    return (None if table is None else table.outcome) or ""


def predicted_in(terms: Terms) -> str:
    """What is predicted where it is no class, with its columns, for people; else ""."""
    table, name = terms.config.table, outcome_in(terms)
    if table is None or not name:
        return ""
    beside = "".join(f", {key}: {column}" for key, column in table.beside.items())
    return f"{outcome_named(name).title}: {table.label}{beside}"


def classes_of(terms: Terms) -> list[str]:
    """Names of the classes, in the order of their numbers.

    Raises:
        ConfigError: the rules of the table are not complete.
    """
    table = terms.config.table
    return class_names(None if table is None else table_spec(table), shape_of(terms)[1])


def disclosure_of(terms: Terms) -> DisclosureSection:
    """What every teacher keeps to; over all rounds it is finite.

    Raises:
        ConfigError: a total is missing.
    """
    limits = terms.config.disclosure
    if limits.student_total is None or limits.teacher_total is None:
        raise ConfigError(
            "a project needs totals of disclosed numbers",
            where="disclosure.student_total",
            found="none",
            expected="student_total and teacher_total",
            hint="`securefair project new` proposes both",
        )
    return limits


def proposed_totals(project: Project) -> dict[str, int]:
    """Totals that let a student have one answer a round of every teacher, and no more."""
    student = agreement_of(project).numbers_a_round * rounds_of(project.terms)
    return {"student_total": student, "teacher_total": student * max(1, len(project.cards) - 1)}


def check_first_answer(project: Project, totals: Mapping[str, object]) -> None:
    """See that totals of disclosure leave room for one answer.

    Raises:
        ConfigError: no teacher could ever answer; names the total.
    """
    needed = agreement_of(project).numbers_a_round
    for name in ("student_total", "teacher_total"):
        total = totals.get(name)
        if isinstance(total, int) and total < needed:
            raise ConfigError(
                "no teacher would ever answer: one answer holds more numbers than this total",
                where=f"disclosure.{name}",
                found=total,
                expected=f"{needed} or more",
            )


def agreement_digest(project: Project) -> str:
    """What every site computes of the project for itself: its plan and public constants, in hex.

    Raises:
        ConfigError, PlanError: as `agreement_of`.
    """
    return _digest(agreement_of(project))


def check_agreement(project: Project) -> Any:
    """The public constants, if this installation finds the same plan as whoever made the project.

    Raises:
        ConfigError, PlanError: as `agreement_of`; or it finds another plan.
    """
    disclosure_of(project.terms)
    agreement = agreement_of(project)
    found, said = _digest(agreement), project.terms.project.agreement
    if found != said:
        raise ConfigError(
            "this installation plans the exchange differently, or the file was edited",
            where="project.agreement",
            found=found[:16],
            expected=said[:16] or "a digest",
            hint="Install the same version of securefair everywhere; make an edited file anew with "
            "`securefair project new`, which writes the digest",
        )
    return agreement


def _digest(agreement: Agreement) -> str:
    content = b"securefair agreement 2\0" + agreement.digest + agreement.plan_digest
    return hashlib.sha256(content).hexdigest()
