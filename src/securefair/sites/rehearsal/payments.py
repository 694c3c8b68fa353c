"""Whether a teacher paid twice: what its ledger counts, by student and by the round of a question.

It is looked at turn by turn, so nothing nets out: an answer that was never given in one round does
not hide a second one in another, and a student that is gone since stays in the count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from securefair.protocol.jobs import AnswerAsk
from securefair.protocol.ledger import Account
from securefair.protocol.turn import Memory


@dataclass(eq=False)
class Payments:
    """Answers, parts of sums of models, and offers of the own model, that ledgers have counted.

    Attributes:
        counted: how often, by teacher, student, round of the question, and what it was for.
    """

    counted: Counter[tuple[str, str, int, str]] = field(default_factory=Counter)

    def see(self, teacher: str, before: Memory, after: Memory) -> None:
        """Take note of one turn of a teacher, by its memory before and after."""
        for student, account in after.ledger.accounts.items():
            known = before.ledger.accounts.get(student, Account(0))
            if account.total > known.total:
                for number in _answering(student, before, after):
                    self.counted[teacher, student, number, "answer"] += 1
            if account.sums > known.sums:
                asked = set(after.peers[student].serving) - set(before.peers[student].serving)
                for number in (number for number, summed in asked if summed):
                    self.counted[teacher, student, number, "sum"] += account.sums - known.sums
            if account.offers > known.offers:
                more = account.offers - known.offers
                self.counted[teacher, student, after.round, "offer"] += more

    @property
    def twice(self) -> int:
        """What was counted again for the same student, round and purpose."""
        return sum(count - 1 for count in self.counted.values())


def _answering(student: str, before: Memory, after: Memory) -> Iterator[int]:
    """Rounds of the answers to a student that a turn began, or computed."""
    now, earlier = after.running, before.running
    changed = [job for key, job in now.items() if key not in earlier]
    changed += [job for key, job in earlier.items() if key not in now]
    for job in changed:
        if isinstance(job, AnswerAsk) and job.peer == student:
            yield job.round
