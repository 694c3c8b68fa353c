"""How people read of algorithms and of what they are compared with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Wording:
    """How people read of an algorithm.

    Attributes:
        title: such as "CYCle".
        rule: who learns from whom, in a few words.
        reputations: whether participants form reputations of each other.
        averages: whether models are averaged: reputations are then weights.
        steps: what is done, one paragraph each, where it is not distillation in rounds; the nouns
            `{participant}`, `{participants}` (with their number) and `{samples}` are filled in.
        messages: what its messages are, by type, where the usual names would mislead.
    """

    title: str
    rule: str
    reputations: bool = False
    averages: bool = False
    steps: tuple[str, ...] = ()
    messages: Mapping[str, str] = field(default_factory=dict)


CONTROL_WORDINGS: Mapping[str, Wording] = {
    "standalone": Wording("Alone", "no collaboration, tuned by cross-validation on own samples"),
    "early_stopping": Wording("Stopped early", "no collaboration, trained until validation says"),
    "averaged_alone": Wording("Averaged alone", "own fits averaged as in transfer, without peers"),
    "most_common": Wording("Most common answer", "the class frequencies, for everyone alike"),
}
"""Of `collaboration.controls`, by name."""

CEILING_WORDING = Wording("Pooled data", "one fit on everybody's samples, as if these could move")
"""What no collaboration that keeps data apart can be expected to pass by much."""
