"""[table_one]: who the patients of all hospitals are."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from securefair.config import defaults
from securefair.config.base import Section, contradiction


class TableOneSection(Section):
    """[table_one]: counts of all hospitals together, where none tells a single patient."""

    hospitals: int = Field(
        default=0,
        ge=0,
        le=1000,
        description="Hospitals that must have three patients or more in a cell for it to be told, "
        "at least 3; 0: all. With fewer than all it rests on everybody's honest word",
    )

    @model_validator(mode="after")
    def _check_hospitals(self) -> Self:
        if 0 < self.hospitals < defaults.FEWEST_DESCRIBED:
            raise contradiction(
                "hospitals",
                "a cell of so few hospitals would tell of one",
                found=self.hospitals,
                expected=f"{defaults.FEWEST_DESCRIBED} or more, or 0: all that take part",
            )
        return self
