"""Agreements of a few settings by the names of their keys, as `collaborate` takes them."""

from __future__ import annotations

from dataclasses import fields

from securefair.collaboration.agreement import LOCAL, PublicFacts
from securefair.collaboration.distillation.agreement import DistillationAgreement
from securefair.collaboration.gossip.agreement import GossipAgreement
from securefair.collaboration.kinds import kind_of
from securefair.collaboration.transfer.agreement import TransferAgreement
from securefair.config import RunConfig
from securefair.config.keys import in_sections

AGREEMENTS = {
    "transfer": TransferAgreement,
    "vpdl": DistillationAgreement,
    "cycle": DistillationAgreement,
    "cycle-gossip": GossipAgreement,
}


def agree(algorithm, participants, *, shape=4, classes=2, samples=40, seed=0, **settings):
    """What participants agree on, everything else at its default.

    Args:
        algorithm: names the kind.
        participants: names, or participants.
        shape: of a sample, or its number of features.
        classes, samples, seed: as in an agreement.
        settings: keys, and deadlines. A transfer asks about patients unless `sums` are given.
    """
    if algorithm == "transfer":
        settings = {"sums": "none"} | settings
    facts = {
        name: settings.pop(name) for name in ("round_seconds", "setup_seconds") if name in settings
    }
    kind = AGREEMENTS[algorithm]
    given = in_sections(settings, kind_of(algorithm).reads, source="test")
    sections = {
        one.name: RunConfig.model_fields[one.name].annotation(**given.pop(one.name, {}))
        for one in fields(kind)
        if one.name in RunConfig.model_fields and one.metadata != LOCAL
    }
    assert not given, f"{algorithm} does not agree on {given}"
    return kind(
        facts=PublicFacts(
            participants=tuple(getattr(one, "name", one) for one in participants),
            shape=shape if isinstance(shape, tuple) else (shape,),
            classes=classes,
            samples=samples,
            **facts,
        ),
        seed=seed,
        **sections,
        **({"always_share": True} if algorithm == "vpdl" else {}),
    )
