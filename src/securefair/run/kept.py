"""What every participant keeps of a run: its model, with the rules of its data and a card."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from msgspec import structs

from securefair.collaboration.kinds import wording_of
from securefair.collaboration.privacy import joined
from securefair.config import RunConfig
from securefair.data import HEART_SPEC, ParticipantData, TableSpec, feature_names
from securefair.data.table import Image, class_names
from securefair.model.stored import Function
from securefair.prediction import (
    Calibration,
    HospitalModel,
    ModelCard,
    ModelEvaluation,
    ModelRecord,
    training_facts,
)
from securefair.prediction.card import Taught, limits
from securefair.prediction.evaluation import score
from securefair.run.results import KeptModel, Repetition, controls_among
from securefair.user.tables import extractor_files, table_spec

UNCALIBRATED = Calibration()


def kept_models(
    config: RunConfig,
    repetition: Repetition,
    versions: Mapping[str, str],
    *,
    rules: TableSpec | None = None,
    classes: Sequence[str] | None = None,
) -> list[KeptModel]:
    """One for each participant, in order, of the algorithm that the run is about.

    Args:
        config: with the rules of tables spelt out.
        repetition: of the first seed, finished.
        versions: of what computed it.
        rules, classes: of tables, and names of classes, where the configuration does not say.
    """
    main = config.run.main
    return [
        kept_model(
            config,
            own,
            main,
            repetition.models[main][own.name],
            controls={
                name: repetition.models[name][own.name]
                for name in controls_among(config, repetition.models)
                if name != main and own.name in repetition.models.get(name, {})
            },
            taught=_taught(repetition, main, own.name),
            calibration=_calibration(repetition, main, own),
            privacy=_privacy(config, repetition, own.name),
            versions=versions,
            rules=rules,
            classes=classes,
        )
        for own in repetition.data
        if own.name in repetition.models.get(main, {})
    ]


def kept_model(
    config: RunConfig,
    own: ParticipantData,
    algorithm: str,
    function: Function,
    *,
    controls: Mapping[str, Function],
    taught: list[Taught],
    versions: Mapping[str, str],
    calibration: Calibration = UNCALIBRATED,
    privacy: str | None = None,
    rules: TableSpec | None = None,
    classes: Sequence[str] | None = None,
    folder: Path | None = None,
) -> KeptModel:
    """What one participant keeps.

    Args:
        config: with the rules of tables spelt out.
        own: its data.
        algorithm: that the model is of.
        function: the model.
        controls: models without the others, by algorithm.
        taught: what passed between it and its peers.
        versions: of what computed it.
        calibration: of the model's probabilities.
        privacy: what is promised to the patients behind its answers.
        rules, classes: see `kept_models`.
        folder: that relative paths of extractors' weights start from.
    """
    spec = rules or table_rules(config)
    facts = training_facts(own.train)
    names = list(classes or class_names(spec, own.train.classes))
    record = ModelRecord(
        hospital=own.name,
        run=config.run.name,
        algorithm=algorithm,
        seed=config.run.seeds[0],
        classes=names,
        table=spec,
        feature_range=config.data.feature_range,
        low=facts.low,
        high=facts.high,
        usual=facts.usual,
        patients=len(own.train),
        calibration=calibration,
        versions=dict(versions),
    )
    plain = structs.replace(record, calibration=UNCALIBRATED)

    def tested(function: Function) -> ModelEvaluation:
        return score(HospitalModel(plain, function), own.test)

    test = score(HospitalModel(record, function), own.test)
    counts = np.bincount(own.train.labels, minlength=own.train.classes).tolist()
    by_class = dict(zip(names, counts, strict=True))
    origin = config.table.origin if config.table is not None and config.table.columns else None
    card = ModelCard(
        hospital=own.name,
        run=config.run.name,
        algorithm=algorithm,
        backend=config.encryption.backend,
        seed=record.seed,
        seeds=len(config.run.seeds),
        label=None if spec is None else spec.target.name,
        features=len(facts.low) if spec is None else _features(spec),
        train_by_class=by_class,
        model=test,
        controls={name: tested(control) for name, control in controls.items()},
        titles={name: wording_of(name).title for name in controls},
        taught=taught,
        origin=origin,
        limits=limits(test, len(config.run.seeds), origin, by_class),
        versions=dict(versions),
        calibration=record.calibration,
        uncalibrated=tested(function) if record.calibration.method != "none" else None,
        privacy=privacy,
    )
    weights = extractor_files(config.table, folder or Path())
    return KeptModel(HospitalModel(record, function, weights), card)


def _features(spec: TableSpec) -> list[str]:
    """Names; the many of an image in one."""
    names = []
    for column in spec.columns:
        if isinstance(column, Image):
            names.append(
                f"{column.features} of the image {column.name} by {column.architecture} "
                f"(SHA-256 {column.sha256})"
            )
        else:
            names += feature_names(column)
    return names


def _calibration(repetition: Repetition, algorithm: str, own: ParticipantData) -> Calibration:
    """What the run found on predictions for patients whom no fit had seen, if it has any."""
    run = repetition.runs.get(algorithm)
    temperature = None if run is None else run.temperatures.get(own.name)
    if temperature is None:
        return UNCALIBRATED
    return Calibration(method="temperature", temperature=temperature, patients=len(own.train))


def _privacy(config: RunConfig, repetition: Repetition, hospital: str) -> str | None:
    """What is promised to the patients behind its answers, those of all algorithms."""
    stated = [
        facts.privacy[hospital]
        for facts in repetition.runs.values()
        if facts.privacy is not None and hospital in facts.privacy
    ]
    return joined(stated, config).meaning if stated else None


def table_rules(config: RunConfig) -> TableSpec | None:
    """The rules that turn a table of this run into features; None where samples are numbers."""
    if config.data.source == "heart":
        return HEART_SPEC
    table = config.table
    files = any(one.is_table for one in config.participants)
    return table_spec(table) if table is not None and table.columns and files else None


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
