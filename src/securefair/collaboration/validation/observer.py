"""What a simulation of a validation sees: a transfer's exchange, from which nobody learnt."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from securefair.collaboration.facts import RunFacts
from securefair.collaboration.observer import Ends
from securefair.collaboration.transfer.observer import TransferObserver
from securefair.collaboration.validation.host import ValidationHost
from securefair.records import RoundRecord


class ValidationObserver(TransferObserver[ValidationHost]):
    """See `TransferObserver`."""

    def ends(self, round: int, hosts: Mapping[str, ValidationHost], ends: Ends) -> RoundRecord:
        """See `Observer`."""
        record = super().ends(round, hosts, ends)
        for name, own in hosts.items():
            self.problems += [
                f"{name} opened what no model says: the answer of {peer} does not follow from the "
                "features"
                for peer in own.left_out()
            ]
        return record

    def facts(self, hosts: Mapping[str, ValidationHost]) -> RunFacts:
        """See `Observer`: nobody's word counts to anybody."""
        return replace(super().facts(hosts), sums=None, trust={})
