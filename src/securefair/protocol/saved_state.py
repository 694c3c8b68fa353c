"""What a participant must remember of finished rounds to go on after its process ended.

Keys, uploads and replies are not among it: a participant that starts again makes new keys, and
introductions take place once more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from securefair.protocol.ledger import Account


@dataclass(frozen=True, kw_only=True)
class SavedState:
    """A machine between two rounds.

    Attributes:
        round: the last that was finished.
        teacher_version: of that round.
        reputations: reputation of each peer; None before its first scored answer.
        accounts: of the disclosure ledger, by student.
    """

    round: int
    teacher_version: int
    reputations: Mapping[str, float | None]
    accounts: Mapping[str, Account] = field(default_factory=dict)
