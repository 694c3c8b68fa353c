"""What a participant goes on with after a recovery, when its store was lost or turned back.

It makes new keys, introductions take place once more, and it knows no reputation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from securefair.protocol.ledger import Account


@dataclass(frozen=True, kw_only=True)
class SavedState:
    """Where a machine begins.

    Attributes:
        round: the last that was finished.
        teacher_version: of that round.
        accounts: of the disclosure ledger, by student.
    """

    round: int
    teacher_version: int
    accounts: Mapping[str, Account] = field(default_factory=dict)
