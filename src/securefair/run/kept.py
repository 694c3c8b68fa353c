"""What every participant keeps of a run: its model, with the rules of its data and a card."""

from __future__ import annotations

from collections.abc import Mapping

from securefair.collaboration.kept import UNCALIBRATED, KeptModel, ModelOrigin, kept_model
from securefair.collaboration.privacy import joined
from securefair.data import ParticipantData, TableSpec
from securefair.data.findings import EVERYONE
from securefair.prediction import Calibration
from securefair.prediction.card import Taught
from securefair.records import RunResult
from securefair.run.results import Repetition


def kept_models(
    origin: ModelOrigin,
    rules: Mapping[str, TableSpec],
    repetition: Repetition,
    result: RunResult,
    versions: Mapping[str, str],
) -> list[KeptModel]:
    """One for each participant, in order, of the algorithm that the run is about.

    Args:
        origin: what cards say of the run, which is over.
        rules: of tables, by participant; empty where samples are numbers.
        repetition: repetition of the first seed, finished.
        result: result of all its seeds.
        versions: versions of what computed it.
    """
    main = result.algorithm
    return [
        kept_model(
            origin,
            own,
            main,
            repetition.models[main][own.name],
            controls={
                name: repetition.models[name][own.name]
                for name in result.controls
                if name != main and own.name in repetition.models.get(name, {})
            },
            taught=_taught(repetition, main, own.name),
            calibration=_calibration(repetition, main, own),
            refitted=repetition.refitted.get(main, {}).get(own.name),
            privacy=_privacy(repetition, own.name),
            versions=versions,
            rules=rules.get(own.name),
            classes=result.classes,
            verdict=result.algorithms[main].verdict,
            estimates=repetition.estimates.get(main, {}).get(own.name, []),
            findings=[
                line for whose in (own.name, EVERYONE) for line in result.findings.get(whose, [])
            ],
        )
        for own in repetition.data
        if own.name in repetition.models.get(main, {})
    ]


def _calibration(repetition: Repetition, algorithm: str, own: ParticipantData) -> Calibration:
    """What the run found on predictions for patients whom no fit had seen, if it has any."""
    run = repetition.runs.get(algorithm)
    temperature = None if run is None else run.temperatures.get(own.name)
    if temperature is None:
        return UNCALIBRATED
    return Calibration(method="temperature", temperature=temperature, patients=len(own.train))


def _privacy(repetition: Repetition, hospital: str) -> str | None:
    """What is promised to the patients behind its answers, those of all algorithms."""
    stated = [
        facts.privacy[hospital]
        for facts in repetition.runs.values()
        if facts.privacy is not None and hospital in facts.privacy
    ]
    return joined(stated).meaning if stated else None


def _taught(repetition: Repetition, algorithm: str, hospital: str) -> list[Taught]:
    """What passed between one participant and each of its peers."""
    facts = repetition.runs.get(algorithm)
    rows = [] if facts is None else facts.ledger
    peers = [own.name for own in repetition.data if own.name != hospital]
    answers = [
        one.teacher
        for one in repetition.exchanges.get(algorithm, ())
        if one.student == hospital and one.answered
    ]
    return (
        [
            Taught(
                peer=peer,
                answers_received=answers.count(peer),
                numbers_received=sum(
                    row.numbers_total
                    for row in rows
                    if (row.student, row.teacher) == (hospital, peer)
                ),
                numbers_disclosed=sum(
                    row.numbers_total
                    for row in rows
                    if (row.student, row.teacher) == (peer, hospital)
                ),
            )
            for peer in peers
        ]
        if facts is not None
        else []
    )
