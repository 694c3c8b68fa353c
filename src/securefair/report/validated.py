"""What hospitals found that looked at peers' models: tables and notes for terminals and HTML."""

from __future__ import annotations

from collections.abc import Mapping

from securefair.collaboration.telling import told_of_stand_in
from securefair.collaboration.validated import HospitalValidation
from securefair.model.outcomes import outcome_named
from securefair.records import StandInResult
from securefair.report.score_pages import Pages, ScoreTable, score_tables
from securefair.report.scored import scored_page
from securefair.words import Words, words_of


def validated_pages(found: HospitalValidation, words: Words) -> Pages:
    """Pages of all peers' models by name, and of the own one; none where there are no scores."""
    pages = dict(found.pages)
    if pages and found.own is not None:
        pages[words("validation.own")] = found.own
    return pages


def validated_tables(found: HospitalValidation, words: Words) -> list[ScoreTable]:
    """Scores, decision curves and groups, as of one kept model."""
    pages = validated_pages(found, words)
    return score_tables(pages, words) if pages else []


def validated_notes(
    found: HospitalValidation, words: Words, stand_ins: Mapping[str, StandInResult] | None = None
) -> list[str]:
    """What a reader must know of the figures.

    Args:
        found: by one hospital.
        words: of the language.
        stand_ins: of models that peers brought, where all are known.
    """
    notes = [] if found.encrypted else [words("validation.unencrypted")]
    if found.private and found.peers:
        notes.append(words("validation.private"))
    if found.peers:
        numbers = max(one.numbers for one in found.peers.values())
        key = "validation.known" if found.tells_fit else "validation.told"
        notes.append(words(key, hospital=found.hospital, numbers=words.count(numbers)))
    if found.unscored:
        notes.append(found.unscored)
    if found.own is not None:
        notes.append(words("validation.own_note"))
    pages = [one.page for one in found.peers.values() if one.page is not None]
    if any(outcome_named(page.outcome).adds_own for page in pages):
        notes.append(words("validation.own_part_note"))
    odd = [name for name, one in found.peers.items() if not one.smooth]
    if odd:
        notes.append(words("validation.odd", names=words.listing(odd)))
    if found.unanswered:
        notes.append(words("validation.unanswered", names=words.listing(found.unanswered)))
    if not found.peers and not found.unanswered:
        notes.append(words("validation.nobody", name=found.hospital))
    return notes + [
        told_of_stand_in(name, one, words)
        for name, one in (stand_ins or {}).items()
        if name in found.peers
    ]


def validated_page(
    found: HospitalValidation,
    words: Words | None = None,
    stand_ins: Mapping[str, StandInResult] | None = None,
    *,
    label: str | None = None,
) -> str:
    """One hospital's page: it tells of that one's patients, and is for nobody else.

    Args:
        found: by the hospital.
        words: of the language.
        stand_ins: of models that peers brought, where all are known.
        label: the column that is predicted, if it has a name.
    """
    words = words or words_of().about("hospitals")
    return scored_page(
        validated_pages(found, words),
        title=words("validation.title", name=found.hospital),
        notes=validated_notes(found, words, stand_ins),
        words=words,
        label=label,
    )
