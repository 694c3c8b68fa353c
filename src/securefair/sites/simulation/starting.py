"""A kind of collaboration and everyone's data -> a run of all of them in this process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from securefair.collaboration.host import Host, Role, Stored
from securefair.collaboration.interface import Kind
from securefair.data import ParticipantData
from securefair.sites.couriers.memory import Link
from securefair.sites.simulation.run import SimulatedRun
from securefair.sites.simulation.town import Town

if TYPE_CHECKING:
    from securefair.model.heads import Head


def simulated(
    kind: Kind[Any],
    agreement: Any,
    data: Sequence[ParticipantData],
    *,
    seed: int,
    models: Mapping[str, Head] | None = None,
    folder: Path | None = None,
    roles: Mapping[str, Role] | None = None,
    link: Link | None = None,
    links: Mapping[tuple[str, str], Link] | None = None,
    left: Mapping[str, Stored] | None = None,
    renewed: Sequence[str] = (),
) -> SimulatedRun:
    """All participants, ready for the next round.

    Args:
        kind: of collaboration.
        agreement: that participants of this kind made.
        data: one entry a participant, in the agreement's order.
        seed: of initialisation, batches, sharing and the courier's faults.
        models: that everyone starts from, by name; None: as the configuration says.
        folder: of their stores, where an earlier process may have left some; None: in memory.
        roles: of those who do not both ask and answer, by name.
        link: of the courier between all pairs; instantaneous by default.
        links: particular directions, by (sender, receiver).
        left: where there is no folder, what participants have from before, by name.
        renewed: whose data change, one a round, in order.

    Raises:
        ConfigError: this kind cannot start from given models.
        StorageError: a store cannot be used.
        SecureFairError: data do not fit the agreement, or training diverged.
    """
    people = {own.name: own for own in data}

    def make(name: str, stored: Stored | None) -> Host:
        given = None if models is None else models[name]
        stored = stored or (left or {}).get(name)
        role: Role = "both" if roles is None else roles.get(name, "both")
        return kind.host(agreement, people[name], seed=seed, stored=stored, role=role, given=given)

    town = Town(list(people), make, agreement, seed=seed, folder=folder, link=link, links=links)
    return SimulatedRun(town, kind.observer(agreement, data, renewed))
