"""The section about differential privacy."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from securefair.config import defaults
from securefair.config.base import Section, contradiction
from securefair.config.columns import FilePath


class PrivacySection(Section):
    """[privacy]: differential privacy for the patients behind the models that answer."""

    epsilon: float = Field(
        gt=0,
        le=64,
        description="Most that the answers may tell of any one patient: every conclusion is at "
        "most e^epsilon times as likely with the patient as without",
    )
    delta: float | None = Field(
        default=None,
        gt=0,
        lt=1,
        description="Probability that more is told; at most 1 / patients of every hospital. "
        "Without it: the largest power of ten below a tenth of that",
    )
    unit: Literal["patient"] = Field(
        default=defaults.UNIT, description="Who is protected: a patient with all of its rows"
    )
    rows_per_patient: int = Field(
        default=1,
        ge=1,
        le=1000,
        description="Most rows of one patient that a fit uses, drawn at random; more need more "
        "noise",
    )
    require_epsilon: float | None = Field(
        default=None,
        gt=0,
        description="Ask only teachers that state this epsilon or a smaller one",
    )
    require_delta: float | None = Field(
        default=None, gt=0, lt=1, description="and this delta or a smaller one"
    )
    asked_epsilon: float | None = Field(
        default=None,
        gt=0,
        le=64,
        description="Most that a hospital's alignments with its peers may tell of any one patient "
        "that it asked about (cycle with logits), on top of epsilon, at the same delta. Without it "
        "alignments are not private, and the report says so",
    )
    store: FilePath | None = Field(
        default=None,
        description="Folder that keeps what was spent, and the private models, over all runs. "
        "The noise then comes from the operating system; without it a run is a simulation, and "
        "its seed repeats the noise",
    )
    total_epsilon: float | None = Field(
        default=None,
        gt=0,
        description="Most that all runs together may spend on a hospital's patients, on fits and "
        "alignments (with a store); without it: epsilon and asked_epsilon",
    )
    total_delta: float | None = Field(
        default=None,
        gt=0,
        lt=1,
        description="and their delta, at most 1 / patients; without it: delta, once more for "
        "alignments",
    )

    @property
    def required(self) -> tuple[float, float] | None:
        """(epsilon, delta) that a teacher must state to be asked; None: nothing."""
        if self.require_epsilon is None or self.require_delta is None:
            return None
        return self.require_epsilon, self.require_delta

    @model_validator(mode="after")
    def _check(self) -> Self:
        for key in ("total_epsilon", "total_delta"):
            if getattr(self, key) is not None and self.store is None:
                raise contradiction(
                    key,
                    "nothing is kept between runs without a store",
                    found=getattr(self, key),
                    expected="a folder as privacy.store",
                )
        for one in ("require", "total"):
            epsilon, delta = f"{one}_epsilon", f"{one}_delta"
            if (getattr(self, epsilon) is None) != (getattr(self, delta) is None):
                raise contradiction(
                    epsilon,
                    "epsilon and delta make a guarantee together",
                    found="one of them",
                    expected=f"both {epsilon} and {delta}, or neither",
                )
        return self
