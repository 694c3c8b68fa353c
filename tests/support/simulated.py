"""Runs of participants that tests make themselves, without a configuration."""

from dataclasses import replace

from securefair.collaboration.distillation.host import DistillingHost
from securefair.collaboration.distillation.observer import DistillationObserver
from securefair.collaboration.gossip.host import GossipHost
from securefair.collaboration.gossip.observer import GossipObserver
from securefair.collaboration.transfer.host import TransferHost
from securefair.collaboration.transfer.observer import TransferObserver
from securefair.sites.simulation.run import SimulatedRun
from securefair.sites.simulation.town import Town
from securefair.sites.site.notices import Notice, NoticeKind, notice_frame


def limited(agreement, disclosure):
    """The same agreement, of teachers that let out no more than this; None: what it says."""
    return agreement if disclosure is None else replace(agreement, disclosure=disclosure)


def on_backend(agreement, backend):
    """The same agreement, computed on by this encryption engine."""
    if agreement.encryption.backend == backend:
        return agreement  # and what a test has changed of it
    encryption = agreement.encryption.model_copy(update={"backend": backend})
    return replace(agreement, encryption=encryption)


def start_transfer(
    algorithm,
    data,
    agreement,
    *,
    seed,
    backend,
    disclosure=None,
    teachers=None,
    required=None,
    renewals=(),
    **town,
):
    """Hospitals of a transfer; `renewals` names whose data have earlier states."""
    agreement = on_backend(limited(agreement, disclosure), backend)
    states = {own.name: [*own.earlier, replace(own, earlier=())] for own in data}

    def make(name, stored):
        return TransferHost(
            states[name][0],
            agreement,
            seed=seed,
            teacher=None if teachers is None else teachers[name],
            required=required,
            stored=stored,
        )

    sites = Town([own.name for own in data], make, agreement, seed=seed, **town)
    later = {name: list(own[1:]) for name, own in states.items()}
    observer = TransferObserver(algorithm, agreement, [later[name].pop(0) for name in renewals])
    return SimulatedRun(sites, observer)


def start_run(
    algorithm,
    data,
    collaboration,
    *,
    seed,
    backend,
    disclosure=None,
    audit=True,
    given=None,
    teachers=None,
    alignments=None,
    required=None,
    **town,
):
    """Participants that distil."""
    collaboration = on_backend(limited(collaboration, disclosure), backend)
    people = {own.name: own for own in data}

    def make(name, stored):
        host = DistillingHost(
            people[name],
            collaboration,
            seed=seed,
            teacher=None if teachers is None else teachers[name],
            alignments=None if alignments is None else alignments.get(name),
            required=required,
            given=None if given is None else given[name],
            stored=stored,
        )
        if not host.restored:
            host.train_alone()
        return host

    sites = Town(list(people), make, collaboration, seed=seed, **town)
    return SimulatedRun(sites, DistillationObserver(algorithm, collaboration, audit=audit))


def start_gossip(
    algorithm,
    data,
    agreement,
    *,
    seed,
    backend,
    disclosure=None,
    **town,
):
    """Participants that average models."""
    agreement = on_backend(limited(agreement, disclosure), backend)
    people = {own.name: own for own in data}

    def make(name, stored):
        host = GossipHost(
            people[name],
            agreement,
            seed=seed,
            stored=stored,
        )
        if not host.restored:
            host.train_alone()
        return host

    sites = Town(list(people), make, agreement, seed=seed, **town)
    return SimulatedRun(sites, GossipObserver(algorithm, agreement))


def run_of(participants, collaboration, *, algorithm="cycle", **town):
    """Participants that distil and that the test has made itself."""
    people = {own.name: own for own in participants}
    for own in participants:
        own.train_alone()
    sites = Town(list(people), lambda name, _: people[name], collaboration, seed=1, **town)
    observer = DistillationObserver(algorithm, collaboration, audit=False)
    return SimulatedRun(sites, observer)


def lose(run, lost):
    """Let messages arrive as nothing; `lost` takes sender, receiver and the message's bytes."""
    carried = run.town.courier.send

    def send(sender, to, frame, sequence=0):
        if frame[0] == NoticeKind.MESSAGE and lost(sender, to, frame[1:]):
            frame = notice_frame(Notice(0))
        carried(sender, to, frame, sequence)

    run.town.courier.send = send
