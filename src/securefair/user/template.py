"""A new project: a folder with a commented configuration and tables, which runs as it is."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Collection, Mapping, Sequence
from importlib import resources
from pathlib import Path

import msgspec

from securefair.config import (
    IgnoredColumn,
    ImageColumn,
    RunConfig,
    check_settings,
    defaults,
    demo_config,
    override,
    parse_config,
    to_toml,
)
from securefair.config.run import DEFAULT_ALGORITHMS
from securefair.data import HEART_SPEC, HOSPITALS, read_rows
from securefair.data.between import OF_SOME_SITES
from securefair.data.findings import Finding
from securefair.data.heart import heart_rows
from securefair.data.meanings import yes_of
from securefair.data.quality import SEVERAL_ROWS, column_of_patients
from securefair.data.sheets import csv_text
from securefair.errors import ConfigError
from securefair.storage.files import error_about
from securefair.user.files import from_files
from securefair.user.given_tables import named_table, plain, relative_to
from securefair.user.inspection import codes_of_nobody, inspect_tables
from securefair.user.tables import ReadTables, about, resolve, table_settings

_INTRODUCTION = """\
# {title}
#
# Check it without running anything:   securefair check config.toml
# Run it:                              securefair run config.toml
#
# Every key that these algorithms read is explained above its value. Others are refused, unless they
# say their default. Paths of data are relative to this file. Parameters of the encryption are never
# chosen by hand: they follow from the sections here and the data. `securefair config --algorithm
# NAME` shows the keys of another.

"""

_README = """\
# {name}

    securefair check config.toml    # reads everything, runs nothing
    securefair run config.toml      # results in runs/{name}/, report.html for people

`config.toml` says who takes part, which column is predicted and how each column becomes features.
To use tables of your own, replace the files in `data/`, one for each hospital, and describe their
columns in `[[table.columns]]`. The rules are the same for everyone and public: write ranges from
general knowledge (an adult's age is 20 to 90), not from your patients.

The tables here are the heart disease data of four hospitals (UCI, CC BY 4.0): see
`data/LICENSE.md`.
"""


_WHY_UNUSED = ("not_a_number", "ambiguous_number", "unit_in_cell", SEVERAL_ROWS)
"""Findings of a column that is no feature because of them, or whatever it is."""


class ProposedProject(msgspec.Struct, frozen=True, kw_only=True):
    """What was made.

    Attributes:
        folder: where.
        files: paths in it.
        unused: columns of somebody's own tables that are no features, with the reason.
        findings: what to look at in these tables, columns that are no features left out.
        missable: code of the class that sensitivity is of; empty but for two classes.
        further: by participant, columns that not everyone has, for its own model.
        patients: the column that names the patient of each row, where some have several.
    """

    folder: str = ""
    files: list[str] = []
    unused: dict[str, str] = {}
    findings: list[Finding] = []
    missable: str = ""
    further: dict[str, list[str]] = {}
    patients: str = ""


def new_project(
    folder: Path,
    *,
    tables: Sequence[Path | str] = (),
    label: str | None = None,
    positive: str | None = None,
    joined: bool = False,
    image: Mapping[str, object] | None = None,
    unread: Collection[str] = (),
    classes: Sequence[Sequence[str]] = (),
    missing: Sequence[str] = (),
    drop: Sequence[str] = (),
    known: Mapping[str, object] | None = None,
) -> ProposedProject:
    """Make a folder with `config.toml`; it appears whole or not at all.

    Args:
        folder: must not exist, or be empty.
        tables: one for each participant, named after its file, or a query with a name before it,
            "north=duckdb:clinic.db?query=..."; none for the packaged example.
        label: column of the tables to predict.
        positive: a code of it, of the class that sensitivity is of; None: of the last one.
        joined: take codes of the tables that differ in case or white space only for one.
        image: a column of the tables that names images (`given_tables.image_column`).
        unread: keys that the default algorithms do not read, and that are not written.
        classes: codes of each class; none for those that occur.
        missing: further codes of a missing value.
        drop: columns that are no features.
        known: keys of [table] that say what the label is where that is no class.

    Raises:
        ConfigError: the folder is taken, its name cannot be a run's, or tables come without a
            label.
        DataError: the tables cannot be read or do not fit together.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(
            "the folder is taken", where=str(folder), hint="Choose another name for the project"
        )
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", folder.absolute().name).strip("-._")[:64]
    if not name:
        raise ConfigError(
            "a run cannot be named so", where=str(folder), hint="Use letters and digits"
        )
    if not all(all(codes) for codes in classes):
        raise ConfigError("a class needs codes", where="--class", found="an empty one")
    if tables:
        rules: dict[str, object] = {
            "label": label,
            "spellings": "joined" if joined else "exact",
            "missing": [*defaults.MISSING, *missing],
            "classes": [list(codes) for codes in classes],
            "positive": positive,
            **(known or {}),
        }
        rules = {key: value for key, value in rules.items() if value}
        files, made = _own_files(
            name, folder, tables, rules, image=image, unread=unread, drop=drop, missing=missing
        )
    elif given := [
        option
        for option, value in (
            ("label", label),
            ("positive", positive),
            ("image", image),
            ("class", classes),
            ("missing", missing),
            ("drop", drop),
            *((key, value) for key, value in (known or {}).items()),
        )
        if value
    ]:
        raise ConfigError(
            f"--{given[0]} needs tables", where=f"--{given[0]}", hint="Name them with --data"
        )
    else:
        files, made = _example_files(name, unread), ProposedProject()
    _write(folder, files)
    return msgspec.structs.replace(made, folder=str(folder), files=sorted(files))


def demo_text(config: RunConfig, unread: Collection[str]) -> str:
    """The demo's configuration with every key explained but those that nothing in it reads.

    Args:
        config: of the demo, or of one of its algorithms alone.
        unread: keys that its algorithms do not read.
    """
    title = "Four hospitals predict heart disease together"
    demo = ": what `securefair demo` runs." if config == demo_config() else "."
    return _config_text(config, title + demo, unread)


def _example_files(name: str, unread: Collection[str]) -> dict[str, str]:
    """The heart table, one file for each hospital, with its rules."""
    names = [key for key in heart_rows()[0].fields if key != "hospital"]
    files = {
        "README.md": _README.format(name=name),
        "data/LICENSE.md": resources.files("securefair.data")
        .joinpath("heart.LICENSE.md")
        .read_text("utf-8"),
    }
    people: list[dict[str, object]] = []
    for hospital in HOSPITALS:
        own = [row.fields for row in heart_rows() if row.fields["hospital"] == hospital]
        file = f"data/{hospital.lower().replace(' ', '-')}.csv"
        files[file] = csv_text([names, *([row[name] for name in names] for row in own)])
        people.append({"name": hospital, "file": file})
    table = table_settings(HEART_SPEC) | {"origin": "public"}
    files["config.toml"] = _config_text(
        _config(name, people, table), "Four hospitals predict heart disease together.", unread
    )
    return files


def _own_files(
    name: str,
    folder: Path,
    tables: Sequence[Path | str],
    rules: dict[str, object],
    *,
    image: Mapping[str, object] | None,
    unread: Collection[str],
    drop: Sequence[str],
    missing: Sequence[str],
) -> tuple[dict[str, str], ProposedProject]:
    """A configuration for tables that stay where they are."""
    label = rules.get("label")
    if label is not None and label in drop:
        raise ConfigError("the column to predict cannot be left out", where="--drop", found=label)
    if label is None:
        raise ConfigError(
            "tables need a column to predict", where="--label", hint="Name it: --label diagnosis"
        )
    given = [named_table(table) for table in tables]
    names = [one.name for one in given]
    if len(tables) < 2:
        raise ConfigError(
            "a collaboration needs two tables or more",
            where="--data",
            found=str(tables[0]),
            hint="Give --data once for each hospital",
        )
    twice = sorted({one for one in names if names.count(one) > 1})
    if twice:
        raise ConfigError(
            "participants are named after their files, and two have the same name",
            where="--data",
            found=", ".join(twice),
            hint="Name them: --data north=a/table.csv --data south=b/table.csv",
        )
    people = [plain(one.in_folder(Path.cwd())) for one in given]
    smallest = _config(name, people, rules)
    column = None if image is None else _checked_column(name, people, rules, image)
    read = ReadTables(smallest.table, drop=drop)
    _check_drop(drop, smallest)
    looked_at = []
    for one in smallest.participants:
        with about(one.name):
            looked_at.append(read.of(one).without(str(label)))
    patients = column_of_patients(looked_at)
    if patients is not None:
        smallest = override(smallest, {"table.patient_column": patients}, source="new project")
    resolved = resolve(smallest, read, column)
    # What cannot be read, or used as features, is found now rather than by the first run.
    from_files(resolved.config, resolved.config.run.seeds[0], read, outlines=True)
    settings = resolved.config.model_dump(mode="json", exclude_none=True)
    if settings["table"].get("positive") is None:  # yes, though "nein" stands behind "ja"
        settings["table"] |= _positive(resolved.config)
    back = Path(os.path.relpath(Path.cwd(), folder.absolute()))
    weights = None if image is None else image.get("weights")
    if weights is not None and not os.path.isabs(str(weights)):
        settings["table"]["columns"][-1]["weights"] = os.path.normpath(back / str(weights))
    own = {one.name: one.columns for one in resolved.config.participants if one.columns}
    relative = [
        plain(relative_to(one.model_copy(update={"columns": own.get(one.name)}), back))
        for one in given
    ]
    config = _config(name, relative, settings["table"])
    title = "Your tables. Columns, ranges and levels were inferred from them: check them, and\n"
    title += '# write ranges from general knowledge, then say origin = "public".'
    images = () if column is None else (column.name,)
    found = inspect_tables(smallest.table, smallest.participants, read, images=images)
    assert config.table is not None
    further = {name: [rule.name for rule in rules] for name, rules in own.items()}
    written = {
        one.name
        for one in (*config.table.columns, *(rule for rules in own.values() for rule in rules))
        if not isinstance(one, ImageColumn | IgnoredColumn) and one.missing
    }
    used = [
        msgspec.structs.replace(
            one, remedy="The configuration counts it as missing; look whether that is right"
        )
        if one.kind == "sentinel" and one.column in written
        else one
        for one in found
        if one.column not in resolved.unused or one.kind in _WHY_UNUSED
        if one.kind != OF_SOME_SITES
    ]
    used = [*codes_of_nobody(missing, smallest, read), *used]
    return {"config.toml": _config_text(config, title, unread)}, ProposedProject(
        unused=dict(resolved.unused),
        findings=used,
        missable=_missable(config),
        further=further,
        patients=patients or "",
    )


def _missable(config: RunConfig) -> str:
    """The class that sensitivity is of, where that can be said."""
    if config.table is None or len(config.table.groups) != 2:
        return ""
    return config.table.positive or config.table.groups[-1][0]


def _positive(config: RunConfig) -> dict[str, str]:
    """The class of yes, where the classes are no and yes and another one would be taken."""
    groups = () if config.table is None else config.table.groups
    yes = yes_of(groups)
    return {} if yes is None or yes in groups[-1] else {"positive": yes}


def _check_drop(drop: Sequence[str], config: RunConfig) -> None:
    """Refuse to leave out what no table has."""
    if not drop:
        return
    known = {name for one in config.participants for name in read_rows(one.source).columns}
    if absent := [name for name in drop if name not in known]:
        raise ConfigError(
            "no table has this column",
            where="--drop",
            found=absent[0],
            expected=", ".join(sorted(known)),
        )


def _checked_column(
    name: str,
    people: Sequence[Mapping[str, object]],
    rules: Mapping[str, object],
    image: Mapping[str, object],
) -> ImageColumn:
    table = _config(name, people, {**rules, "columns": [dict(image)]}).table
    assert table is not None
    (column,) = table.in_folder(Path.cwd()).columns
    assert isinstance(column, ImageColumn)  # as its kind says
    return column


def _config(
    name: str, people: Sequence[Mapping[str, object]], table: dict[str, object]
) -> RunConfig:
    settings = {
        "run": {"name": name, "algorithms": list(DEFAULT_ALGORITHMS)},
        "data": {"source": "files"},
        "table": table,
        "report": {"title": name},
        "participants": list(people),
    }
    return check_settings(settings, source="new project")


def _config_text(config: RunConfig, title: str, unread: Collection[str]) -> str:
    text = _INTRODUCTION.format(title=title) + to_toml(config, comments=True, unread=unread)
    parse_config(text, source="new project")  # what is written must read
    return text


def _write(folder: Path, files: dict[str, str]) -> None:
    """All files, then the folder's name: a reader sees all of them or none."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    unfinished = folder.with_name(f".{folder.name}.{os.getpid()}.tmp")
    try:
        for path, text in files.items():
            target = unfinished / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8", newline="\n")
        os.replace(unfinished, folder)  # POSIX replaces an empty folder
    except OSError as error:
        raise error_about(folder, error) from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
