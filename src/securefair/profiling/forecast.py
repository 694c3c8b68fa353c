"""What a configuration would do: its participants, plan, traffic and disclosure. Runs nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np

from securefair.collaboration.forecast import CheckedAlgorithm, CheckedDisclosure, CheckedSums
from securefair.collaboration.kinds import REGISTERED, kind_of
from securefair.collaboration.resolved import ResolvedRun
from securefair.config import TableSection
from securefair.data import ParticipantData, Samples
from securefair.errors import ConfigError
from securefair.model.outcomes import outcome_of
from securefair.profiling.cost_model import MEASURE
from securefair.profiling.estimate import Estimate
from securefair.profiling.planned import PlanReport, report_plan
from securefair.profiling.pricing import PRICINGS
from securefair.records import STANDALONE
from securefair.user.tables import table_spec


class CheckedParticipant(msgspec.Struct, frozen=True, kw_only=True):
    """One participant's samples on the first seed; classes in the order of the labels."""

    name: str
    train: int
    test: int
    by_class: list[int]


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that can be known before a run.

    Attributes:
        name, seeds, backend: as configured.
        rounds: most of any algorithm.
        participants: on the first seed.
        features: names of the features, or their number where they have no names.
        classes: codes of each class, or their numbers.
        columns: where ranges and levels of a table come from: "public", "participants", or None
            where there is no table.
        inferred: the columns were found in the tables now.
        unused: columns that inference left out, with the reason.
        further: by participant, columns that others need not have, for its own model.
        algorithms: what each would send; none where nobody collaborates.
        plan: plan of the participant with the most samples.
        estimate: cost of one participant, if prices were given.
        measure: the command that measures them.
        disclosure: for each student.
        sums: sums of models; None where none are averaged.
        chosen: what the settings left to a rule, a sentence each.
        warnings: what may surprise.
    """

    name: str
    seeds: list[int]
    rounds: int
    backend: str
    participants: list[CheckedParticipant]
    features: list[str] | int
    classes: list[str]
    columns: str | None
    inferred: bool
    unused: dict[str, str]
    algorithms: list[CheckedAlgorithm]
    plan: PlanReport | None
    estimate: Estimate | None
    measure: str
    disclosure: list[CheckedDisclosure]
    sums: CheckedSums | None
    chosen: list[str]
    warnings: list[str]
    tells_classes: bool = True
    further: dict[str, list[str]] = {}


def check_config(run: ResolvedRun, *, cost_model: Path | None = None) -> Checked:
    """Read the data of every seed, plan every exchange, and sum up.

    Args:
        run: a resolved configuration.
        cost_model: file of `securefair profile scale --out`.

    Raises:
        SecureFairError: exactly where a run would refuse; or the prices cannot be used, or nothing
            of the run has one.
    """
    config, kinds = run.config, run.kinds
    # A model that is brought is tried on patients, to say how far its stand-in is from it.
    run = run.load(outlines=all(one.teacher is None for one in config.participants))
    run.smaller(outlines=True)  # refuses as a run would
    seed, first = next(iter(run.data.items()))
    agreed = run.agreements[seed]
    forecasts = [kind.forecast(agreed[name], first) for name, kind in kinds.items()]
    planned = next((one for one in forecasts if one.plan is not None), None)
    plan = None if planned is None else planned.plan
    measure, cost, priced = MEASURE, None, ""
    subject = [STANDALONE, *kinds][-1]  # the last is what a run is about
    if subject in kinds:
        main = agreed[subject]
        pricing = PRICINGS[kinds[subject].prices]
        measure = pricing.measure(main)
        if cost_model is not None and pricing.cost is not None:
            cost = pricing.cost(cost_model, config, main, plan)
            priced = ", which encrypts nothing here"
    if cost_model is not None and cost is None:
        raise ConfigError(
            "this run has no measured price",
            where=str(cost_model),
            found=subject + priced,
            expected=" or ".join(
                name for name in REGISTERED if PRICINGS[kind_of(name).prices].cost is not None
            ),
            hint="Check without --model: it says what can be measured",
        )
    table = config.table
    return Checked(
        name=config.run.name,
        seeds=list(config.run.seeds),
        rounds=max(
            (
                one.rounds(config.training.rounds, renewals=len(config.renewals))
                for one in kinds.values()
            ),
            default=config.training.rounds,
        ),
        backend=config.encryption.backend,
        participants=[_participant(own) for own in first],
        features=list(table_spec(table).features)
        if table is not None and table.columns
        else int(np.prod(first[0].train.features.shape[1:])),
        tells_classes=outcome_of(first[0].train).tells_classes,
        classes=_classes(table, first[0].train),
        columns=table.origin if table is not None and table.columns else None,
        inferred=run.inferred,
        unused=dict(run.unused),
        further={
            name: [rule.name for rule in rules] for name, rules in run.further.items() if rules
        },
        algorithms=[one.traffic for one in forecasts],
        plan=None if plan is None else report_plan(plan),
        estimate=cost,
        measure=measure,
        disclosure=next((one.disclosure for one in forecasts if one.disclosure), []),
        sums=next((one.sums for one in forecasts if one.sums is not None), None),
        chosen=[one.chosen for one in forecasts if one.chosen],
        warnings=[
            *_warnings(config.tells_ranges, first),
            *dict.fromkeys(words for one in forecasts for words in one.warnings),
        ],
    )


def _classes(table: TableSection | None, samples: Samples) -> list[str]:
    """What people read of each label: strata where it is no class."""
    strata = outcome_of(samples).strata
    if strata:
        return list(strata)
    if table is not None and table.classes:
        return list(table.names) or [" or ".join(codes) for codes in table.groups]
    return [str(label) for label in range(samples.classes)]


def _participant(own: ParticipantData) -> CheckedParticipant:
    labels = np.concatenate([own.train.labels, own.test.labels])
    return CheckedParticipant(
        name=own.name,
        train=len(own.train),
        test=len(own.test),
        by_class=np.bincount(labels, minlength=own.train.classes).tolist(),
    )


LEAST_TRAINING = 10
"""Samples below which a hospital learns next to nothing."""


def _warnings(tells_ranges: bool, data: Sequence[ParticipantData]) -> list[str]:
    found = []
    if tells_ranges:
        found.append(
            "Ranges and levels of columns come from the tables, which tells everyone something of "
            'them. Write them from general knowledge, then say table.origin = "public".'
        )
    for own in data:
        alone = np.unique(own.train.labels)
        if len(alone) == 1:
            strata = outcome_of(own.train).strata
            kind, one = ("kind", strata[alone[0]]) if strata else ("class", alone[0])
            found.append(f"{own.name} has training samples of one {kind} only ({one}).")
        if len(own.train) < LEAST_TRAINING:
            found.append(
                f"{own.name} trains on {len(own.train)} samples only, and tests on "
                f"{len(own.test)} (data.test_fraction)."
            )
        if len(own.test) < 20:
            few = f"{own.name} tests on {len(own.test)} sample{'s' * (len(own.test) != 1)}: its "
            found.append(
                f"{few}accuracy moves in steps of {100 / max(1, len(own.test)):.0f} points."
                if outcome_of(own.train).tells_classes
                else f"{few}scores say little."
            )
    return found
