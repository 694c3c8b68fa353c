"""What a site tells its operator: rounds, peers, bytes, disclosure so far; no patient, no model."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec
from msgspec import structs

from securefair.model.outcomes import agreed_outcome
from securefair.records import ACCURACY
from securefair.report.html import FILE_NAME as PAGE
from securefair.report.presence import PeerLife, SiteLife
from securefair.report.wording import duration
from securefair.sites.post.peers import read_peer, refusals, unconfirmed
from securefair.sites.project.agreeing import disclosure_of, outcome_in, rounds_of, shape_of
from securefair.sites.project.card import utc
from securefair.sites.project.project import Project
from securefair.sites.site.folder import RESULTS, STORE, project_of, read_settings
from securefair.sites.site.health import Health, health_of
from securefair.sites.site.notes import told_in
from securefair.sites.site.records import (
    peers_of,
    rounds_over,
    state_in,
    stored_records,
    was_recovered,
)
from securefair.sites.site.warnings import refused_messages
from securefair.storage import Access, Store, Transaction, running_process
from securefair.words import words_of

NEVER = "never"

QUIET = 10
"""Minutes after which a peer that is here is said to be silent: it may have died."""

RECOVERED_SAID = "recovered: nobody knows what was disclosed before; it answers nobody"
RUNS = (SiteLife.RUNNING, SiteLife.WAITING)
"""States in which a deadline comes nearer."""


class PeerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One peer, as this site sees it.

    Attributes:
        name: of the peer.
        presence: whether it is waited for, or why not.
        ready: the round that it said it may begin.
        heard: when something of it arrived last; "never" otherwise.
        unconfirmed: envelopes that it has not confirmed yet; 0 where it gets none any more.
        numbers: disclosed to it so far.
        bytes_out, bytes_in: of envelopes for it and from it.
        fault: what it remembers otherwise than this site, what it said that no honest site says, or
            why nothing of it is taken.
        silent: minutes since anything of it arrived, where that is `QUIET` and more of a peer that
            is here with rounds to go, and this site runs; else 0.
    """

    name: str
    presence: PeerLife
    ready: int
    heard: str
    unconfirmed: int
    numbers: int
    bytes_out: int
    bytes_in: int
    fault: str
    silent: int = 0


class SiteStatus(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A site at one moment.

    Attributes:
        name, project: of the site and its project.
        rounds_over, rounds: that are over, of all.
        seconds_left: to the deadline of the round, when the store was written last; 0 after all,
            and of a site that runs none.
        peers: in the project's order.
        refused: how often something was refused, by reason and peer.
        student_limit, teacher_limit: most numbers to one peer and to all.
        accuracy: headline score of the own model on own test samples after the last round; None
            before.
        score: what people call it, such as "accuracy" or "concordance".
        audit_rows, audit_head: of the audit log.
        health: of its process; None where only its store was looked at.
        summary: the same in one line.
        code: the same for monitoring; see `Health.code`.
        report: page about the rounds; None before they are over.
        recovered: its store was lost or put back: nobody knows what was disclosed before.
    """

    name: str
    project: str
    rounds_over: int
    rounds: int
    seconds_left: float
    peers: tuple[PeerStatus, ...]
    refused: dict[str, int]
    student_limit: int | None
    teacher_limit: int | None
    accuracy: float | None
    audit_rows: int
    audit_head: str
    health: Health | None = None
    summary: str = ""
    code: int = 0
    report: str | None = None
    score: str = ACCURACY
    recovered: bool = False


def status_of(folder: Path, now: float | None = None) -> SiteStatus:
    """The status of a site, whether it runs or not.

    Args:
        folder: of the site.
        now: seconds since 1970; None for this machine's clock.

    Raises:
        SecureFairError: there is no site, or its store cannot be read.
    """
    settings, project = read_settings(folder), project_of(folder)
    with Store.open(folder / STORE, access=Access.READ) as store, store.view() as tx:
        now = time.time() if now is None else now
        status = site_status(tx, project, settings.name, now)
        runs = running_process(folder / STORE) is not None
        health = health_of(folder, tx, project, settings, runs=runs, now=now)
    report, peers = folder / RESULTS / PAGE, status.peers
    if health.state not in RUNS:  # nothing can arrive
        peers = tuple(structs.replace(peer, silent=0) for peer in peers)
    return structs.replace(
        status,
        seconds_left=status.seconds_left if health.state in RUNS else 0.0,
        peers=peers,
        health=health,
        summary=health.summary,
        code=health.code,
        report=str(report) if report.exists() else None,
    )


def site_status(tx: Transaction, project: Project, name: str, now: float = 0.0) -> SiteStatus:
    """The same, of a store that is open; without a time nobody is said to be silent."""
    limits, rounds = disclosure_of(project.terms), rounds_of(project.terms)
    state, peers, told, refused = state_in(tx), [], told_in(tx), refused_messages(tx)
    for card in map(project.card, peers_of(tx, project, name)):
        known = read_peer(tx, card.name)
        life = state.peers.life(card.name, heard=known.heard > 0, blocked=known.blocked)
        ready, quiet = state.peers.ready.get(card.name, 0), int((now - known.heard) // 60)
        waited = life is PeerLife.HERE and ready < rounds and quiet >= QUIET
        gets_none = life in (PeerLife.LEFT, PeerLife.BLOCKED)
        peers.append(
            PeerStatus(
                name=card.name,
                presence=life,
                ready=ready,
                heard=utc(known.heard) if known.heard else NEVER,
                unconfirmed=0 if gets_none else unconfirmed(tx, card.name),
                numbers=told[card.name],
                bytes_out=known.bytes_out,
                bytes_in=known.bytes_in,
                fault="blocked by this site's operator"
                if known.blocked
                else known.trouble or refused[card.name],
                silent=quiet if waited else 0,
            )
        )
    records = stored_records(tx)
    head = tx.audit.head()
    outcome = agreed_outcome(outcome_in(project.terms), shape_of(project.terms)[1])
    return SiteStatus(
        name=name,
        project=project.terms.project.name,
        rounds_over=rounds_over(records),
        rounds=rounds,
        seconds_left=state.left if rounds_over(records) < rounds else 0.0,
        peers=tuple(peers),
        refused=refusals(tx),
        student_limit=limits.student_total,
        teacher_limit=limits.teacher_total,
        accuracy=records[-1].measured.get("accuracy") if records else None,
        audit_rows=head.length,
        audit_head=head.digest.hex(),
        score=words_of().templates.get(f"scores.{outcome.headline}", outcome.headline),
        recovered=was_recovered(tx),
    )


def sentences(status: SiteStatus) -> list[str]:
    """The status for a terminal, a line each."""
    lines = [
        f"{status.name}, project {status.project}: "
        f"{status.rounds_over} of {status.rounds} rounds are over",
    ]
    if status.health is not None:
        lines.append(f"state: {status.summary}")
    if status.accuracy is not None:
        lines.append(f"own model: {status.score} {status.accuracy:.3f} on own test samples")
    if status.seconds_left > 0 and status.rounds_over < status.rounds:
        lines.append(
            f"round {status.rounds_over + 1}: at most {duration(status.seconds_left)} left; "
            "then it goes on without whoever has not answered, or waits if too few are there"
        )
    for peer in status.peers:
        ready = f"ready for round {peer.ready + 1}"
        if peer.ready >= status.rounds:
            ready = "through with all rounds"
        presence = str(peer.presence)
        if peer.heard != NEVER:
            presence += f", {ready}, heard {peer.heard}"
        if peer.silent:
            hours = peer.silent // 60
            presence += f", silent for {hours} h" if hours else f", silent for {peer.silent} min"
        limit = "" if status.student_limit is None else f" of {status.student_limit}"
        lines.append(
            f"  {peer.name}: {presence}, {peer.numbers}{limit} numbers disclosed to it, "
            f"envelopes under way: {peer.unconfirmed}"
        )
        if peer.fault:
            lines.append(f"    {peer.fault}")
    if status.recovered:
        lines.append(RECOVERED_SAID)
    lines += [f"  refused: {what}: {count}" for what, count in status.refused.items()]
    lines.append(f"audit log: {status.audit_rows} rows, head {status.audit_head[:16]}")
    if status.report is not None:
        lines.append(f"report: {status.report}")
    return lines
