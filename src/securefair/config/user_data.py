"""Sections about data that somebody brings: files of each participant, and how to read a table.

The rules of a table are public: they belong to what the participants agreed on, and the same rules
apply to everyone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from securefair.config import defaults
from securefair.config.base import Section, contradiction, refuse_repeats
from securefair.config.columns import (
    LITE0,
    AnyColumn,
    Code,
    Codes,
    FilePath,
    ImageColumn,
    NamedPath,
    OwnColumn,
)
from securefair.config.registers import OUTCOMES, Named

_DUCKDB = "duckdb:"


def absolute_teacher(told: str | None, folder: Path) -> str | None:
    """What teaches, where a file is meant by its absolute path; names have no ending."""
    if told is None or not Path(told).suffix:
        return told
    return str(folder.absolute() / told)


class ParticipantSection(Section):
    """[[participants]]: who takes part, and where its samples are."""

    name: str = Field(min_length=1, max_length=80, description="Name of the participant")
    file: FilePath | None = Field(
        default=None,
        description="Its samples: .csv, .parquet, .xlsx, .sav, .dta, .sas7bdat or .npz; a path "
        "relative to this file",
    )
    data: NamedPath | None = Field(
        default=None,
        pattern=r"^(duckdb:[^?]+|[A-Za-z][\w+]*://[^?]*(\?[^?]*)?)[?&]query=",
        description="Instead of a file, a query: duckdb:FILE?query=SELECT ..., or the URL of a "
        "database that SQLAlchemy knows with ?query=SELECT ... behind",
        json_schema_extra={"expected": 'text such as "duckdb:clinic.db?query=SELECT ..."'},
    )
    test_file: FilePath | None = Field(
        default=None,
        description="Samples to test on; otherwise a part of `file` is held out",
    )
    teacher: NamedPath | None = Field(
        default=None,
        min_length=1,
        description="What answers peers instead of a fit: forest, boosting or gaussian process, "
        "fitted to own samples; or a model of its own, .onnx or .safetensors, relative to this "
        "file. Of transfer only",
    )
    columns: Annotated[tuple[OwnColumn, ...], Field(strict=False)] | None = Field(
        default=None,
        description="Rules of columns that others need not have: for its own model, and nothing of "
        "them leaves. Of transfer only",
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        refuse_repeats("columns", [rule.name for rule in self.columns or ()])
        if self.columns and not self.is_table:
            raise contradiction(
                "columns",
                "arrays have no columns with names",
                found=str(self.file),
                expected="a table, or no such section",
            )
        if (self.file is None) == (self.data is None):
            raise contradiction(
                "file",
                "a participant brings one table: a file, or the query of a database",
                found="nothing" if self.file is None else "both",
                expected="file or data",
            )
        if self.file is not None and self.file == self.test_file:
            raise contradiction(
                "test_file",
                "a model is tested on the patients that it was trained on",
                found=str(self.test_file),
                expected="another file, or no such key: a part is then held out",
            )
        return self

    @property
    def source(self) -> Path | str:
        """The file, or the query."""
        return self.data or self.file or Path()

    @property
    def is_table(self) -> bool:
        """Whether it has columns with names, rather than arrays."""
        return self.file is None or self.file.suffix != ".npz"

    @property
    def asks_server(self) -> bool:
        """Whether its table is a query that a server answers."""
        return self.data is not None and not self.data.startswith(_DUCKDB)

    def in_folder(self, folder: Path) -> ParticipantSection:
        """The same with absolute paths; a path in here is relative to that folder."""
        test = None if self.test_file is None else folder / self.test_file
        data = self.data
        if data is not None and data.startswith(_DUCKDB):
            path, rest = data.removeprefix(_DUCKDB).split("?", 1)
            data = f"{_DUCKDB}{folder / path}?{rest}"
        file = None if self.file is None else folder / self.file
        teacher = absolute_teacher(self.teacher, folder)
        changed = {"file": file, "data": data, "test_file": test, "teacher": teacher}
        return self.model_copy(update=changed)


class TableSection(Section):
    """[table]: the agreed rules that turn a table into features and labels."""

    label: str | None = Field(
        default=None, description="Column to predict; needed for .csv and .parquet"
    )
    classes: Annotated[tuple[Codes, ...], Field(strict=False)] = Field(
        default=(),
        description="Codes of the label, one class each; a list of codes shares a class. "
        "Without it: the codes that occur",
    )
    outcome: Annotated[str, Named(OUTCOMES)] | None = Field(
        default=None,
        description="What the label is where it is no class: a number, a count of events, or the "
        "time to an event. Without it: classes",
    )
    event: str | None = Field(
        default=None,
        description="Of a time to an event: the column that says whether it came (1) or was not "
        "seen (0)",
    )
    exposure: str | None = Field(
        default=None,
        description="Of a count: the column of what it was counted over, such as years. Without "
        "it: the same for everybody",
    )
    label_range: Annotated[tuple[float, float], Field(strict=False)] | None = Field(
        default=None,
        description="Of a number: public range in its unit, which penalties and what is sent are "
        "scaled by. Without it: what covers the participants' tables",
        json_schema_extra={"expected": "two numbers, the smaller first"},
    )
    positive: Code | None = Field(
        default=None,
        description="Of two classes the one that must not be missed, by one of its codes: "
        "sensitivity is of it. Without it: the last one",
    )
    class_names: Annotated[tuple[str, ...], Field(strict=False)] = Field(
        default=(),
        description="What people read for each of `classes`, in their order, such as "
        '["no heart disease", "heart disease"]. Without it: the codes',
    )
    patient_column: str | None = Field(
        default=None,
        min_length=1,
        description="Column that names the patient of each row: all rows of one are for training, "
        "or all for testing, and errors are over patients. It is no feature. Without it every row "
        "is a patient",
    )
    missing: Codes = Field(default=defaults.MISSING, description="Codes of a missing value")
    fill: bool = Field(
        default=False,
        description="Missing values become what the patient's other columns make likely, by the "
        "own training patients, beside the feature that says so; otherwise 0",
    )
    spellings: Literal["exact", "joined"] = Field(
        default=defaults.SPELLINGS,
        description="Whether codes that differ in case or white space only, such as Yes and YES, "
        "are one code",
    )
    same_unit: Annotated[tuple[str, ...], Field(strict=False)] = Field(
        default=(),
        description="Columns that are in one unit at all hospitals, though their values differ as "
        "two units do, such as mg/dl and mmol/l: others stop a run",
        json_schema_extra={"expected": "a list of names of columns"},
    )
    origin: Literal["public", "participants"] = Field(
        default="public",
        description="Where ranges and levels come from: general knowledge, or what occurs in the "
        "participants' tables, which tells everyone something of them",
    )
    columns: Annotated[tuple[AnyColumn, ...], Field(strict=False)] = Field(
        default=(),
        description="The features; other columns are not used. Without any: inferred, and shown",
    )

    later: ClassVar[frozenset[str]] = frozenset(
        {"outcome", "event", "exposure", "label_range", "patient_column", "same_unit", "fill"}
    )
    """See `Section.later`."""

    @property
    def beside(self) -> dict[str, str]:
        """Columns that are read beside the label, by the key that names each."""
        found = {"event": self.event, "exposure": self.exposure}
        return {key: name for key, name in found.items() if name is not None}

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """Codes of the classes in the order of their labels: the positive one last."""
        return tuple(sorted(self.classes, key=lambda codes: self.positive in codes))

    @property
    def names(self) -> tuple[str, ...]:
        """Of the classes in the order of their labels; empty where nobody named them."""
        order = sorted(
            zip(self.classes, self.class_names, strict=False),
            key=lambda one: self.positive in one[0],
        )
        return tuple(name for _, name in order)

    def in_folder(self, folder: Path) -> TableSection:
        """The same with absolute paths; a path in here is relative to that folder."""
        columns = tuple(
            one.model_copy(update={"weights": folder / one.weights})
            if isinstance(one, ImageColumn) and one.weights is not None
            else one
            for one in self.columns
        )
        return self.model_copy(update={"columns": columns})

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.class_names and len(set(self.class_names)) != len(self.classes):
            raise contradiction(
                "class_names",
                "every class needs a name of its own",
                found=list(self.class_names),
                expected=f"{len(self.classes)} different names, one for each of table.classes",
            )
        names = [column.name for column in self.columns]
        refuse_repeats("columns", names)
        if self.patient_column in {
            self.label,
            *self.beside.values(),
            *(column.name for column in self.columns if column.kind != "ignored"),
        } - {None}:
            raise contradiction(
                "patient_column",
                "the name of a patient is a feature or the label",
                found=self.patient_column,
                expected="a column of its own",
            )
        for name in (self.label, *self.beside.values()):
            if name in names:
                raise contradiction(
                    "columns",
                    "the label is among the features",
                    found=name,
                    expected="features other than the label",
                )
        if self.label_range is not None and self.label_range[0] >= self.label_range[1]:
            raise contradiction(
                "label_range",
                "not a range",
                found=list(self.label_range),
                expected="two numbers, the smaller first",
            )
        if self.outcome is None and (self.beside or self.label_range):
            key = next(iter(self.beside), "label_range")
            raise contradiction(
                key,
                "classes have no such key",
                found=self.beside.get(key, self.label_range),
                expected="table.outcome, or no such key",
            )
        of_classes = (("classes", self.classes), ("positive", self.positive))
        for key, given in of_classes:
            if self.outcome is not None and given:
                raise contradiction(
                    key,
                    "this outcome has no classes",
                    found=f'table.outcome = "{self.outcome}"',
                    expected="no such key",
                )
        if names and all(column.kind == "ignored" for column in self.columns):
            raise contradiction(
                "columns", "no column is a feature", found=names, expected="one or more features"
            )
        for at, column in enumerate(self.columns):
            if isinstance(column, ImageColumn) and (column.architecture == LITE0) != (
                column.weights is None
            ):
                raise contradiction(
                    f"columns[{at}].weights",
                    "the weights of efficientnet_lite0 are installed, all others come as a file",
                    found=str(column.weights) if column.weights else "nothing",
                    expected="no such key" if column.weights else "the path of a .safetensors file",
                )
        if len(self.classes) == 1:
            raise contradiction(
                "classes",
                "there is nothing to tell apart",
                found=[list(codes) for codes in self.classes],
                expected="two or more classes",
            )
        codes = [code for group in self.classes for code in group]
        refuse_repeats("classes", codes)
        if self.positive is not None and codes and self.positive not in codes:
            raise contradiction(
                "positive", "no class has this code", found=self.positive, expected=", ".join(codes)
            )
        if self.positive is not None and len(self.classes) > 2:
            raise contradiction(
                "positive",
                "sensitivity is of one class where there are two, and a mean where there are more",
                found=f"{len(self.classes)} classes",
                expected="two classes, or no such key",
            )
        return self
