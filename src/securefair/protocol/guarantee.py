"""What a participant promises to the patients behind its answers."""

from __future__ import annotations

from typing import Annotated

import msgspec

from securefair.protocol.value import Value


class StatedGuarantee(Value, frozen=True, array_like=True, forbid_unknown_fields=True):
    """(epsilon, delta) differential privacy of everything that the sender answers.

    It is the sender's word: nobody else can check it, and it protects the sender's own patients.
    """

    epsilon: Annotated[float, msgspec.Meta(ge=0, le=1e6)]
    delta: Annotated[float, msgspec.Meta(ge=0, lt=1)]

    def covers(self, required: StatedGuarantee) -> bool:
        """Whether it promises at least as much."""
        return self.epsilon <= required.epsilon and self.delta <= required.delta
