"""Everybody's samples -> table 1: all hospitals together, and each by itself."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from securefair.collaboration.describing.cells import (
    BINS,
    OwnVariable,
    Variable,
    own_variables,
    variables_of,
)
from securefair.collaboration.describing.ledger import (
    NOTHING_TOLD,
    Before,
    ToldCounts,
    about_to_tell,
    with_numbers,
)
from securefair.collaboration.describing.rules import (
    FEWEST_HOSPITALS,
    FEWEST_PATIENTS,
    TellableVariable,
    answers,
    questions,
    tellable,
    told,
)
from securefair.collaboration.describing.sums import add_up, summers
from securefair.collaboration.resolved import ResolvedRun
from securefair.config import RunConfig
from securefair.data import Samples, TableSpec
from securefair.data.dataset import together
from securefair.data.table import class_names
from securefair.errors import ConfigError, DataError
from securefair.model.outcomes import outcome_of
from securefair.prediction.record import plain_section
from securefair.user.participants import load_participants

Array = NDArray[np.float64]
QUARTERS = (0.25, 0.5, 0.75)


class DescribedRow(msgspec.Struct, frozen=True, kw_only=True):
    """One figure.

    Attributes:
        variable: the column, or the outcome.
        figure: "mean", "sd", "q25", "median", "q75" of a measurement; "level" of a level;
            "missing"; "others", levels that are not told apart.
        level: of a count.
        together: over all hospitals; None where it may not be told.
        by_hospital: of each hospital's own patients, which stays there.
    """

    variable: str
    figure: str
    level: str
    together: float | None
    by_hospital: dict[str, float | None]


class Described(msgspec.Struct, frozen=True, kw_only=True):
    """Table 1.

    Attributes:
        patients: of all hospitals.
        by_hospital: patients of each.
        rows: figures.
        filled: variables whose missing values count as their hospital's mean, as how many there are
            may not be told.
        numbers: that each hospital opened, of sums over the others.
        bits: that one of them may tell.
        told: by hospital, what it notes for later descriptions; it stays there.
    """

    patients: int
    by_hospital: dict[str, int]
    rows: list[DescribedRow]
    filled: list[str]
    numbers: int
    bits: int
    told: dict[str, ToldCounts]


def describe_samples(
    spec: TableSpec,
    people: Mapping[str, Samples],
    *,
    before: Before = NOTHING_TOLD,
    again: bool = False,
) -> Described:
    """Table 1 of these hospitals' patients.

    Args:
        spec: the agreed rules.
        people: all samples of each hospital, by the rules.
        before: what they told in earlier descriptions.
        again: they agree to tell what differs from these.

    Raises:
        DataError: fewer than three hospitals, or one with fewer than five patients.
        LedgerError: an earlier description differs, and they do not agree to tell that.
    """
    few = [name for name, one in people.items() if len(one) < FEWEST_PATIENTS]
    if len(people) < FEWEST_HOSPITALS or few:
        raise DataError(
            "too few to be described together",
            where=", ".join(few) or "participants",
            found=f"{len(people)} hospitals" if not few else f"below {FEWEST_PATIENTS} patients",
            expected=f"{FEWEST_HOSPITALS} hospitals or more, each of {FEWEST_PATIENTS} patients",
        )
    names = list(people)
    first = people[names[0]]
    classes = class_names(spec, first.classes) if outcome_of(first).tells_classes else []
    variables = variables_of(spec, classes)
    own = {
        name: own_variables(spec, classes, np.asarray(one.features, np.float64), one.labels)
        for name, one in people.items()
    }
    rules = msgspec.json.encode(plain_section(spec))
    session = hashlib.sha256(b"securefair description\0" + rules).digest()
    noted = about_to_tell(before, session, people, again=again)
    hospitals = summers(sorted(names))
    asked = {
        name: np.concatenate(
            [
                [float(len(people[name]))],
                *(answers(one, variable) for one, variable in zip(each, variables, strict=True)),
            ]
        )
        for name, each in own.items()
    }
    yes = add_up(session, 0, hospitals, asked)
    # Everybody decides by what it opened itself, and everybody opened the same.
    decided = {
        name: _decided(variables, np.rint(found[1:]).astype(np.int64), len(names))
        for name, found in yes.values.items()
    }
    sums = add_up(session, 1, hospitals, {name: told(own[name], decided[name]) for name in names})
    patients = round(float(yes.values[names[0]][0]))
    allowed, total = decided[names[0]], sums.values[names[0]]
    rows: list[DescribedRow] = []
    at = 0
    for place, (variable, rule) in enumerate(zip(variables, allowed, strict=True)):
        part = total[at : at + rule.numbers]
        at += rule.numbers
        each = {name: one[place] for name, one in own.items()}
        figures = _measured if variable.measured else _counted
        rows += figures(variable, rule, part, patients, each)
    numbers = len(asked[names[0]]) + len(total)
    return Described(
        patients=patients,
        by_hospital={name: len(one) for name, one in people.items()},
        rows=rows,
        filled=[one.name for one, rule in zip(variables, allowed, strict=True) if rule.filled],
        numbers=numbers,
        bits=yes.bits,
        told=with_numbers(noted, before, numbers),
    )


def describe_config(
    config: RunConfig, *, before: Before = NOTHING_TOLD, again: bool = False
) -> Described:
    """Table 1 of the tables that a configuration names.

    Args:
        config: checked.
        before, again: as of `describe_samples`.

    Raises:
        ConfigError: it names no tables.
        LedgerError: as `describe_samples`.
        DataError: a table cannot be read, or see `describe_samples`.
    """
    run = ResolvedRun.of(config, {})
    if run.rules is None:
        raise ConfigError(
            "only tables can be described",
            where="data.source",
            found=config.data.source,
            expected="tables of participants",
        )
    data = load_participants(run.config, run.config.run.seeds[0], run.tables)
    people = {one.name: together([one.train, one.test]).common for one in data}
    return describe_samples(run.rules, people, before=before, again=again)


def _decided(
    variables: Sequence[Variable], yes: NDArray[np.int64], hospitals: int
) -> list[TellableVariable]:
    ends = np.cumsum([questions(one) for one in variables])[:-1]
    return [
        tellable(variable, part, hospitals)
        for variable, part in zip(variables, np.split(yes, ends), strict=True)
    ]


def _counted(
    variable: Variable,
    rule: TellableVariable,
    part: Array,
    patients: int,
    own: Mapping[str, OwnVariable],
) -> list[DescribedRow]:
    counts: dict[int, int] = dict.fromkeys(rule.empty, 0)
    counts |= {
        group[0]: round(value) for group, value in zip(rule.groups, part.tolist(), strict=True)
    }
    names = [*variable.levels, ""]
    rows = [
        DescribedRow(
            variable=variable.name,
            figure="missing" if at == len(variable.levels) else "level",
            level=level,
            together=counts.get(at),
            by_hospital={name: int(one.counts[at]) for name, one in own.items()},
        )
        for at, level in enumerate(names)
    ]
    hidden = [at for at in range(variable.cells) if at not in counts]
    if hidden:
        rest = patients - sum(counts.values())
        rows.append(
            DescribedRow(
                variable=variable.name,
                figure="others",
                level="",
                together=rest,
                by_hospital={name: int(one.counts[hidden].sum()) for name, one in own.items()},
            )
        )
    return rows


def _measured(
    variable: Variable,
    rule: TellableVariable,
    part: Array,
    patients: int,
    own: Mapping[str, OwnVariable],
) -> list[DescribedRow]:
    figures: dict[str, float | None] = dict.fromkeys(("mean", "sd", "q25", "median", "q75"))
    missing: float | None = 0 if BINS in rule.empty else None
    if rule.moments:
        counts = np.rint(part[:-2])
        values = int(counts.sum())
        mean = part[-2] / values
        spread = max(0.0, part[-1] - values * mean**2) / max(1, values - 1)
        figures["mean"] = variable.in_unit(float(mean))
        figures["sd"] = float(np.sqrt(spread)) * (variable.high - variable.low) / 2
        ends = [group[-1] + 1 for group in rule.groups]
        quarters = _quantiles(counts, [0, *ends])
        figures |= dict(zip(("q25", "median", "q75"), map(variable.in_unit, quarters), strict=True))
        if not rule.filled:
            missing = patients - values
    alone = {name: _own_figures(variable, one) for name, one in own.items()}
    return [
        DescribedRow(
            variable=variable.name,
            figure=figure,
            level="",
            together=value,
            by_hospital={name: one[figure] for name, one in alone.items()},
        )
        for figure, value in {**figures, "missing": missing}.items()
    ]


def _quantiles(counts: Array, edges: Sequence[int]) -> list[float]:
    """Quarters in [-1, 1], as if values were spread evenly within groups of bins."""
    below = np.concatenate([[0.0], counts.cumsum()])
    places = -1 + 2 * np.array(edges) / BINS
    found: list[float] = np.interp(np.array(QUARTERS) * below[-1], below, places).tolist()
    return found


def _own_figures(variable: Variable, own: OwnVariable) -> dict[str, float | None]:
    """Of a hospital's own patients, from their values."""
    values = own.scaled[np.isfinite(own.scaled)]
    missing = float(len(own.scaled) - len(values))
    if not len(values):
        return dict.fromkeys(("mean", "sd", "q25", "median", "q75")) | {"missing": missing}
    quarters = np.quantile(values, QUARTERS).tolist()
    spread = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    return {
        "mean": variable.in_unit(float(values.mean())),
        "sd": spread * (variable.high - variable.low) / 2,
        **dict(zip(("q25", "median", "q75"), map(variable.in_unit, quarters), strict=True)),
        "missing": missing,
    }
