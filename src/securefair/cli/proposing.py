"""`securefair project propose`: what one site says of its own table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from securefair.cli.options import ForceOption, JsonOption
from securefair.cli.outcomes import (
    EventOption,
    ExposureOption,
    OutcomeOption,
    TimeOption,
    known_keys,
)
from securefair.report.telling import tell

if TYPE_CHECKING:
    from securefair.data import Table, Target


def propose(
    data: Annotated[
        Path,
        typer.Argument(help="This site's table: .csv, .parquet, .xlsx, or of SPSS, Stata, SAS."),
    ],
    out: Annotated[Path, typer.Option("--out", help="File for the proposal.")],
    label: Annotated[str | None, typer.Option("--label", help="Column to predict.")] = None,
    outcome: OutcomeOption = None,
    time: TimeOption = None,
    event: EventOption = None,
    exposure: ExposureOption = None,
    at_least: Annotated[
        int, typer.Option(min=1, help="Patients who must share a level before it is named.")
    ] = 5,
    classes: Annotated[
        list[str] | None,
        typer.Option(
            "--class", help="Codes of one class, with commas between; once for each class."
        ),
    ] = None,
    patient_column: Annotated[
        str | None,
        typer.Option(
            "--patient-column",
            help="Column that says whose each row is. Without it: an identifier of patients that "
            "repeats, where there is one.",
        ),
    ] = None,
    missing: Annotated[
        list[str] | None,
        typer.Option("--missing", help="A further code of a missing value; repeatable."),
    ] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option("--drop", help="Column of which nothing is told; repeatable."),
    ] = None,
    force: ForceOption = False,
    json: JsonOption = False,
) -> None:
    """Propose rules for a table, from this site's rows alone; the others compare theirs.

    It names columns, levels that enough patients share, and ranges rounded outwards. Look at the
    file before it leaves.

    Example: securefair project propose own.csv --label num --out north.proposal.toml

    Or: securefair project propose own.csv --time months --event died --out north.proposal.toml
    """
    from msgspec import to_builtins

    from securefair.config import defaults
    from securefair.config.columns import code
    from securefair.config.writing import plain_toml
    from securefair.data import propose as proposed
    from securefair.data import read_rows
    from securefair.data.quality import repeated_patients
    from securefair.errors import ConfigError
    from securefair.report import check_new_file, write_text

    if not out.parent.is_dir():
        raise ConfigError(
            "the folder for the proposal is not there",
            where=str(out.parent),
            hint="Mount the share, or make the folder",
        )
    check_new_file(out, force=force, endings=(".toml",))
    known = known_keys(label, outcome, time, event, exposure)
    label = label or time
    if label is None:
        raise ConfigError(
            "a proposal needs a column to predict",
            where="--label",
            expected="--label, or --time and --event",
        )
    if known and classes:
        raise ConfigError("this outcome has no classes", where="--class", found=known["outcome"])
    groups = [[one.strip() for one in group.split(",")] for group in classes or ()]
    codes = (*defaults.MISSING, *(missing or ()))
    target = _target(label, known)
    rows = _without(read_rows(data, missing=codes), drop or (), (label, *_beside(target)))
    repeated = repeated_patients(rows) if patient_column is None else None
    patient_column = patient_column or (repeated and repeated[0])
    proposal = proposed(
        rows,
        label=label,
        classes=groups,
        at_least=at_least,
        missing=codes,
        target=target,
        patient_column=patient_column,
    )
    write_text(out, plain_toml(to_builtins(proposal)))
    told = [column for column in proposal.columns if column.name != label]
    unused = {column.name: column.unused for column in told if column.unused}
    rare = {column.name: column.rare for column in told if column.rare}
    lines = [f"{len(told) - len(unused)} columns in {out}"]
    lines += [f"not told: {name} ({why})" for name, why in unused.items()]
    lines += [
        f"{name}: {count} level{'s' if count > 1 else ''} of fewer than {at_least} patients "
        f"{'are' if count > 1 else 'is'} not named"
        for name, count in rare.items()
    ]
    if repeated is not None:
        lines.append(f"rows of one {patient_column} count as one patient (--patient-column)")
    lines += _unnamed(rows, patient_column)
    lines += _strays(rows, codes)
    if groups:
        found = {code(text) for text in rows.columns[label].texts}
        lines += [
            f"no patient here is of class {','.join(group)}"
            for group in groups
            if found.isdisjoint(map(code, group))
        ]
    columns = [column.name for column in told if not column.unused]
    facts = {"columns": columns, "unused": unused, "rare": rare, "patient_column": patient_column}
    tell(json, "\n".join(lines), facts | {"file": str(out)})


def _without(rows: Table, drop: Sequence[str], predicted: Sequence[str]) -> Table:
    """The table without columns of which nothing is told."""
    from securefair.errors import ConfigError

    for name in drop:
        if name in predicted or name not in rows.columns:
            raise ConfigError(
                "a column to predict cannot be left out"
                if name in predicted
                else "the table has no such column",
                where="--drop",
                found=name,
                expected=", ".join(one for one in rows.columns if one not in predicted),
            )
        rows = rows.without(name)
    return rows


def _unnamed(rows: Table, patient_column: str | None) -> Iterator[str]:
    """A row of nobody, which no site takes once all agreed on the column."""
    from securefair.data.quality import first_unnamed

    unnamed = None if patient_column is None else first_unnamed(rows, patient_column)
    if unnamed is not None:
        yield (
            f"{patient_column}: {unnamed} names nobody; say whose it is or delete it, before "
            "this site signs"
        )


def _strays(rows: Table, codes: Sequence[str]) -> Iterator[str]:
    """Texts among numbers, which make levels of a measurement and may be codes."""
    from securefair.data.shape import shapes_of

    for name, shape in shapes_of(rows, codes).items():
        if shape.stray.any():
            column = rows.columns[name]
            text = column.texts[int(shape.stray.argmax())]
            yield (
                f'{name}: "{text}" stands among numbers; if it is a code of a missing value, say '
                f'--missing "{text}"'
            )


def _beside(target: Target | None) -> tuple[str, ...]:
    return () if target is None else target.beside


def _target(label: str, known: Mapping[str, object]) -> Target | None:
    """What is predicted where it is no class."""
    from securefair.config import TableSection
    from securefair.user.tables import target_of

    settings: dict[str, Any] = {"label": label, **known}
    return target_of(TableSection(**settings)) if known else None
