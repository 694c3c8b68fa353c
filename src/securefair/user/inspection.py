"""All tables of a configuration -> what to look at before a run, one finding a line."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from msgspec import structs

from securefair.config import ParticipantSection, RunConfig, TableSection
from securefair.config.columns import ColumnRule, code
from securefair.data.between import OF_SOME_SITES, findings_between, site_columns
from securefair.data.cells import Table, column_of, recoded
from securefair.data.findings import EVERYONE, Finding, by_weight
from securefair.data.fitting import class_findings, label_findings, range_findings
from securefair.data.headings import check_known
from securefair.data.images.findings import (
    Pictures,
    image_findings,
    pictures_of,
    shared_images,
)
from securefair.data.known import FEWEST_EVENTS, few_events_in
from securefair.data.quality import SEVERAL_ROWS, remedy_of_visits, site_findings
from securefair.data.shape import shapes_of
from securefair.data.shared_rows import shared_rows
from securefair.data.swapped import swapped_codes
from securefair.data.table import Target
from securefair.user.tables import ReadTables, about, target_of


def inspect_tables(
    section: TableSection | None,
    participants: Sequence[ParticipantSection],
    read: ReadTables,
    *,
    renewals: Sequence[ParticipantSection] = (),
    images: Sequence[str] = (),
) -> list[Finding]:
    """Every finding of every table, those of single tables first; none where there are no tables.

    Args:
        section: how tables are read.
        participants: all of them, or one where nobody sees the others'.
        read: their tables.
        renewals: tables that some of them have later, which are looked at beside the others'.
        images: columns of paths, besides those that the section describes.

    Raises:
        DataError: a table cannot be read, or lacks the label; names participant, file and line.
    """
    if renewals:
        found = inspect_tables(section, participants, read, images=images)
        now = {one.name: one for one in (*participants, *renewals)}
        later = inspect_tables(section, list(now.values()), read, images=images)
        return found + [one for one in later if one not in found]
    files = [one for one in participants if one.is_table]
    if section is None or section.label is None or not files:
        return []
    patients = section.patient_column  # of whom one may have several rows
    label, joined = section.label, section.spellings == "joined"
    found = []
    tables = {}
    described = [column.name for column in section.columns if column.kind == "image"]
    pictures: dict[str, dict[str, Pictures]] = {name: {} for name in (*images, *described)}
    for one in files:
        with about(one.name):
            table = read.of(one)
            for name, known in pictures.items():
                if name in table.columns:
                    known[one.name] = pictures_of(table, name)
                    found += image_findings(one.name, known[one.name])
                table = table.without(name)  # paths are neither levels nor measurements
        tables[one.name] = table if patients is None else table.without(patients)
    for known in pictures.values():
        found += shared_images(known)
    if section.outcome is not None:
        target = target_of(section)
        found += _few_events(tables, target, section.missing)
        for name, table in tables.items():
            found += label_findings(name, table, target, section.missing)
    further = {one.name: one.columns or () for one in files}
    handled = {
        column.name: set(() if column.kind == "image" else column.missing)
        for column in section.columns
        if column.kind != "ignored"
    }
    if handled:
        handled |= {rule.name: set(rule.missing) for own in further.values() for rule in own}
    for name, table in tables.items():
        found += range_findings(name, table, further[name], section.missing)
    own, between = look_at(
        tables,
        label=label,
        missing=section.missing,
        joined=joined,
        handled=handled,
        rules=[column for column in section.columns if column.kind != "ignored"],
        classes=section.classes,
        known=() if section.outcome is None else (label, *section.beside.values()),
        same_unit=section.same_unit,
    )
    own_names = {rule.name for rules in further.values() for rule in rules}
    between = [
        one
        for one in between
        if not (section.classes and _settled(one, label))
        and not (one.kind == OF_SOME_SITES and one.column in own_names)
    ]
    return by_weight([*found, *own, *between])


def _few_events(
    tables: Mapping[str, Table], target: Target, missing: Sequence[str]
) -> Iterator[Finding]:
    """Hospitals of whose events there are too few for errors and intervals."""
    for site, table in tables.items():
        few = few_events_in(table, target, missing)
        if few is not None:
            yield Finding(
                site=site,
                column=target.name,
                line=None,
                kind="few_events",
                message=f"{few} event{'' if few == 1 else 's'} in the whole table: scores of fewer "
                f"than {FEWEST_EVENTS} events have no standard error, and coefficients of so few "
                "no intervals and no place among the estimates",
                remedy="Nothing is to be done where no more patients are known",
                severity="note",
            )


def look_at(
    tables: Mapping[str, Table],
    *,
    label: str,
    missing: Sequence[str],
    joined: bool,
    handled: Mapping[str, Collection[str]] | None = None,
    rules: Sequence[ColumnRule] = (),
    classes: Sequence[Sequence[str]] = (),
    known: Sequence[str] = (),
    same_unit: Collection[str] = (),
) -> tuple[list[Finding], list[Finding]]:
    """Findings of single tables, and between them.

    Args:
        tables: by site, each of at least one row.
        label: the column to predict.
        missing: codes of a missing value.
        joined: whether spellings that differ in case only are one level.
        handled: columns that rules describe, with their own codes of a missing value: others are
            not looked at. None or empty: there are no rules yet.
        rules: of columns, that are given.
        classes: that are given, the codes of each.
        known: columns that say what is known of a patient where that is no class, the label first.
        same_unit: columns that are said to be in one unit everywhere.

    Raises:
        DataError: a table lacks the label; names the site.
    """
    of_classes = None if known else label
    found: list[Finding] = []
    sites, looked = {}, {}
    for site, as_read in tables.items():
        check_known(as_read, known or (label,), f"participant {site}")
        table = _with_classes(as_read, label, classes, joined=joined)
        shapes = shapes_of(table, missing)
        own = site_findings(site, table, shapes, label=of_classes, joined=joined, known=known)
        found += (_of_known(one) if one.column in known else _of_all(one, tables) for one in own)
        sites[site] = site_columns(table, shapes)
        looked[site] = table, shapes
    if handled:
        used = {*handled, label, *known}
        found = [one for one in found if _still_open(one, used, handled)]
        sites = {
            site: {name: column for name, column in columns.items() if name in used}
            for site, columns in sites.items()
        }
    for site, table in tables.items():
        found += range_findings(site, table, rules, missing)
    between = list(findings_between(sites, label=of_classes, joined=joined, same_unit=same_unit))
    between += swapped_codes(looked, label, joined=joined, known=known)
    between += shared_rows(tables, known or (label,))
    if of_classes is not None:
        between += class_findings(tables, of_classes, classes, joined=joined)
    return found, between


def _with_classes(
    table: Table, label: str, classes: Sequence[Sequence[str]], *, joined: bool
) -> Table:
    """The table with one text for all codes of a class: whoever said that `ja` and `yes` make one
    is not to be told that a hospital alone has `ja`."""
    merged = {
        code(one, joined=joined): " or ".join(group)
        for group in classes
        for one in group
        if len(group) > 1
    }
    if not merged:
        return table
    column = table.columns[label]
    texts = {text: merged.get(code(text, joined=joined), text) for text in column.texts}
    return replace(table, columns={**table.columns, label: recoded(column, texts)})


def _of_known(one: Finding) -> Finding:
    """A finding in a column that is no feature, but says what is known of patients."""
    if one.kind != "constant_column":
        return one
    remedy = "It says what is known of patients: see that it is so for all of them"
    return structs.replace(one, remedy=remedy, severity="warning")


def _of_all(one: Finding, tables: Mapping[str, Table]) -> Finding:
    """A finding with advice that all hospitals can follow, not only whose it is."""
    if one.kind != SEVERAL_ROWS or one.column is None:
        return one
    return structs.replace(one, remedy=remedy_of_visits(one.column, tables))


def _still_open(one: Finding, used: set[str], handled: Mapping[str, Collection[str]]) -> bool:
    """Whether rules of columns leave a finding to look at."""
    if one.column is None or one.kind == SEVERAL_ROWS:
        return True
    if one.column not in used:
        return False
    if one.kind == "sentinel" and one.column in handled:
        return not column_of(list(one.values)).among(handled[one.column]).any()
    return True


def _settled(one: Finding, label: str) -> bool:
    """Whether the configuration's own classes settle how the label is spelt."""
    return one.column == label and one.kind == "spelling"


def codes_of_nobody(missing: Sequence[str], config: RunConfig, read: ReadTables) -> list[Finding]:
    """Codes that were given as missing and stand in no table, as two in one would."""
    columns = [one for own in config.participants for one in read.rows(own.source).columns.values()]
    return [
        Finding(
            site=EVERYONE,
            column=None,
            line=None,
            kind="missing_of_nobody",
            message=f'no table has the code "{code}" that was given as missing',
            remedy="Write it as it stands there; --missing once for each code",
            values=(code,),
        )
        for code in missing
        if not any(column.among([code]).any() for column in columns)
    ]
