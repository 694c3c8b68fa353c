"""A participant of a transfer that learns nothing: whatever it opens, its own fit is its model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from securefair.collaboration.transfer.host import OPENED, TransferHost, opened_in
from securefair.data.dataset import ParticipantData
from securefair.errors import ConfigError
from securefair.model.stored import Function
from securefair.model.transfer import LinearEstimates, Transferred, without_peers

Array = NDArray[np.float64]


class OwnFitHost(TransferHost):
    """See `Host`; the base of kinds that ask as a transfer does, and learn nothing by it."""

    made: ClassVar[str]
    """What it makes instead, in words: "a validation"."""

    def check_renewal(self, data: ParticipantData) -> None:
        """See `Host`.

        Raises:
            ConfigError: always: what it makes is of the patients that it began with, and two of
                them would tell who is new.
        """
        raise ConfigError(
            f"{self.made} is of the patients that it began with",
            where=data.name,
            expected="a new project, which tells their difference",
        )

    def reputations(self) -> Mapping[str, float | None]:
        """See `Host`: none, since nobody's word counts."""
        return dict.fromkeys(self.machine.reputations)

    def estimates(self, pieces: Mapping[str, bytes] | None = None) -> LinearEstimates | None:
        """None: its model is of its own patients alone, as it was before."""
        del pieces
        return None

    def refitted(self, pieces: Mapping[str, bytes], without: str) -> Function:
        """See `Host`.

        Raises:
            ConfigError: always; no peer is in its model.
        """
        del pieces
        raise ConfigError(
            "no peer is in this model, so nobody can be taken out of it",
            where=self.name,
            found=without,
        )

    def _opened_before(
        self, pieces: Mapping[str, bytes] | None
    ) -> tuple[Mapping[str, Array], Sequence[str]]:
        """What was opened and of whom: as these pieces say, else its own."""
        if pieces is not None and OPENED in pieces:
            return opened_in(pieces[OPENED])
        return self.notes.released, self.notes.senders

    def _transferred_again(
        self, released: Mapping[str, Array], senders: Sequence[str]
    ) -> Transferred:
        """Whatever was opened, it is no part of the own model."""
        del released, senders
        return without_peers(self.own)
