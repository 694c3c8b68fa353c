"""All tables of a configuration -> what to look at before a run, one finding a line."""

from __future__ import annotations

from collections.abc import Sequence

from securefair.config import RunConfig
from securefair.data.between import findings_between, site_columns
from securefair.data.cells import column_of
from securefair.data.images.findings import image_findings
from securefair.data.quality import Finding, site_findings
from securefair.data.shape import shapes_of
from securefair.errors import DataError
from securefair.user.tables import about, table_rows


def inspect_tables(config: RunConfig, images: Sequence[str] = ()) -> list[Finding]:
    """Every finding of every table, those of single tables first; none where there are no tables.

    Args:
        config: checked.
        images: columns of paths, besides those that it describes.

    Raises:
        DataError: a table cannot be read, or lacks the label; names participant, file and line.
    """
    section = config.table
    files = [one for one in config.participants if one.is_table]
    if section is None or section.label is None or not files:
        return []
    label, joined = section.label, section.spellings == "joined"
    found: list[Finding] = []
    sites = {}
    for one in files:
        with about(one.name):
            table = table_rows(one)
            if label not in table.columns:
                raise DataError(
                    "the label is not a column of the table",
                    where=table.source,
                    found=", ".join(table.columns),
                    expected=label,
                )
            described = [column.name for column in section.columns if column.kind == "image"]
            for name in (*images, *described):
                if name in table.columns:
                    found += image_findings(one.name, table, name)
                table = table.without(name)  # paths are neither levels nor measurements
            shapes = shapes_of(table, section.missing)
            found += site_findings(one.name, table, shapes, label=label, joined=joined)
            sites[one.name] = site_columns(table, shapes)
    if section.columns:
        used = {column.name for column in section.columns if column.kind != "ignored"} | {label}
        handled = {
            c.name: set(c.missing)
            for c in section.columns
            if c.kind != "ignored" and c.kind != "image"
        }
        found = [one for one in found if _still_open(one, used, handled)]
        sites = {
            site: {name: column for name, column in columns.items() if name in used}
            for site, columns in sites.items()
        }
    between = list(findings_between(sites, label=label, joined=joined))
    return found + [one for one in between if not (section.classes and _settled(one, label))]


def _still_open(one: Finding, used: set[str], handled: dict[str, set[str]]) -> bool:
    """Whether a configuration with columns leaves a finding to look at."""
    if one.column is not None and one.column not in used:
        return False
    if one.kind == "sentinel" and one.column in handled:
        found = column_of(one.message.split('"')[1:2])
        return not found.among(handled[one.column]).any()
    return True


def _settled(one: Finding, label: str) -> bool:
    """Whether the configuration's own classes settle how the label is spelt."""
    return one.column == label and one.kind == "spelling"
