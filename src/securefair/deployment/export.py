"""A site's results: its own model and its own report; nothing of its peers but their names.

OUT/models/NAME/     what `securefair predict` reads, with the model's card
OUT/report.md        rounds, who was there, what was received and let out
OUT/rounds.jsonl     a record a round
OUT/status.json      the site as it stood
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from securefair.collaboration.disclosure import limits_of
from securefair.collaboration.host import Role
from securefair.collaboration.privacy import gaps_of
from securefair.data import ParticipantData
from securefair.deployment.agreeing import kind_in
from securefair.deployment.project import Project
from securefair.deployment.records import SiteRecord
from securefair.deployment.site import MODEL, stored_records
from securefair.deployment.status import NEVER, PeerStatus, SiteStatus, site_status
from securefair.errors import StorageError
from securefair.model.stored import Function, from_bytes
from securefair.prediction import Calibration, save_model
from securefair.prediction.card import Taught
from securefair.prediction.folder import folder_name
from securefair.privacy.durable import composed
from securefair.privacy.guarantees import meaning_of
from securefair.report import write_json, write_json_lines, write_text
from securefair.run.execute import versions
from securefair.run.folder import MODELS
from securefair.run.kept import kept_model
from securefair.run.resumable import ReferenceRun
from securefair.storage import Store, Transaction


def write_results(
    out: Path,
    project: Project,
    own: ParticipantData,
    store: Store,
    *,
    seed: int,
    data: str,
    role: Role,
) -> list[Path]:
    """Write everything; what an earlier call has written is replaced.

    Args:
        out: folder; made where it is missing.
        project: of the site.
        own: its samples, split as in its rounds.
        store: of the site.
        seed: of models that are trained alone, to compare with.
        data: the site's table, which weights of extractors lie beside.
        role: of the site.

    Returns:
        The files and folders that were written.

    Raises:
        StorageError: no round is over yet, or the folder cannot be written.
        SecureFairError: a model alone cannot be trained.
    """
    with store.view() as tx:
        records, weights = stored_records(tx), tx.memory.get(MODEL)
        status, promised = site_status(tx, project, own.name), _promised(tx, own.name)
    if weights is None or not records:
        raise StorageError("this site has no model yet: no round is over", where=own.name)
    terms = project.terms
    kept = kept_model(
        terms.config,
        own,
        terms.project.algorithm,
        from_bytes(weights, where=own.name),
        controls=_alone(project, own, seed),
        taught=_taught(project, own.name, records, status),
        calibration=_calibration(records[-1], own),
        privacy=promised,
        versions=versions(),
        folder=Path(data).parent,
    )
    model = out / MODELS / folder_name(own.name)
    save_model(kept.model, model, card=kept.card)
    return [
        model,
        write_text(out / "report.md", report_of(project, records, status, promised, role)),
        write_json_lines(out / "rounds.jsonl", records),
        write_json(out / "status.json", status),
    ]


def report_of(
    project: Project,
    records: list[SiteRecord],
    status: SiteStatus,
    promised: str | None = None,
    role: Role = "both",
) -> str:
    """What happened, as this site knows it, in Markdown; `promised` to its own patients."""
    kind, limits = kind_in(project.terms), limits_of(project.terms.config)
    lines = [
        f"# {status.name} in project {status.project}",
        "",
        f"{kind.wording.title}: {kind.wording.rule}. {len(records)} of {status.rounds} rounds are "
        f"over. {_ROLES[role]}This is what this site knows; there is no report of all sites.",
        "",
        "## Peers",
        "",
        "| peer | rounds with its answer | rounds without | at the end | numbers from it | "
        f"numbers to it (at most {limits.student_total}) |",
        "|---|---:|---:|---|---:|---:|",
    ]
    for peer in status.peers:
        with_it = sum(_answered(record, peer.name) for record in records)
        asked = sum(_asked(record, peer.name) for record in records) if role != "teacher" else 0
        lines.append(
            f"| {peer.name} | {with_it} | {asked - with_it} | {_presence(peer)} | "
            f"{sum(record.received.get(peer.name, 0) for record in records)} | {peer.numbers} |"
        )
    names = list(records[-1].measured) if records else []
    headings = " | ".join(name.replace("_", "-") for name in names)
    lines += ["", "## Rounds", "", f"| round | answers from | {headings} | note |"]
    lines.append(f"|---:|---|{'---:|' * len(names)}---|")
    for record in records:
        answers = [peer.name for peer in status.peers if _answered(record, peer.name)]
        values = [f"{record.measured[name]:.3f}" for name in names]
        note = "; ".join(
            [f"{name} away" for name in record.away]
            + ([record.step_error] if record.step_error else [])
        )
        lines.append(
            f"| {record.round} | {', '.join(answers) or 'nobody'} | {' | '.join(values)} | {note} |"
        )
    if promised is not None:
        lines += ["", "## Privacy of the own patients", "", promised, ""]
        lines += [f"- {gap}" for gap in gaps_of(project.terms.config, kind.wording.reputations)]
    if status.refused:
        lines += ["", "## Refused", ""]
        lines += [f"- {what}: {count}" for what, count in status.refused.items()]
    lines += ["", f"Audit log: {status.audit_rows} rows, head {status.audit_head}", ""]
    return "\n".join(lines)


_ROLES = {
    "both": "",
    "teacher": "This site only teaches: it asked nobody. ",
    "student": "This site only learns: it answered nobody. ",
}


def _presence(peer: PeerStatus) -> str:
    if peer.heard == NEVER:
        return "never heard of"
    return "here" if peer.here else "away"


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
        run = ReferenceRun(control.algorithm, control.members, seed)
        for _ in run.rounds(control.rounds):
            pass
        models[name] = run.models()[own.name]
    return models


def _calibration(last: SiteRecord, own: ParticipantData) -> Calibration:
    if last.temperature is None:
        return Calibration()
    return Calibration(method="temperature", temperature=last.temperature, patients=len(own.train))


def _taught(
    project: Project, name: str, records: list[SiteRecord], status: SiteStatus
) -> list[Taught]:
    disclosed = {peer.name: peer.numbers for peer in status.peers}
    return [
        Taught(
            peer=peer,
            answers_received=sum(_answered(record, peer) for record in records),
            numbers_received=sum(record.received.get(peer, 0) for record in records),
            numbers_disclosed=disclosed[peer],
        )
        for peer in project.names
        if peer != name
    ]


def _answered(record: SiteRecord, peer: str) -> bool:
    return peer in record.opened or peer in record.combined


def _asked(record: SiteRecord, peer: str) -> bool:
    return peer in record.asked or peer in record.offered or peer in record.lost
