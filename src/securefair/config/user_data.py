"""Sections about data that somebody brings: files of each participant, and how to read a table.

The rules of a table are public: they belong to what the participants agreed on, and the same rules
apply to everyone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, JsonValue, model_validator

from securefair.config import defaults
from securefair.config.base import Section, contradiction, refuse_repeats


def _codes(value: object) -> object:
    """Let a single code stand for a list of one, and a whole number for its text."""
    if isinstance(value, list | tuple):
        return [_text(code) for code in value]
    return [_text(value)]


def _text(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


Code = Annotated[str, BeforeValidator(_text)]
Codes = Annotated[tuple[Code, ...], BeforeValidator(_codes), Field(strict=False, min_length=1)]
_DUCKDB = "duckdb:"
FilePath = Annotated[Path, Field(strict=False)]


class ParticipantSection(Section):
    """[[participants]]: who takes part, and where its samples are."""

    name: str = Field(min_length=1, max_length=80, description="Name of the participant")
    file: FilePath | None = Field(
        default=None,
        description="Its samples: .csv, .parquet, .xlsx or .npz; a path relative to this file",
    )
    data: str | None = Field(
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

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.file is None) == (self.data is None):
            raise contradiction(
                "file",
                "a participant brings one table: a file, or the query of a database",
                found="nothing" if self.file is None else "both",
                expected="file or data",
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

    def in_folder(self, folder: Path) -> ParticipantSection:
        """The same with absolute paths; a path in here is relative to that folder."""
        test = None if self.test_file is None else folder / self.test_file
        data = self.data
        if data is not None and data.startswith(_DUCKDB):
            path, rest = data.removeprefix(_DUCKDB).split("?", 1)
            data = f"{_DUCKDB}{folder / path}?{rest}"
        file = None if self.file is None else folder / self.file
        return self.model_copy(update={"file": file, "data": data, "test_file": test})


class _ColumnSection(Section):
    name: str = Field(min_length=1, description="Name of the column")


class _FeatureSection(_ColumnSection):
    optional: bool = Field(
        default=False,
        description="Values may be missing; adds a feature that says so. Otherwise it is an error",
    )

    missing: Annotated[tuple[Code, ...], BeforeValidator(_codes), Field(strict=False)] = Field(
        default=(),
        description="Codes of a missing value in this column only, such as -999",
    )


class NumericColumn(_FeatureSection):
    """A measurement."""

    kind: Literal["numeric"] = Field(description="What the values are")
    low: float = Field(description="This value and all below become -1; known beforehand")
    high: float = Field(description="This value and all above become 1; known beforehand")

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.low >= self.high:
            raise contradiction(
                "low", "not a range", found=self.low, expected=f"less than high = {self.high}"
            )
        return self


class BinaryColumn(_FeatureSection):
    """Yes or no."""

    kind: Literal["binary"] = Field(description="What the values are")
    no: Code = Field(default=defaults.NO, description="The code that becomes -1")
    yes: Code = Field(default=defaults.YES, description="The code that becomes 1")


class CategoricalColumn(_FeatureSection):
    """One of several."""

    kind: Literal["categorical"] = Field(description="What the values are")
    levels: Codes = Field(description="All codes that may occur; one feature each")


Colours = Annotated[tuple[float, float, float], Field(strict=False)]
_COLOURS: dict[str, JsonValue] = {"expected": "three numbers: red, green, blue"}


class ImageColumn(_ColumnSection):
    """Paths of images, which a frozen network turns into features."""

    kind: Literal["image"] = Field(description="What the values are")
    architecture: Literal[
        "efficientnet_lite0",
        "resnet18",
        "resnet34",
        "resnet50",
        "mobilenet_v2",
        "mobilenet_v3_small",
        "mobilenet_v3_large",
        "efficientnet_b0",
        "efficientnet_b1",
        "densenet121",
        "convnext_tiny",
        "shufflenet_v2_x1_0",
        "vit_b_16",
        "swin_t",
    ] = Field(
        description="The network without its last layer: EfficientNet-Lite0, or as torchvision "
        "names it"
    )
    weights: FilePath | None = Field(
        default=None,
        description="Its weights, a .safetensors file; a path relative to this file, at a site "
        "relative to its table. Not for efficientnet_lite0, whose weights are installed",
    )
    sha256: str = Field(
        pattern=r"^[0-9a-f]{64}$",
        description="SHA-256 of that file: everybody has the same weights, others are refused",
        json_schema_extra={"expected": "64 hexadecimal digits"},
    )
    features: int = Field(
        ge=1,
        description="As many as the network has, or fewer: the directions in which its own last "
        "layer weighs them most",
    )
    side: int = Field(
        default=defaults.IMAGE_SIDE,
        ge=16,
        le=1024,
        description="Pixels a side that its middle square is scaled to",
    )
    mean: Colours = Field(
        default=defaults.IMAGE_MEAN,
        description="Of the colours, 0 to 1, as the network was trained",
        json_schema_extra=_COLOURS,
    )
    deviation: Colours = Field(
        default=defaults.IMAGE_DEVIATION,
        description="Of the colours, as the network was trained",
        json_schema_extra=_COLOURS,
    )
    limit: float = Field(
        default=defaults.IMAGE_LIMIT,
        gt=0,
        description="A feature of this size becomes 1, and larger ones as well",
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.architecture == "efficientnet_lite0") != (self.weights is None):
            raise contradiction(
                "weights",
                "the weights of efficientnet_lite0 are installed, all others come as a file",
                found=str(self.weights) if self.weights else "nothing",
                expected="no such key" if self.weights else "the path of a .safetensors file",
            )
        if self.weights is None and self.model_fields_set & {"mean", "deviation", "limit"}:
            given = {"mean": self.mean, "deviation": self.deviation, "limit": self.limit}
            usual = type(self).model_fields
            for key, value in given.items():
                if value != usual[key].default:
                    raise contradiction(
                        key,
                        "efficientnet_lite0 has constants of its own",
                        found=value,
                        expected="no such key",
                    )
        if min(self.deviation) <= 0:
            raise contradiction(
                "deviation",
                "colours are divided by it",
                found=list(self.deviation),
                expected="three numbers above 0",
            )
        return self


class IgnoredColumn(_ColumnSection):
    """Not a feature."""

    kind: Literal["ignored"] = Field(description="What the values are")


ColumnSection = Annotated[
    NumericColumn | BinaryColumn | CategoricalColumn | ImageColumn | IgnoredColumn,
    Field(discriminator="kind"),
]


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
    positive: Code | None = Field(
        default=None,
        description="Of two classes the one that must not be missed, by one of its codes: "
        "sensitivity is of it. Without it: the last one",
    )
    missing: Codes = Field(default=defaults.MISSING, description="Codes of a missing value")
    spellings: Literal["exact", "joined"] = Field(
        default=defaults.SPELLINGS,
        description="Whether codes that differ in case or white space only, such as Yes and YES, "
        "are one code",
    )
    origin: Literal["public", "participants"] = Field(
        default="public",
        description="Where ranges and levels come from: general knowledge, or what occurs in the "
        "participants' tables, which tells everyone something of them",
    )
    columns: Annotated[tuple[ColumnSection, ...], Field(strict=False)] = Field(
        default=(),
        description="The features; other columns are not used. Without any: inferred, and shown",
    )

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """Codes of the classes in the order of their labels: the positive one last."""
        return tuple(sorted(self.classes, key=lambda codes: self.positive in codes))

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
        names = [column.name for column in self.columns]
        refuse_repeats("columns", names)
        if self.label in names:
            raise contradiction(
                "columns",
                "the label is among the features",
                found=self.label,
                expected="features other than the label",
            )
        if names and all(column.kind == "ignored" for column in self.columns):
            raise contradiction(
                "columns", "no column is a feature", found=names, expected="one or more features"
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
