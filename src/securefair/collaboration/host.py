"""One participant of any kind as a process of its own runs it, and what such a process leaves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from securefair.averaging import Share, Shares
from securefair.data.dataset import ParticipantData
from securefair.model.seeds import derive_seed
from securefair.privacy.membership import Membership
from securefair.protocol.jobs import ImportPeer, Job, JobResult
from securefair.protocol.machine import ParticipantMachine
from securefair.protocol.messages import Features, Keys
from securefair.protocol.saved_state import SavedState as MachineState
from securefair.protocol.states import PreparationState
from securefair.protocol.turn import Memory
from securefair.storage import Secret, Store

if TYPE_CHECKING:
    from securefair.collaboration.described import Described
    from securefair.collaboration.told import TellingLedger
    from securefair.collaboration.validated import HospitalValidation
    from securefair.model.stored import Function
    from securefair.model.transfer import LinearEstimates
    from securefair.worth.page import Groups

Role = Literal["both", "teacher", "student"]
"""Of one site: a teacher lets no patient's features out, a student no answer."""


class FittedToAll(NamedTuple):
    """A model that was fitted anew to all of a participant's own samples, which nobody measured.

    Attributes:
        function: the model.
        temperature: that its logits are to be divided by.
    """

    function: Function
    temperature: float


KEPT = "kept "
"""Begins the names of pieces that survive a recovery."""

SHARE, UPLOAD = "share ", "upload "
"""Begin the names of masked shares, by peer and round, and of what a peer uploaded."""

MEMBERS = KEPT + "members"
"""Who was in which of the own tables; after a recovery peers know them all the same."""


class Host(ABC):
    """One participant: its data, model, keys and machine. A site runs one of them.

    Its process may end at any moment: after every job it says which named pieces changed, and takes
    them up again in `_restore`. A kind's calls `_take_up` once it is made.

    Args:
        stored: of an earlier process, or of none; None remembers nothing.

    Attributes:
        name: its name.
        data: its samples, as they are now.
        machine: what decides for it.
        restored: an earlier process has left what it goes on from.
    """

    name: str
    data: ParticipantData
    machine: ParticipantMachine
    _seed: int

    def __init__(self, stored: Stored | None) -> None:
        self._remembers = stored is not None
        self._keep = (stored or Stored()).keep
        self._changed: dict[str, bytes | None] = {}
        self.restored = False
        self._membership = Membership()

    @abstractmethod
    def begin(self, round: int) -> None:
        """Keep what all answers of the round come from."""

    @abstractmethod
    def run(self, job: Job) -> JobResult:
        """Carry out one job of its machine."""

    def check_renewal(self, data: ParticipantData) -> None:
        """Refuse to go on with other own patients than before.

        Raises:
            SecureFairError: this kind cannot, they do not fit what was agreed, or too few of them
                changed (`privacy.membership`).
        """
        self._members_with(data)

    @abstractmethod
    def renew(self, data: ParticipantData) -> None:
        """Go on with other own patients, between two rounds. Nothing that was let out is forgotten.

        Raises:
            SecureFairError: see `check_renewal`.
        """

    def changed(self) -> Mapping[str, bytes | None]:
        """What it must remember and has not given out since, by name; None is to be forgotten.

        No secret key is among it. What begins with `KEPT` survives a recovery, nothing else does.
        A host that was made without `stored` remembers nothing.
        """
        changed, self._changed = self._changed, {}
        return changed

    @property
    def temperature(self) -> float | None:
        """What its model's logits are to be divided by, found out of fold; None where it is not."""
        return None

    @abstractmethod
    def received(self, round: int) -> Mapping[str, int]:
        """Numbers that it got of each peer in a round, one by one or in a mean."""

    @abstractmethod
    def model(self) -> Function:
        """Its own model as it is now, to be kept."""

    @abstractmethod
    def refitted(self, pieces: Mapping[str, bytes], without: str) -> Function:
        """The model as it would be without one peer, from stored numbers and without an exchange.

        What other peers said after they had heard of that peer stays as it was said.

        Args:
            pieces: that a host gave out.
            without: the peer.

        Raises:
            ConfigError: this kind keeps nothing that one peer could be taken out of.
            DataError: nothing of that peer is in the model, or a piece is missing.
        """

    def estimates(self, pieces: Mapping[str, bytes] | None = None) -> LinearEstimates | None:
        """Coefficients of the model; None in most kinds, which have none.

        Args:
            pieces: that a host gave out, for one that was recalled; None: its own.
        """
        del pieces
        return None

    def fitted_to_all(self, pieces: Mapping[str, bytes] | None = None) -> FittedToAll | None:
        """The model fitted anew to all own samples (`ParticipantData.whole`), without an exchange;
        None where there are no others, and in kinds that cannot.

        Args:
            pieces: as of `estimates`.
        """
        del pieces
        return None

    def validation(
        self, *, groups: Groups | None = None, pieces: Mapping[str, bytes] | None = None
    ) -> HospitalValidation | None:
        """How good peers' models are on own patients; None in most kinds.

        Args:
            groups: in which patients are looked at apart, in the order of `ParticipantData.rows`.
            pieces: as of `estimates`.
        """
        del groups, pieces
        return None

    def description(self, pieces: Mapping[str, bytes] | None = None) -> Described | None:
        """Table 1 of all hospitals, beside own patients; None in most kinds, and where a sum was
        not opened.

        Args:
            pieces: as of `estimates`.
        """
        del pieces
        return None

    @abstractmethod
    def reputations(self) -> Mapping[str, float | None]:
        """How much each peer counts to it now: its reputation, or the weight of its model or
        answers; None where it has none."""

    def left_out(self) -> Sequence[str]:
        """Peers whose answers it opened and does not believe; "all" for their mean."""
        return ()

    @abstractmethod
    def measured(self, round: int) -> Mapping[str, float]:
        """What it finds about its own model after a round, for its own eyes: in every kind
        "accuracy" and "cross_entropy"."""

    @abstractmethod
    def export_keys(self) -> Secret:
        """Its secret keys, for its keystore and nobody else."""

    def idle(self) -> bool:
        """While it waits: some milliseconds for a faster answer later; False: nothing to do."""
        return False

    def _members_with(self, data: ParticipantData) -> Membership:
        """Who was in which table, with these patients as the next.

        Raises:
            DataError: too few changed.
        """
        key = derive_seed(self._seed, "membership", self.name).to_bytes(16, "big")
        known = self._membership
        if not known.tables:
            known = known.plus(self.data.train, key)
        members = known.plus(data.train, key)
        members.check(self.name)
        return members

    def _note_members(self, data: ParticipantData) -> None:
        """Keep who is in the next table, once it may be.

        Raises:
            DataError: see `_members_with`.
        """
        self._membership = self._members_with(data)
        if self._remembers:
            self._changed[MEMBERS] = msgspec.msgpack.encode(self._membership)

    def _take_up(self, pieces: Mapping[str, bytes]) -> None:
        """Go on from what an earlier process has left, if it left anything."""
        if MEMBERS in pieces:
            self._membership = msgspec.msgpack.decode(pieces[MEMBERS], type=Membership)
        self.restored = bool(pieces)
        if self.restored:
            self._restore(pieces)

    @abstractmethod
    def _restore(self, pieces: Mapping[str, bytes]) -> None:
        """Take up the pieces of a kind."""

    def _remember_import(self, job: ImportPeer) -> None:
        self._changed[UPLOAD + job.peer] = msgspec.msgpack.encode((job.keys, job.features))

    def _remember_share(self, share: Share) -> None:
        asked = share.gathering
        name = f"{SHARE}{asked.receiver} {asked.round}"
        self._changed[name] = msgspec.msgpack.encode(share)

    def _forget_shares(self, gone: Iterable[tuple[str, int]]) -> None:
        """Of these receivers and rounds, of which nothing is sent again."""
        self._changed |= {f"{SHARE}{peer} {round}": None for peer, round in gone}


@dataclass(frozen=True)
class Stored:
    """What an earlier process of one participant has left.

    Attributes:
        pieces: that `Host.changed` gave out; none for the first process.
        keys: of its keystore; None makes new ones.
        memory: of its machine, from the same transaction as the pieces.
        saved_state: what its machine begins with after a recovery, where there is no memory.
        key_epoch: of its keys; higher than that of any earlier ones.
        budget: open, for what private fits cost its patients; None: a simulation.
        keep: puts renewed keys in its keystore, before the public ones leave.
        told: what it told in descriptions, in this project and others; None: nobody counts that.
    """

    pieces: Mapping[str, bytes] = field(default_factory=dict)
    keys: Secret | None = None
    memory: Memory | None = None
    saved_state: MachineState | None = None
    key_epoch: int = 0
    budget: Store | None = None
    keep: Callable[[Secret], None] = lambda _: None
    told: TellingLedger | None = None

    @property
    def keys_in_use(self) -> Secret | None:
        """`keys`; None where the machine makes others in their place, as for other patients."""
        upload = None if self.memory is None else self.memory.upload
        if upload is None or upload.renewal == 0 or upload.state is PreparationState.READY:
            return self.keys
        return None


def stored_imports(pieces: Mapping[str, bytes]) -> Iterator[ImportPeer]:
    """Jobs that import again what peers had uploaded."""
    for name, data in pieces.items():
        if name.startswith(UPLOAD):
            keys, features = msgspec.msgpack.decode(data, type=tuple[Keys, Features | None])
            yield ImportPeer(name.removeprefix(UPLOAD), keys, features)


def stored_shares(pieces: Mapping[str, bytes], floor: int) -> Shares:
    """Shares as they were closed; nobody makes another under the same masks.

    Args:
        pieces: of one participant.
        floor: the first round that is still open for shares.
    """
    shares = Shares(floor=floor)
    for name, data in pieces.items():
        if name.startswith(SHARE):
            shares = shares.having(msgspec.msgpack.decode(data, type=Share))
    return shares
