"""[gossip]: averages of models (CYCle on Gossip-SGD)."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from securefair.config import defaults
from securefair.config.base import Ratio, Section, contradiction
from securefair.config.registers import AVERAGINGS, Named


class GossipSection(Section):
    """[gossip]: averaging models with aligned neighbours (CYCle on Gossip-SGD)."""

    averaging: Annotated[str, Named(AVERAGINGS)] = Field(
        default=defaults.AVERAGING,
        description="How sums of models stay private. For comparison only: crypten, between "
        "processes of one machine; clear, where models are in the OPEN",
    )
    topology: Literal["complete", "ring", "exponential"] = Field(
        default=defaults.TOPOLOGY, description="Who is beside whom, unless edges say it"
    )
    edges: Annotated[
        tuple[Annotated[tuple[str, str], Field(strict=False)], ...], Field(strict=False)
    ] = Field(
        default=(),
        description="Undirected edges between participants' names, instead of a topology",
        json_schema_extra={"expected": 'pairs of names, such as [["a", "b"], ["b", "c"]]'},
    )
    weighting: Literal["uniform", "metropolis"] = Field(
        default=defaults.WEIGHTING, description="Weights before gradients are first compared"
    )
    beta: float = Field(
        default=defaults.BETA,
        ge=0,
        description="Sharpness with which aligned neighbours are preferred",
    )
    levels: int = Field(
        default=defaults.LEVELS,
        ge=2,
        description="Public values that a similarity is rounded to: the weight that a neighbour "
        "is told tells it log2 of that many bits of its own alignment, and nothing of others",
    )
    max_sums: int = Field(
        default=defaults.MAX_SUMS,
        ge=0,
        description="Rounds in which a neighbour is offered the own model at most, then it goes on "
        "alone: many sums tell single models; 0: any number",
    )
    relative: bool = Field(
        default=True,
        description="Share as often as a weight relative to the best neighbour's says; false: as "
        "the paper prints it, with a link about once in so many rounds as there are participants",
    )
    sketch: int = Field(
        default=defaults.SKETCH,
        ge=0,
        le=65_536,
        description="Numbers that stand for a gradient, a power of two; 0: all of its own",
    )
    bound: float = Field(
        default=defaults.BOUND,
        gt=0,
        description="Largest parameter; a run stops where one exceeds it",
    )
    precision: Ratio = Field(
        default=defaults.SUM_PRECISION,
        gt=0,
        le=0.5,
        description="Largest error of an average over the bound",
    )
    min_senders: int = Field(
        default=defaults.MIN_SENDERS,
        ge=defaults.MIN_SENDERS,
        description="Fewest models in a sum: one less than so many others must side with a "
        "receiver that keeps to the weights before it can take a model out; with fewer, the own "
        "model is kept",
    )
    max_share: Ratio | None = Field(
        default=None,
        gt=0,
        lt=1,
        description="Largest part of a sum's weights that one sender may have, best 1 / "
        "min_senders, which is the least: heavier ones are cut; every sender sees all weights and "
        "checks (masked, clear only). A receiver that chooses weights at will needs 1 / max_share "
        "- 1 senders on its side, rounded up; by default none",
    )
    network: str | None = Field(
        default=None,
        description='Another network than the head of [model], such as "mlp-32"; only where all '
        "algorithms average",
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.max_share is None:
            return self
        if self.max_share < 1 / self.min_senders:
            raise contradiction(
                "max_share",
                f"{self.min_senders} models cannot all have so small a share of their sum",
                found=self.max_share,
                expected=f"1/{self.min_senders} (min_senders) or more",
            )
        return self
