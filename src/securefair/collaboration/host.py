"""One participant of any kind as a process of its own runs it, and what such a process leaves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from securefair.data.dataset import ParticipantData
from securefair.protocol.jobs import Job, JobResult
from securefair.protocol.machine import ParticipantMachine
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


class Host(Protocol):
    """One participant: its data, model, keys and machine. A site runs one of them.

    Its process may end at any moment.
    """

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def data(self) -> ParticipantData:
        """Its samples, as they are now."""
        ...

    @property
    def machine(self) -> ParticipantMachine:
        """What decides for it."""
        ...

    def begin(self, round: int) -> None:
        """Keep what all answers of the round come from."""
        ...

    def run(self, job: Job) -> JobResult:
        """Carry out one job of its machine."""
        ...

    def check_renewal(self, data: ParticipantData) -> None:
        """Refuse to go on with other own patients than before.

        Raises:
            SecureFairError: this kind cannot, they do not fit what was agreed, or too few of them
                changed (`privacy.membership`).
        """
        ...

    def renew(self, data: ParticipantData) -> None:
        """Go on with other own patients, between two rounds. Nothing that was let out is forgotten.

        Raises:
            SecureFairError: see `check_renewal`.
        """
        ...

    def changed(self) -> Mapping[str, bytes | None]:
        """What it must remember and has not given out since, by name; None is to be forgotten.

        No secret key is among it. What begins with `KEPT` survives a recovery, nothing else does.
        A host that was made without `stored` remembers nothing.
        """
        ...

    @property
    def temperature(self) -> float | None:
        """What its model's logits are to be divided by, found out of fold; None where it is not."""
        ...

    def received(self, round: int) -> Mapping[str, int]:
        """Numbers that it got of each peer in a round, one by one or in a mean."""
        ...

    def model(self) -> Function:
        """Its own model as it is now, to be kept."""
        ...

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
        ...

    def estimates(self, pieces: Mapping[str, bytes] | None = None) -> LinearEstimates | None:
        """Coefficients of the model; None in most kinds, which have none.

        Args:
            pieces: that a host gave out, for one that was recalled; None: its own.
        """
        ...

    def fitted_to_all(self, pieces: Mapping[str, bytes] | None = None) -> FittedToAll | None:
        """The model fitted anew to all own samples (`ParticipantData.whole`), without an exchange;
        None where there are no others, and in kinds that cannot.

        Args:
            pieces: as of `estimates`.
        """
        ...

    def validation(
        self, *, groups: Groups | None = None, pieces: Mapping[str, bytes] | None = None
    ) -> HospitalValidation | None:
        """How good peers' models are on own patients; None in most kinds.

        Args:
            groups: in which patients are looked at apart, in the order of `ParticipantData.rows`.
            pieces: as of `estimates`.
        """
        ...

    def description(self, pieces: Mapping[str, bytes] | None = None) -> Described | None:
        """Table 1 of all hospitals, beside own patients; None in most kinds, and where a sum was
        not opened.

        Args:
            pieces: as of `estimates`.
        """
        ...

    def reputations(self) -> Mapping[str, float | None]:
        """How much each peer counts to it now: its reputation, or the weight of its model or
        answers; None where it has none."""
        ...

    def left_out(self) -> Sequence[str]:
        """Peers whose answers it opened and does not believe; "all" for their mean."""
        ...

    def measured(self, round: int) -> Mapping[str, float]:
        """What it finds about its own model after a round, for its own eyes."""
        ...

    def export_keys(self) -> Secret:
        """Its secret keys, for its keystore and nobody else."""
        ...

    def idle(self) -> bool:
        """While it waits: some milliseconds for a faster answer later; False: nothing to do."""
        ...


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
