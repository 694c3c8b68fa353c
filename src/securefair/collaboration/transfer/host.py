"""A hospital of a transfer, whose process may end: what it must remember, in pieces.

    kept model          what it deploys, and what it thinks of its peers      after the exchange
    kept opened         numbers as they were opened, for `refit`              as they are opened
    request             its question, which every teacher gets alike          once
    share PEER ROUND    its masked answer, closed, and its key                before it leaves
    standing            its fit's version, the first round of shares, if it asks   as it changes
    given               whose answers are in the means that it gave           before a key leaves
    answering           what it answers by                                    before a share leaves
    upload PEER         a peer's key for masks                                after every import

Its own fit is made again from its patients, with the same folds. Where that gives another one, as a
newer version may, it is the next version of the fit: no two sums tell the difference. Secret keys
are in the keystore.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import msgspec
import numpy as np
from numpy.typing import NDArray

from securefair.collaboration.host import KEPT, FittedToAll, stored_imports, stored_shares
from securefair.collaboration.private import anew_private
from securefair.collaboration.state import decode_state, encode_state
from securefair.collaboration.transfer.given import Given
from securefair.collaboration.transfer.notes import MEAN, TransferNotes
from securefair.collaboration.transfer.participant import (
    LEDGER,
    REQUEST,
    TransferParticipant,
)
from securefair.collaboration.transfer.renewal import fitted
from securefair.data.dataset import ParticipantData
from securefair.errors import ConfigError, DataError
from securefair.model.seeds import derive_seed
from securefair.model.stored import Function, from_bytes, to_bytes
from securefair.model.transfer import (
    Leafed,
    LinearEstimates,
    OwnFit,
    PeerWeight,
    Polynomial,
    Transferred,
    linear_estimates,
    without_peers,
)
from securefair.protocol.jobs import (
    AnswerAsk,
    Combine,
    ImportPeer,
    Job,
    JobResult,
    OpenAnswer,
    ReleaseKey,
    Step,
)
from securefair.worth.tuned import headline, mean_loss

MODEL, OPENED = KEPT + "model", KEPT + "opened"
GIVEN, STANDING, ANSWERING = "given", "standing", "answering"

SAME_FIT = 1e-6
"""Part of the largest coefficient by which processors may differ: less than answers are rounded."""

Array = NDArray[np.float64]


class TransferHost(TransferParticipant):
    """See `Host`; the arguments are `TransferParticipant`'s."""

    _whole: tuple[ParticipantData, Transferred, OwnFit, Transferred] | None = None
    """Of what fits of all own patients were made, and these: estimates and models take the same."""

    def run(self, job: Job) -> JobResult:
        """See `Host`."""
        asked = self._request
        if isinstance(job, OpenAnswer | Combine):  # it asks no more, whether or not this opens
            self._stand(asks=False)
        result = super().run(job)
        if not self._remembers:
            return result
        match job:
            case ImportPeer():
                self._remember_import(job)
            case AnswerAsk() | ReleaseKey():
                share = self._shares.of(job.peer, job.round)
                if share is not None:
                    self._remember_share(share)
                    self._changed[GIVEN] = msgspec.msgpack.encode(self.given)
                    self._changed[ANSWERING] = to_bytes(self.answering)
            case OpenAnswer() | Combine() | Step():
                self._changed[MODEL] = _written(self.transferred)
                self._changed[OPENED] = encode_state((self.notes.released, self.notes.senders))
        if asked is None and self._request is not None:
            self._changed[REQUEST] = self._request
        return result

    def check_renewal(self, data: ParticipantData) -> None:
        """See `Host`.

        Raises:
            DataError, ConfigError: see there; or a private model answers.
        """
        if self.teacher is not None:
            raise anew_private(self.name)
        self.agreement.check_data(data)
        self.agreement.check_samples(len(data.train))
        super().check_renewal(data)

    def renew(self, data: ParticipantData) -> None:
        """See `TransferParticipant`; nothing of the earlier fit is left to be sent again."""
        left = set(self._shares.made)
        super().renew(data)
        self._forget_shares(left - set(self._shares.made))
        self._changed[REQUEST] = self._changed[ANSWERING] = None
        if self._remembers:
            self._changed[MODEL] = _written(self.transferred)
            self._changed[OPENED] = encode_state((self.notes.released, self.notes.senders))
        self._stand(asks=True)

    def estimates(self, pieces: Mapping[str, bytes] | None = None) -> LinearEstimates | None:
        """Coefficients with what other patients might have given; None where none is linear.

        Of the patients that the kept model is fitted to, so that both say the same.

        Args:
            pieces: that a host gave out, for one that was made without; None: its own.
        """
        own, found = self._of_all(pieces)
        rng = np.random.default_rng(derive_seed(self._seed, "estimates", self.name))
        return linear_estimates(own.samples, found.families, rng)

    def fitted_to_all(self, pieces: Mapping[str, bytes] | None = None) -> FittedToAll | None:
        """See `Host`: own fits of all own patients, with what peers said as a function of features.

        Args:
            pieces: see `estimates`.
        """
        if self.data.whole() is None:
            return None
        _, again = self._of_all(pieces)
        return FittedToAll(again.model, again.temperature)

    def _of_all(self, pieces: Mapping[str, bytes] | None) -> tuple[OwnFit, Transferred]:
        """Own fits of all own patients, where test patients are some of them, and what follows."""
        everyone, found = self.data.whole(), self._with_fits(pieces)
        if everyone is None:
            return self.own, found
        known = self._whole
        if known is None or known[0] is not self.data or known[1] is not found:
            own = fitted(replace(self.data, train=everyone), self.agreement.degree, self._seed)
            known = self._whole = self.data, found, own, found.again(own)
        return known[2:]

    def _with_fits(self, pieces: Mapping[str, bytes] | None) -> Transferred:
        """As it was made, with all that a store does not keep of it."""
        found = self.transferred
        if pieces is not None or not found.families:  # a store keeps what was opened, not fits
            kept = (self.notes.released, self.notes.senders)
            opened = opened_in(pieces[OPENED]) if pieces and OPENED in pieces else kept
            found = self._transferred_again(*opened)
        return found

    def reputations(self) -> Mapping[str, float | None]:
        """See `Host`: weights of teachers, where every answer was opened by itself."""
        weights = self.transferred.trust.weights
        return {peer: weights.get(peer) for peer in self.machine.reputations}

    def left_out(self) -> Sequence[str]:
        """See `Host`: teachers whose answers are no function of the features."""
        return self.transferred.trust.left_out

    def measured(self, round: int) -> Mapping[str, float]:
        """Of the deployed model: accuracy in [0, 1] on own test patients, cross-entropy on the
        training patients, and the part of its weights that rests on peers."""
        del round
        model = self.transferred.model
        return {
            "accuracy": headline(model, self.data),
            "cross_entropy": mean_loss(model, self.data.train),
            "weight of peers": self.transferred.trust.in_peers,
        }

    @property
    def temperature(self) -> float:
        """See `Host`."""
        return self.transferred.temperature

    def received(self, round: int) -> Mapping[str, int]:
        """See `Host`."""
        del round
        sizes = [int(numbers.size) for numbers in self.notes.released.values()]
        return dict.fromkeys(self.notes.senders, max(sizes, default=0))

    def model(self) -> Function:
        """See `Host`."""
        return self.transferred.model

    def refitted(self, pieces: Mapping[str, bytes], without: str) -> Function:
        """See `Host`: the transfer again, without one teacher's numbers.

        Raises:
            ConfigError: only the teachers' mean was opened, and nobody can be taken out of it.
            DataError: nothing of that teacher was opened.
        """
        if OPENED not in pieces:
            raise DataError("nothing was opened yet", where=self.name)
        released, senders = opened_in(pieces[OPENED])
        if without not in senders:
            raise DataError(
                "no answer of that peer is in the model", found=without, expected=", ".join(senders)
            )
        if MEAN in released:
            raise ConfigError(
                "only the mean of all teachers was opened: nobody can be taken out of it",
                where="transfer.opened",
                found="mean",
                expected='"each", or a new exchange without that peer',
            )
        answers = {name: numbers for name, numbers in released.items() if name != without}
        if not answers:
            return without_peers(self.own).model
        return self._exchange.transferred_each(self.own, answers).model

    def _stand(self, *, asks: bool) -> None:
        if self._remembers:
            standing = self.version, self._shares.floor, asks
            self._changed[STANDING] = msgspec.msgpack.encode(standing)

    def _compare(self, before: Function) -> None:
        """Count another fit than what answered before, and forget shares of that one."""
        if isinstance(before, Polynomial) and before.close_to(self.answering, within=SAME_FIT):
            return
        made = set(self._shares.made)
        self.version += 1
        self._shares = self._shares.forget(max((round for _, round in made), default=-1) + 1)
        self._forget_shares(made - set(self._shares.made))
        self._stand(asks=self.asks)

    def _restore(self, pieces: Mapping[str, bytes]) -> None:
        if LEDGER in pieces:  # the machine has it now
            self._changed[LEDGER] = None
        if GIVEN in pieces:
            self.given = msgspec.msgpack.decode(pieces[GIVEN], type=Given)
        self._request = pieces.get(REQUEST)
        floor = 0
        if STANDING in pieces:
            standing = msgspec.msgpack.decode(pieces[STANDING], type=tuple[int, int, bool])
            self.version, floor, self.asks = standing
        self._shares = stored_shares(pieces, floor)
        if ANSWERING in pieces:
            self._compare(from_bytes(pieces[ANSWERING], where=self.name))
        for job in stored_imports(pieces):
            super().run(job)
        if MODEL in pieces:
            self.transferred = _read(pieces[MODEL], where=self.name)
            released, senders = opened_in(pieces[OPENED])
            self.notes = TransferNotes(released=released, senders=senders)


def both(logits: Array) -> Array:
    """Logits (B, L) as logits of all classes (B, M): one difference stands for two."""
    return logits if logits.shape[1] > 1 else np.concatenate([0 * logits, logits], axis=1)


def _written(transferred: Transferred) -> bytes:
    """Without what peers said, which only the fit needed."""
    kept = to_bytes(transferred.model), transferred.trust, transferred.temperature
    return msgspec.msgpack.encode(kept)


def _read(data: bytes, *, where: str) -> Transferred:
    kept = msgspec.msgpack.decode(data, type=tuple[bytes, PeerWeight, float])
    model, trust, temperature = kept
    function = from_bytes(model, where=where)
    if not isinstance(function, Polynomial | Leafed):
        raise DataError("the store holds a model of another kind", where=where)
    return Transferred(function, trust, temperature, without_peers)


def opened_in(data: bytes) -> tuple[dict[str, Array], tuple[str, ...]]:
    """What a host had opened, by teacher, and whose answers are in it."""
    nothing: tuple[dict[str, Array], tuple[str, ...]] = ({}, ())
    return decode_state(data, nothing)
