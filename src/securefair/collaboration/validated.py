"""What a hospital found that looked at its peers' models, whatever kind let it."""

from __future__ import annotations

from typing import Any

import msgspec

from securefair.worth.page import ScorePage


class PeerValidation(msgspec.Struct, frozen=True, kw_only=True):
    """One peer's model on a hospital's own patients.

    Attributes:
        page: its scores; None where patients are too few or alike.
        smooth: whether what it said follows from the features: else it is no model's word.
        numbers: that the peer told, as its ledger counts them.
    """

    page: ScorePage | None
    smooth: bool
    numbers: int


class HospitalValidation(msgspec.Struct, frozen=True, kw_only=True):
    """What one hospital found.

    Attributes:
        hospital: whose patients.
        patients: how many, training and test patients alike.
        peers: by name, of those that answered.
        unanswered: peers that were asked in vain.
        own: its own fit on the same patients, held out; None where a model was brought, where
            patients are too few or alike, or where nobody was asked.
        unscored: why there are no pages; empty where there are.
        tells_fit: whether so many answers determine what a peer answered from.
        encrypted: the backend keeps anything secret.
        private: peers answered from private models.
    """

    hospital: str
    patients: int
    peers: dict[str, PeerValidation]
    unanswered: list[str]
    own: ScorePage | None
    unscored: str
    tells_fit: bool
    encrypted: bool
    private: bool

    @property
    def pages(self) -> dict[str, ScorePage]:
        """Of the peers, by name."""
        return {name: one.page for name, one in self.peers.items() if one.page is not None}

    def by_peer(self) -> dict[str, dict[str, Any]]:
        """By peer all scores with their errors, and the rest of the page."""
        return {
            name: {
                **({} if one.page is None else one.page.scores),
                "patients": self.patients,
                "smooth": one.smooth,
                "numbers": one.numbers,
                "page": one.page,
            }
            for name, one in self.peers.items()
        }
