"""A hospital that describes its patients together with others.

It learns nothing: what it opens are two sums. It notes what it is about to tell, in a ledger that
all its projects share, before anything leaves.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from securefair.averaging import Gathering
from securefair.collaboration.described import Described
from securefair.collaboration.host import Stored
from securefair.collaboration.table_one.agreement import TableAgreement
from securefair.collaboration.table_one.question import ROUNDS, CountsExchange
from securefair.collaboration.table_one.rules import layout_of
from securefair.collaboration.table_one.table import table_one
from securefair.collaboration.told import ToldCounts
from securefair.collaboration.transfer.own_fit import OwnFitHost
from securefair.data.dataset import ParticipantData
from securefair.data.places import marks_of
from securefair.protocol.jobs import AnswerAsk, Combine, PrepareAsk, Questions

Array = NDArray[np.float64]

FIRST, SECOND = SUMS = ("cells", "numbers")
"""Names of what is opened, by round."""


class TableHost(OwnFitHost):
    """See `Host`; the arguments are `TransferParticipant`'s."""

    made = "a description"
    agreement: TableAgreement
    _exchange: CountsExchange

    def __init__(self, *args: Any, stored: Stored | None = None, **settings: Any) -> None:
        self._ledger = None if stored is None else stored.told
        super().__init__(*args, stored=stored, **settings)

    def begin(self, round: int) -> None:
        """See `Host`.

        Raises:
            LedgerError: it told something else before, and nothing may leave.
        """
        if self._ledger is not None and round < ROUNDS:
            self._ledger.note(self.telling)
        super().begin(round)

    @property
    def telling(self) -> ToldCounts:
        """What others get to know of its patients."""
        allowed = self._exchange.allowed
        layout = "" if allowed is None else layout_of(allowed).hex()
        return telling_of(self.agreement, self.data, layout)

    def added(self, round: int) -> Array:
        """What it adds in a round, in the clear."""
        return self._exchange.numbers(round)

    def description(self, pieces: Mapping[str, bytes] | None = None) -> Described | None:
        """See `Host`."""
        opened, _ = self._opened_before(pieces)
        if set(opened) != set(SUMS):
            return None
        exchange, counted = self._exchange, self.agreement.counted
        allowed = exchange.decide(opened[FIRST])
        strata = counted.classes and not self.agreement.outcome.tells_classes
        return table_one(
            self.name,
            counted.variables,
            allowed,
            exchange.own,
            hospitals=self.agreement.hospitals,
            own_patients=exchange.patients,
            patients=round(float(exchange.total(0, opened[FIRST])[0])),
            first_rows=self.data.train.patients is not None,
            total=exchange.total(1, opened[SECOND]),
            strata_of=counted.label if strata else "",
            numbers=ROUNDS * self.agreement.numbers_a_round,
            bits=8 * self.agreement.question.plan.fixed.word_bytes,
        )

    def _ask(self, job: PrepareAsk) -> Questions:
        """Nothing is asked of a round that needs what was not opened."""
        if job.round >= ROUNDS or (job.round and self._exchange.allowed is None):
            return Questions({})
        self._request = self._exchange.asking(job.round)
        return Questions(dict.fromkeys(job.teachers, self._request))

    def _masked_answer(self, job: AnswerAsk, gathering: Gathering) -> bytes:
        """See `TransferParticipant`; which cells are told is noted before a count leaves."""
        if job.round and self._ledger is not None:
            self._ledger.note(self.telling)
        return super()._masked_answer(job, gathering)

    def _combine(self, job: Combine) -> None:
        opened = self._opened(job)
        self.agreement.question.check_sum(job.round, opened, job.senders)
        if job.round == 0:
            self._exchange.decide(opened)
        self.notes.released = {**self.notes.released, SUMS[job.round]: opened}
        self.notes.senders = job.senders

    def _bound_to(self, round: int) -> bytes:
        """See `TransferParticipant`: of hospitals that decided otherwise, sums do not open."""
        allowed = self._exchange.allowed
        if round == 0 or allowed is None:
            return self.agreement.digest
        return hashlib.sha256(self.agreement.digest + layout_of(allowed)).digest()

    def _restore(self, pieces: Mapping[str, bytes]) -> None:
        super()._restore(pieces)
        if FIRST in self.notes.released:
            self._exchange.decide(self.notes.released[FIRST])


def telling_of(agreement: TableAgreement, data: ParticipantData, layout: str = "") -> ToldCounts:
    """What others get to know of a hospital's patients, in whatever order these stand.

    Args:
        agreement: what was agreed.
        data: of the hospital.
        layout: digest of which cells are told, once it is known.
    """
    marks = sorted(marks_of(agreement.patients_of(data), b""))
    hospitals = msgspec.json.encode(sorted(agreement.participants))
    return ToldCounts(
        rules=agreement.content,
        patients=hashlib.sha256(b"".join(marks)).hexdigest(),
        hospitals=hashlib.sha256(hospitals).hexdigest(),
        layout=layout,
        numbers=ROUNDS * agreement.numbers_a_round,
    )
