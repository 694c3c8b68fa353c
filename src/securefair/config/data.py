"""[data]: whose samples, and what is held out."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from securefair.config import defaults
from securefair.config.base import Ratio, Section, contradiction
from securefair.config.columns import FilePath
from securefair.config.partition import Partition

NATURAL_SOURCES = ("heart",)  # data sets whose rows already belong to hospitals
CODE_SOURCES = ("python", "flamby")  # data that a user's own code loads
OWN_SOURCES = ("files", *CODE_SOURCES)


class DataSection(Section):
    """[data]: whose samples, and what is held out."""

    source: Literal["heart", "breast-cancer", "digits", "files", "python", "flamby"] = Field(
        description="Packaged data set, or your own: files ([[participants]]), a function of yours "
        "(python), or a data set class with centres (flamby)"
    )
    test_fraction: Ratio = Field(
        default=defaults.TEST_FRACTION,
        gt=0,
        lt=1,
        description='Share of each participant\'s samples held out for testing; "1/3" is allowed',
    )
    most_training: int | None = Field(
        default=None,
        ge=2,
        description="Most training samples that a participant keeps, drawn by the seed; test "
        "samples stay",
    )
    entry: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$",
        description="Your function or class, as module:name (python and flamby only)",
        json_schema_extra={"expected": 'text such as "my_module:load"'},
    )
    module_folder: FilePath | None = Field(
        default=None,
        description="Where the module of `entry` is looked for first; the folder of this file",
    )
    centers: int | None = Field(
        default=None,
        ge=2,
        le=1000,
        description="Number of centres (flamby only); otherwise NUM_CLIENTS of its module",
    )
    feature_range: Annotated[tuple[float, float], Field(strict=False)] | None = Field(
        default=None,
        description="Public range of features that come as arrays; becomes [-1, 1], values beyond "
        "are clipped. Without it they must lie in [-1, 1]",
        json_schema_extra={"expected": "two numbers, the smaller first"},
    )
    partition: Partition | None = Field(
        default=None, description="How to divide a data set that has no hospitals of its own"
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        own = self.source in OWN_SOURCES  # somebody brought it, rather than this package
        natural = self.source in NATURAL_SOURCES or own
        if natural and self.partition is not None:
            raise contradiction(
                "partition",
                f"{self.source} already belongs to real hospitals"
                if not own
                else "your own data comes divided",
                found=self.partition.kind,
                expected="no [data.partition] section",
            )
        if not natural and self.partition is None:
            raise contradiction(
                "partition",
                f"{self.source} has no hospitals of its own",
                found="nothing",
                expected="a [data.partition] section with kind and participants",
            )
        by_code = self.source in CODE_SOURCES
        for key, value, allowed in (
            ("entry", self.entry, by_code),
            ("module_folder", self.module_folder, by_code),
            ("centers", self.centers, self.source == "flamby"),
            ("feature_range", self.feature_range, own),
        ):
            if value is not None and not allowed:
                raise contradiction(
                    key,
                    f"this key means nothing for {self.source}",
                    found=value,
                    expected="no such key",
                )
        if by_code and self.entry is None:
            raise contradiction(
                "entry",
                f"{self.source} needs something to call",
                found="nothing",
                expected='text such as "my_module:load"',
            )
        if self.feature_range is not None and self.feature_range[0] >= self.feature_range[1]:
            raise contradiction(
                "feature_range",
                "not a range",
                found=list(self.feature_range),
                expected="two numbers, the smaller first",
            )
        return self
