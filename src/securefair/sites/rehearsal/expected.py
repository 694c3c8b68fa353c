"""The same collaboration in one process: what a rehearsal's decisions and models must be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from securefair.collaboration.host import Host
from securefair.collaboration.observer import SiteRecord
from securefair.data import ParticipantData, Samples
from securefair.model.stored import Function, logits_of
from securefair.sites.project.agreeing import check_agreement, kind_in
from securefair.sites.project.project import Project
from securefair.sites.simulation.starting import simulated

SAME_LOGITS = 0.02
"""Most that a test patient's logit may differ between two runs: encryption draws other noise."""


@dataclass(frozen=True, eq=False)
class Expected:
    """The same collaboration in one process.

    Attributes:
        records: of every site's rounds.
        hosts: as they ended.
        envelopes: that all sites send together.
    """

    records: dict[str, list[SiteRecord]]
    hosts: dict[str, Host]
    envelopes: int


def in_one_process(
    project: Project, data: Sequence[ParticipantData], rounds: int, seed: int
) -> Expected:
    """The same hosts, in a simulation."""
    kind = kind_in(project.terms)
    run = simulated(kind, check_agreement(project), data, seed=seed)
    records: dict[str, list[SiteRecord]] = {own.name: [] for own in data}
    for number in range(rounds):
        for name, record in run.town.play(number).items():
            records[name].append(record)
    sent = sum(row.count for row in run.traffic)
    notices = rounds * len(data) * (len(data) - 1)
    return Expected(records, run.town.hosts, sent + notices)


def same(found: Function | None, expected: Function, test: Samples) -> bool:
    """Whether a site's model is the expected one but for the error of encryption."""
    if found is None:
        return False
    features = test.features.reshape(len(test), -1)
    difference = logits_of(found, features) - logits_of(expected, features)
    return bool(np.abs(difference).max(initial=0.0) <= SAME_LOGITS)
