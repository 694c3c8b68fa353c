"""[distillation] and [fairness]: VPDL and CYCle."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from securefair.config import defaults
from securefair.config.base import Section, contradiction, refuse_repeats
from securefair.config.registers import RELEASES, Named


class DistillationSection(Section):
    """[distillation]: what a teacher lets out, and how strongly a student follows it."""

    release: Annotated[str, Named(RELEASES)] = Field(
        default=defaults.RELEASE,
        description="What leaves the encryption for the student; loss and class_sums only monitor",
    )
    basis: Literal["public", "student"] = Field(
        default=defaults.BASIS,
        description="Who chooses the weighted sums of a projection: a public seed or the student",
    )
    q: int = Field(
        default=defaults.Q,
        ge=1,
        le=16_384,
        description="Numbers per class and answer of a projection",
    )
    temperature: float = Field(
        default=defaults.TEMPERATURE, gt=0, description="Softens both sides' predictions"
    )
    prevalence: Literal["own", "teacher"] = Field(
        default=defaults.PREVALENCE,
        description="Whose class frequencies a student learns: its own, or its teachers', as the "
        "papers have it (only with roles apart or [privacy])",
    )
    lambda_0: float = Field(
        default=defaults.LAMBDA_0, ge=0, description="Weight of the distillation loss"
    )
    roles: Literal["both", "apart"] = Field(
        default="both",
        description="apart: `teachers` only teach and all others only learn, so that nothing that "
        "was opened flows back (vpdl only)",
    )
    teachers: Annotated[tuple[str, ...], Field(strict=False)] = Field(
        default=(), description="Names of those who only teach, with roles apart"
    )
    sample_clip: float = Field(
        default=defaults.SAMPLE_CLIP,
        gt=0,
        description="Largest logit, from the mean of its sample's logits, that a student learns "
        "from; answers beyond are cut",
    )
    answer_clip: float = Field(
        default=defaults.ANSWER_CLIP,
        gt=0,
        description="Largest root mean square of an answer's logits that a student learns from",
    )

    @model_validator(mode="after")
    def _check_roles(self) -> Self:
        refuse_repeats("teachers", self.teachers)
        if (self.roles == "apart") != bool(self.teachers):
            raise contradiction(
                "teachers",
                "roles apart need names of teachers, and only they do",
                found=list(self.teachers),
                expected='names, with roles = "apart"',
            )
        return self


class FairnessSection(Section):
    """[fairness]: how a participant's reputation of a peer is formed and used (CYCle)."""

    alpha: float = Field(
        default=defaults.ALPHA,
        ge=0,
        lt=1,
        description="How much of the old reputation survives an update",
    )
    tau_opt: float = Field(
        default=defaults.TAU_OPT,
        ge=0,
        le=1,
        description="Misalignment up to which reputation is full",
    )
    tau_max: float = Field(
        default=defaults.TAU_MAX,
        ge=0,
        le=1,
        description="Misalignment from which reputation is zero",
    )
    forced_every: int = Field(
        default=defaults.FORCED_EVERY,
        ge=1,
        description="Every so many rounds all peers answer and reputations are updated",
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.tau_opt >= self.tau_max:
            raise contradiction(
                "tau_opt",
                "reputation must fall from tau_opt to tau_max",
                found=self.tau_opt,
                expected=f"less than tau_max = {self.tau_max}",
            )
        return self
