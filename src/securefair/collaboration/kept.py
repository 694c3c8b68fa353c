"""What one participant keeps: its model, with the rules of its data and a card."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from msgspec import structs

from securefair.collaboration.host import FittedToAll
from securefair.collaboration.kinds import wording_of
from securefair.collaboration.scores import own_verdict
from securefair.config import RunConfig
from securefair.config.columns import ImageColumn
from securefair.data import ParticipantData, TableSpec, feature_names
from securefair.data.dataset import Samples
from securefair.data.filling import relations_of
from securefair.data.table import class_names
from securefair.model.outcomes import outcome_of
from securefair.model.stored import Function, own_part_of
from securefair.model.transfer import LinearEstimates
from securefair.prediction import (
    Calibration,
    HospitalModel,
    ModelCard,
    ModelEvaluation,
    ModelRecord,
    training_facts,
)
from securefair.prediction.card import Taught, limits
from securefair.prediction.effects import ColumnEstimate, estimates_of
from securefair.prediction.evaluation import pictures, score
from securefair.records import VerdictResult
from securefair.user.tables import extractor_files

UNCALIBRATED = Calibration()


@dataclass(frozen=True, eq=False)
class KeptModel:
    """What one participant keeps: its model, the card that goes with it, and estimates."""

    model: HospitalModel
    card: ModelCard
    estimates: Sequence[ColumnEstimate] = ()


@dataclass(frozen=True, kw_only=True)
class ModelOrigin:
    """What a card says of the run, or the project, that a model comes from.

    Attributes:
        run: its name.
        backend: encryption engine.
        seed, seeds: the model's, and how many there were.
        metric: by which models are compared; None: the outcome's own.
        feature_range: public range of samples that are numbers; None for tables.
        origin: where ranges and levels of the table come from; None without columns.
        tells_ranges: whether they come from patients.
        weights: files of extractors by SHA-256.
    """

    run: str
    backend: str
    seed: int
    seeds: int
    metric: str | None
    feature_range: tuple[float, float] | None
    origin: str | None
    tells_ranges: bool
    weights: Mapping[str, Path]

    @classmethod
    def of(cls, config: RunConfig, folder: Path | None = None) -> ModelOrigin:
        """Of a configuration with the rules of tables spelt out.

        Args:
            config: of the run.
            folder: that relative paths of extractors' weights start from.

        Raises:
            BackendUnavailableError: weights that come with the extra `vision` are not installed.
        """
        table = config.table
        return cls(
            run=config.run.name,
            backend=config.encryption.backend,
            seed=config.run.seeds[0],
            seeds=len(config.run.seeds),
            metric=config.run.metric,
            feature_range=config.data.feature_range,
            origin=table.origin if table is not None and table.columns else None,
            tells_ranges=config.tells_ranges,
            weights=extractor_files(() if table is None else table.columns, folder or Path()),
        )


def kept_model(
    origin: ModelOrigin,
    own: ParticipantData,
    algorithm: str,
    function: Function,
    *,
    rules: TableSpec | None,
    controls: Mapping[str, Function],
    taught: list[Taught],
    versions: Mapping[str, str],
    calibration: Calibration = UNCALIBRATED,
    refitted: FittedToAll | None = None,
    privacy: str | None = None,
    classes: Sequence[str] | None = None,
    verdict: VerdictResult | None = None,
    findings: Sequence[str] = (),
    estimates: Sequence[ColumnEstimate] = (),
) -> KeptModel:
    """What one participant keeps.

    Args:
        origin: what the card says of the run.
        own: its data.
        algorithm: that the model is of.
        function: the model.
        rules: of tables (`user.tables.table_rules`); None where samples are numbers.
        controls: models without the others, by algorithm.
        taught: what passed between it and its peers.
        versions: of what computed it.
        calibration: of the model's probabilities.
        refitted: the model of all its samples, which is kept instead; scores stay the model's.
        privacy: what is promised to the patients behind its answers.
        classes: names of classes that the rules do not say.
        verdict: of the run; None: from its own test patients alone, where there are controls.
        findings: in its table, that may make results wrong.
        estimates: of its coefficients.
    """
    facts = training_facts(own.train)
    outcome = outcome_of(own.train)
    names = list(outcome.strata or classes or class_names(rules, own.train.classes))
    record = ModelRecord(
        hospital=own.name,
        run=origin.run,
        algorithm=algorithm,
        seed=origin.seed,
        classes=names if outcome.tells_classes else [],
        table=rules,
        feature_range=origin.feature_range,
        low=facts.low,
        high=facts.high,
        usual=facts.usual,
        patients=len(own.train),
        calibration=calibration,
        versions=dict(versions),
        outcome=own.train.outcome,
        own=_own_part(function, own.train, rules),
    )
    plain = structs.replace(record, calibration=UNCALIBRATED)

    def tested(function: Function) -> ModelEvaluation:
        record = structs.replace(plain, own=_own_part(function, own.train, rules))
        return score(HospitalModel(record, function), own.test)

    kept = HospitalModel(record, function)
    test = structs.replace(score(kept, own.test), pictures=pictures(kept, own.test))
    counts = np.bincount(own.train.labels, minlength=own.train.classes).tolist()
    by_class = dict(zip(names, counts, strict=True))
    card = ModelCard(
        hospital=own.name,
        run=origin.run,
        algorithm=algorithm,
        backend=origin.backend,
        seed=record.seed,
        seeds=origin.seeds,
        label=None if rules is None else rules.target.name,
        features=len(facts.low) if rules is None else _features(rules),
        train_by_class=by_class,
        model=test,
        controls={name: tested(control) for name, control in controls.items()},
        titles={name: wording_of(name).title for name in controls},
        verdict=verdict or own_verdict(own, algorithm, function, controls, origin.metric),
        taught=taught,
        origin=origin.origin,
        limits=limits(
            test,
            origin.seeds,
            by_class,
            findings,
            tells_ranges=origin.tells_ranges,
            refitted=refitted is not None,
        ),
        versions=dict(versions),
        calibration=record.calibration,
        uncalibrated=tested(function)
        if record.calibration.method != "none" and outcome.tells_classes
        else None,
        privacy=privacy,
        fitted_to=len(own.train) if refitted is None else len(own.train) + len(own.test),
    )
    everyone = own.whole()
    if refitted is not None and everyone is not None:
        function, facts = refitted.function, training_facts(everyone)
        divisor = structs.replace(
            calibration, temperature=refitted.temperature, patients=len(everyone)
        )
        record = structs.replace(
            record,
            low=facts.low,
            high=facts.high,
            usual=facts.usual,
            patients=len(everyone),
            own=_own_part(function, everyone, rules),
            calibration=divisor if calibration.method != "none" else calibration,
        )
    return KeptModel(HospitalModel(record, function, origin.weights), card, estimates)


def _own_part(
    function: Function, samples: Samples, rules: TableSpec | None
) -> dict[str, list[float]]:
    """What a model adds from the samples that it was fitted to, for its record."""
    part = {key: list(values) for key, values in own_part_of(function, samples).items()}
    if rules is not None and rules.fill:
        part |= relations_of(rules, samples.features).stored()
    return part


def _features(spec: TableSpec) -> list[str]:
    """Names; the many of an image in one."""
    names = []
    for column in spec.columns:
        if isinstance(column, ImageColumn):
            names.append(
                f"{column.features} of the image {column.name} by {column.architecture} "
                f"(SHA-256 {column.sha256})"
            )
        else:
            names += feature_names(column)
    return names


def has_estimates(rules: TableSpec | None, own: ParticipantData) -> bool:
    """Whether coefficients can be told in units of columns, as one number each."""
    if rules is None or not outcome_of(own.train).effect:
        return False
    return any(not isinstance(column, ImageColumn) for column in rules.columns)


def kept_estimates(
    rules: TableSpec | None,
    own: ParticipantData,
    coefficients: Callable[[], LinearEstimates | None],
) -> list[ColumnEstimate]:
    """Coefficients of one participant in units of its columns; often none, and none of one with
    fewer events than `data.known.FEWEST_EVENTS`, of whom `check` has said so.

    Args:
        rules: of its table; None where samples are numbers.
        own: its data.
        coefficients: of features, which take seconds; None where there are none.
    """
    everyone = own.whole() or own.train
    if rules is None or not has_estimates(rules, own) or everyone.few_events is not None:
        return []
    found = coefficients()
    if found is None:
        return []
    usual = np.array(training_facts(everyone).usual)
    low, high = rules.target.range or (-1.0, 1.0)
    return estimates_of(rules, usual, found, outcome_of(own.train), half=(high - low) / 2)
