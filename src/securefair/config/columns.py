"""[[table.columns]]: the public rules by which columns of a table become features.

A rule stands here once: as a part of a configuration, of a project that all sign, and of a model's
record; `data.encoding` applies it.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field, JsonValue, model_validator
from pydantic_core import PydanticCustomError

from securefair.config import defaults
from securefair.config.base import Section, contradiction

T = TypeVar("T")


def code(text: str, *, joined: bool = False) -> str:
    """One spelling for a code: "3", "3.0" and "03" are the same, "0.5" and ".50" as well. In what
    is no finite number an accent is one with its letter; otherwise it is left alone.

    Args:
        text: as it stands in a table.
        joined: take "Yes", "YES" and " yes " for one as well.
    """
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        text = unicodedata.normalize("NFC", text)  # Macintoshes write accents apart
        return " ".join(text.casefold().split()) if joined else text
    return str(int(value)) if value.is_integer() else repr(value)


def _codes(value: object) -> object:
    """Let a single code stand for a list of one, and a whole number for its text."""
    if isinstance(value, list | tuple):
        return [_text(code) for code in value]
    return [_text(value)]


def _text(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


Code = Annotated[str, BeforeValidator(_text)]
Codes = Annotated[tuple[Code, ...], BeforeValidator(_codes), Field(strict=False, min_length=1)]


def _without_nul(path: T) -> T:
    if "\0" in str(path):
        raise PydanticCustomError("nul_in_path", "no path has a NUL character")
    return path


FilePath = Annotated[Path, Field(strict=False), AfterValidator(_without_nul)]
NamedPath = Annotated[str, AfterValidator(_without_nul)]
"""Text with a path in it, or another name."""

LITE0 = "efficientnet_lite0"
"""The network whose weights are installed."""


def refuse_equal_codes(key: str, codes: Sequence[str]) -> None:
    """Raise a contradiction if two codes are the same, or there are none."""
    if not codes or len({code(one) for one in codes}) < len(codes):
        raise contradiction(
            key, "codes must be there and differ", found=", ".join(codes), expected="other codes"
        )


class _Column(Section):
    name: str = Field(min_length=1, description="Name of the column")


class _Feature(_Column):
    optional: bool = Field(
        default=False,
        description="Values may be missing; adds a feature that says so. Otherwise it is an error",
    )

    missing: Annotated[tuple[Code, ...], BeforeValidator(_codes), Field(strict=False)] = Field(
        default=(),
        description="Codes of a missing value in this column only, such as -999",
    )


class NumericColumn(_Feature):
    """A measurement: [low, high] becomes [-1, 1], values beyond are clipped; missing is 0.

    A value below or above a limit, such as "<5", counts as the limit. The range is in the column's
    unit, from general knowledge of the quantity.
    """

    kind: Literal["numeric"] = Field(default="numeric", description="What the values are")
    low: float = Field(description="This value and all below become -1; known beforehand")
    high: float = Field(description="This value and all above become 1; known beforehand")

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.low >= self.high:
            raise contradiction(
                "low", "not a range", found=self.low, expected=f"less than high = {self.high}"
            )
        return self


class BinaryColumn(_Feature):
    """Yes or no in a single feature: `no` becomes -1, `yes` 1; missing is 0."""

    kind: Literal["binary"] = Field(default="binary", description="What the values are")
    no: Code = Field(default=defaults.NO, description="The code that becomes -1")
    yes: Code = Field(default=defaults.YES, description="The code that becomes 1")

    @model_validator(mode="after")
    def _check(self) -> Self:
        refuse_equal_codes("yes", (self.no, self.yes))
        return self


class CategoricalColumn(_Feature):
    """One feature `name=level` for each level: 1 for the patient's, 0 for others and missing."""

    kind: Literal["categorical"] = Field(default="categorical", description="What the values are")
    levels: Codes = Field(description="All codes that may occur; one feature each")

    @model_validator(mode="after")
    def _check(self) -> Self:
        refuse_equal_codes("levels", self.levels)
        return self


Colours = Annotated[tuple[float, float, float], Field(strict=False)]
_COLOURS: dict[str, JsonValue] = {"expected": "three numbers: red, green, blue"}


class ImageColumn(_Column):
    """Paths of image files, relative to the table's folder: the features of a frozen network.

    All that decides them is here, and the weights by their hash: who has other weights has other
    rules. A missing image is an error in training.
    """

    optional: ClassVar[bool] = False
    missing: ClassVar[tuple[str, ...]] = ()

    kind: Literal["image"] = Field(default="image", description="What the values are")
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
        if self.architecture == LITE0 and self.model_fields_set & {"mean", "deviation", "limit"}:
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


class IgnoredColumn(_Column):
    """Not a feature."""

    missing: ClassVar[tuple[str, ...]] = ()

    kind: Literal["ignored"] = Field(default="ignored", description="What the values are")


ColumnRule = NumericColumn | BinaryColumn | CategoricalColumn | ImageColumn
"""How one column becomes features."""

OwnColumn = Annotated[NumericColumn | BinaryColumn | CategoricalColumn, Field(discriminator="kind")]
"""How a column becomes features that not everybody has."""

AnyColumn = Annotated[
    ColumnRule | IgnoredColumn,
    Field(discriminator="kind"),
]


def missing_codes(codes: Sequence[str], columns: Sequence[AnyColumn]) -> tuple[str, ...]:
    """Codes of a missing value in any column, and those of single ones; each once."""
    return tuple(dict.fromkeys([*codes, *(one for rule in columns for one in rule.missing)]))
