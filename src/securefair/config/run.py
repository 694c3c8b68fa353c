"""[run] and [report]: what to compute, and what is written."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from securefair.config.base import Section, contradiction, refuse_repeats
from securefair.config.columns import FilePath

AlgorithmName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,39}$")]
"""What `collaboration.kinds` knows; controls beside "standalone" come by themselves."""

DEFAULT_ALGORITHMS = ("standalone", "transfer")


class RunSection(Section):
    """[run]: what to compute and where to put it."""

    name: str = Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$",
        description="Name of the run and of its folder",
        json_schema_extra={
            "expected": "up to 64 letters A to Z, digits, dots, dashes and underscores, "
            "starting with a letter or a digit"
        },
    )
    seeds: Annotated[tuple[Annotated[int, Field(ge=0, le=2**32 - 1)], ...], Field(strict=False)] = (
        Field(
            default=(0,),
            min_length=1,
            description="One complete repetition per seed; results are means over them",
        )
    )
    algorithms: Annotated[tuple[AlgorithmName, ...], Field(strict=False)] = Field(
        default=DEFAULT_ALGORITHMS,
        min_length=1,
        description="What to compare; gains are measured against standalone, which must be there",
    )
    metric: str | None = Field(
        default=None,
        description="Score that algorithms are compared by; all are written. Without it: what the "
        "outcome is judged by, such as log_loss of classes and concordance of times",
        json_schema_extra={
            "expected": "a score of the outcome, such as auc, r2, deviance or integrated_brier"
        },
    )
    ceiling: bool = Field(
        default=False,
        description="Train on everybody's samples together as well, for samples that may be pooled "
        "in an experiment: shows how much there is to gain",
    )
    smaller: int | None = Field(
        default=None,
        ge=2,
        description="Run the last algorithm and all controls once more with at most so many "
        "training samples a participant, in the same report: what small participants gain",
    )
    out: FilePath | None = Field(
        default=None,
        description="Folder that receives the run's own folder; seen from where the program starts",
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        refuse_repeats("seeds", self.seeds)
        refuse_repeats("algorithms", self.algorithms)
        if "standalone" not in self.algorithms:
            raise contradiction(
                "algorithms",
                "a gain needs something to compare with",
                found=list(self.algorithms),
                expected='a list that contains "standalone"',
            )
        return self

    @property
    def main(self) -> AlgorithmName:
        """The algorithm that the run is about: the last in which participants learn together."""
        return self.collaborative[-1] if self.collaborative else "standalone"

    @property
    def collaborative(self) -> tuple[AlgorithmName, ...]:
        """The algorithms in which participants learn from each other, in the order given."""
        return tuple(name for name in self.algorithms if name != "standalone")


class ReportSection(Section):
    """[report]: what is written besides the records."""

    html: bool = Field(default=True, description="Write report.html, one self-contained page")
    title: str | None = Field(
        default=None, max_length=120, description="Heading of the report, else the run's name"
    )
