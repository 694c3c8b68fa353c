"""A site's results: its own model and its own report; nothing of its peers but their names.

OUT/models/NAME/     what `securefair predict` reads, with the model's card
OUT/report.html      own scores, rounds, who was there, what was received and let out
OUT/report.md        the same without figures, for a terminal
OUT/rounds.jsonl     a record a round
OUT/status.json      the site as it stood
OUT/validation.html  peers' models on own patients, where the kind shows them; .json the same
OUT/description.html table 1 of all hospitals, where the kind has one; .csv and .json the same
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from securefair.collaboration.agreement import Agreement
from securefair.collaboration.described import Described
from securefair.collaboration.host import Role
from securefair.collaboration.kept import ModelOrigin, kept_estimates, kept_model
from securefair.collaboration.observer import SiteRecord
from securefair.collaboration.privacy import gaps_of
from securefair.collaboration.validated import HospitalValidation
from securefair.data import ParticipantData
from securefair.data.findings import by_site
from securefair.errors import StorageError
from securefair.model.stored import Function, from_bytes
from securefair.prediction import Calibration, save_model
from securefair.prediction.card import ModelCard, Taught
from securefair.prediction.folder import MODELS, folder_name
from securefair.prediction.versions import versions
from securefair.privacy.durable import composed
from securefair.privacy.guarantees import meaning_of
from securefair.records import LedgerRow, RoundRecord
from securefair.report import write_json, write_json_lines, write_text
from securefair.report.averages import disclosure
from securefair.report.described import described_csv, described_page
from securefair.report.facts import sender_disclosures
from securefair.report.html import FILE_NAME
from securefair.report.site import (
    OWN,
    SiteFacts,
    SitePeer,
    SiteRound,
    site_markdown,
    site_page,
)
from securefair.report.validated import validated_page
from securefair.sites.project.agreeing import kind_in
from securefair.sites.project.project import Project
from securefair.sites.site.hosting import stored_host
from securefair.sites.site.records import MODEL, stored_pieces, stored_records
from securefair.sites.site.remarks import remarks_of
from securefair.sites.site.samples import own_findings, own_rules
from securefair.sites.site.status import PeerStatus, SiteStatus, site_status
from securefair.storage import Store, Transaction
from securefair.user.tables import table_rules
from securefair.words import words_of
from securefair.worth.page import Groups


@dataclass(frozen=True, kw_only=True)
class Results:
    """What was written.

    Attributes:
        model: folder for `securefair predict`.
        page: the report, for a browser.
        others: the same facts for terminals and programs.
    """

    model: Path
    page: Path
    others: tuple[Path, ...]


def write_results(
    out: Path,
    project: Project,
    own: ParticipantData,
    store: Store,
    *,
    seed: int,
    data: str,
    role: Role,
    agreement: Agreement,
    groups: Groups | None = None,
    columns: Sequence[Mapping[str, Any]] = (),
) -> Results:
    """Write everything; what an earlier call has written is replaced.

    Args:
        out: folder; made where it is missing.
        project: of the site.
        own: its samples, split as in its rounds.
        store: of the site.
        seed: of models that are trained alone, to compare with.
        data: the site's table, which weights of extractors lie beside.
        columns: of the site's settings, that others need not have.
        role: of the site.
        agreement: of the project's kind.
        groups: of own patients, by whom scores of peers' models are given too.

    Returns:
        Where they are.

    Raises:
        StorageError: no round is over yet, or the folder cannot be written.
        SecureFairError: a model alone cannot be trained.
    """
    with store.view() as tx:
        records, weights = stored_records(tx), tx.memory.get(MODEL)
        status, promised = site_status(tx, project, own.name), _promised(tx, own.name)
        pieces = stored_pieces(tx)
    if weights is None or not records:
        raise StorageError("this site has no model yet: no round is over", where=own.name)
    terms = project.terms
    rules = table_rules(terms.config)
    if rules is not None:
        rules = rules.with_columns(own_rules(own.name, data, columns))
    host = kind_in(terms).recalled(agreement, own, seed=seed)
    kept = kept_model(
        ModelOrigin.of(terms.config, Path(data).parent),
        own,
        terms.project.algorithm,
        from_bytes(weights, where=own.name),
        controls=_alone(project, own, seed),
        taught=_taught(records, status),
        calibration=_calibration(records[-1], own),
        refitted=host.fitted_to_all(pieces),
        privacy=promised,
        rules=rules,
        versions=versions(),
        findings=by_site(own_findings(own.name, data, terms, columns)).get(own.name, []),
        estimates=kept_estimates(rules, own, partial(host.estimates, pieces)),
    )
    model = out / MODELS / folder_name(own.name)
    save_model(kept.model, model, card=kept.card)
    facts = facts_of(
        project,
        agreement,
        records,
        status,
        kept.card,
        promised=promised,
        role=role,
        ledger=_ledger(store, agreement, own.name),
    )
    found = None
    if role != "teacher":  # who asks nobody
        found = host.validation(pieces=pieces, groups=groups)
    return Results(
        model=model,
        page=write_text(out / FILE_NAME, site_page(facts)),
        others=(
            write_text(out / "report.md", site_markdown(facts)),
            write_json_lines(out / "rounds.jsonl", records),
            write_json(out / "status.json", status),
            *_validated(out, found, kept.card.label),
            *_described(out, host.description(pieces), facts),
        ),
    )


def _validated(out: Path, found: HospitalValidation | None, label: str | None) -> tuple[Path, ...]:
    """Peers' models on own patients, where the kind shows them."""
    if found is None:
        return ()
    return (
        write_text(out / "validation.html", validated_page(found, label=label)),
        write_json(out / "validation.json", {"hospitals": {found.hospital: found.by_peer()}}),
    )


def _described(out: Path, found: Described | None, facts: SiteFacts) -> tuple[Path, ...]:
    """Table 1, where the kind has one."""
    if found is None:
        return ()
    return (
        write_text(out / "description.html", described_page(found, facts.name, facts.project)),
        write_text(out / "description.csv", described_csv(found, facts.name)),
        write_json(out / "description.json", found),
    )


def facts_of(
    project: Project,
    agreement: Agreement,
    records: Sequence[SiteRecord],
    status: SiteStatus,
    card: ModelCard,
    *,
    promised: str | None = None,
    role: Role = "both",
    ledger: Sequence[LedgerRow] = (),
) -> SiteFacts:
    """What happened, as this site knows it.

    Args:
        project: of the site.
        agreement: of the project's kind.
        records: of its rounds, one at least.
        status: of the site now.
        card: of its own model.
        promised: to its own patients; None: nothing.
        role: of the site.
        ledger: its own, of one algorithm.
    """
    kind = kind_in(project.terms)
    names = tuple(peer.name for peer in status.peers)
    gaps = gaps_of(project.terms.config, kind.wording.reputations)
    averages, sums = kind.wording.averages, agreement.sum_settings(status.name)
    return SiteFacts(
        name=status.name,
        project=status.project,
        title=kind.wording.title,
        rule=words_of().phrase(kind.wording.rule),
        weighs=kind.wording.reputations,
        averages=averages,
        agreed=agreement.summary,
        said=kind.site_wording(agreement),
        role=_ROLES[role],
        asks=role != "teacher",
        learns=kind.learns and role != "teacher",
        planned=status.rounds,
        peers=tuple(_peer(peer, records, role, averages=averages) for peer in status.peers),
        rounds=tuple(
            _round(record, names, note, averages=averages)
            for record, note in zip(records, remarks_of(records, role, sums), strict=True)
        ),
        seen=tuple(_seen(record, names, averages=averages) for record in records),
        sums=() if averages else _sums(records),
        shared=_shared(ledger, status) if averages else "",
        student_limit=status.student_limit,
        teacher_limit=status.teacher_limit,
        promised=promised,
        gaps=tuple(gaps) if promised is not None else (),
        refused=status.refused,
        audit_rows=status.audit_rows,
        audit_head=status.audit_head,
        recovered=status.recovered,
        card=card,
    )


_ROLES = {
    "both": "",
    "teacher": "This site only teaches: it asked nobody. ",
    "student": "This site only learns: it answered nobody. ",
}


def _peer(
    peer: PeerStatus, records: Sequence[SiteRecord], role: Role, *, averages: bool = False
) -> SitePeer:
    entered = [_entered(record, peer.name, averages) for record in records]
    missed = 0  # of who only teaches, nothing is due
    if role != "teacher":
        missed = sum(
            _due(record, peer.name) and not one
            for record, one in zip(records, entered, strict=True)
        )
    return SitePeer(
        name=peer.name,
        answered=sum(entered),
        missed=missed,
        presence=peer.presence,
        weight=records[-1].reputations.get(peer.name),
        received=_received(records, peer.name),
        told=peer.numbers,
        bytes_in=peer.bytes_in,
        bytes_out=peer.bytes_out,
        fault=peer.fault,
    )


def _round(record: SiteRecord, peers: Sequence[str], note: str, *, averages: bool) -> SiteRound:
    return SiteRound(
        number=record.round,
        answers=tuple(name for name in peers if _entered(record, name, averages)),
        measured=record.measured,
        note=note,
    )


def _seen(record: SiteRecord, peers: Sequence[str], *, averages: bool) -> RoundRecord:
    """The row of this site, in the form of a run's records; the rows of others are not known."""
    unknown: list[list[float | None]] = [[None] * len(peers)]
    return RoundRecord(
        algorithm=OWN,
        round=record.round,
        forced=record.forced,
        accuracy=[record.measured["accuracy"]],
        cross_entropy=[record.measured["cross_entropy"]],
        reputation=[[record.reputations.get(name) for name in peers]],
        alignment=unknown,
        distillation_loss=unknown,
        asked=[[_asked(record, name, averages) for name in peers]],
        answered=[[_entered(record, name, averages) for name in peers]],
    )


def _promised(tx: Transaction, name: str) -> str | None:
    """What private fits and alignments have told of any one patient; None where none was made."""
    events = tx.privacy.events(name)
    if not events:
        return None
    spent = composed(events)
    return meaning_of(spent.epsilon, spent.delta)


def _alone(project: Project, own: ParticipantData, seed: int) -> Mapping[str, Function]:
    """What the same hospital reaches without the others, by algorithm."""
    controls = kind_in(project.terms).controls(project.terms.config, [own])
    models = {}
    for name, control in controls.items():
        models[name] = control.models(seed)[own.name]
    return models


def _calibration(last: SiteRecord, own: ParticipantData) -> Calibration:
    if last.temperature is None:
        return Calibration()
    return Calibration(method="temperature", temperature=last.temperature, patients=len(own.train))


def _taught(records: list[SiteRecord], status: SiteStatus) -> list[Taught]:
    disclosed = {peer.name: peer.numbers for peer in status.peers}
    return [
        Taught(
            peer=peer,
            answers_received=sum(_answered(record, peer) for record in records),
            numbers_received=_received(records, peer),
            numbers_disclosed=disclosed[peer],
        )
        for peer in disclosed
    ]


def _answered(record: SiteRecord, peer: str) -> bool:
    return peer in record.opened or peer in record.combined


def _entered(record: SiteRecord, peer: str, averages: bool) -> bool:
    """Whether what a peer gave entered the own model: where models are averaged, no cosine does."""
    return peer in record.combined if averages else _answered(record, peer)


def _asked(record: SiteRecord, peer: str, averages: bool) -> bool:
    """Whether it was asked for what enters the own model."""
    return peer in (*record.offered, *record.lost) or (peer in record.asked and not averages)


def _due(record: SiteRecord, peer: str) -> bool:
    """Whether something of it was missed, unless it entered the own model."""
    in_vain = peer in record.asked and peer not in record.opened
    return in_vain or peer in (*record.away, *record.offered, *record.lost)


def _received(records: Sequence[SiteRecord], peer: str) -> int:
    """Numbers of a peer in rounds in which it gave any: later ones may repeat what a site has."""
    return sum(one.received.get(peer, 0) for one in records if _answered(one, peer))


def _sums(records: Sequence[SiteRecord]) -> tuple[tuple[int, int], ...]:
    """Numbers and peers of every sum that was opened, in which each peer counts them once."""
    return tuple(
        (max(one.received.get(peer, 0) for peer in one.combined), len(one.combined))
        for one in records
        if one.combined
    )


def _ledger(store: Store, agreement: Agreement, name: str) -> list[LedgerRow]:
    """What the participant let out, as its machine counts it; nothing before its first turn."""
    memory = stored_host(store, agreement.met_by(name), None).memory
    return [] if memory is None else memory.ledger.rows(algorithm=OWN, teacher=name)


def _shared(ledger: Sequence[LedgerRow], status: SiteStatus) -> str:
    """What the own model was a part of; cosines are those of the log, which outlives a recovery."""
    told = sum(peer.numbers for peer in status.peers)
    found = sender_disclosures(ledger, OWN)
    said = [disclosure(replace(one, cosines=told), words_of()) for one in found]
    return " ".join(said + ["Its sums are counted since the recovery."] * status.recovered)
