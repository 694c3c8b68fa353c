"""A small collaboration of any kind, begun or finished."""

from functools import cache

import numpy as np

from securefair.collaboration import PublicFacts
from securefair.collaboration.host import Stored
from securefair.collaboration.kinds import kind_of
from securefair.config import override, parse_config
from securefair.data import ParticipantData, Samples
from securefair.sites.simulation.starting import simulated
from securefair.sites.simulation.town import Town
from support.concluded import concluded

CONFIG = """
[run]
name = "contract"
[data]
source = "breast-cancer"
[data.partition]
kind = "homogeneous"
participants = 3
[model]
kind = "linear"
[training]
rounds = 2
local_epochs = 2
local_steps = 1
[transfer]
sums = "none"
[distillation]
q = 3
lambda_0 = 1.0
[fairness]
forced_every = 2
[gossip]
sketch = 0
"""
SEED, MARGIN = 28, 0.15
"""With this seed no reputation lies nearer to 0, or to the coin that decides by it: so no error of
an encryption changes who asks or answers. A test looks."""


def configured(name, **changes):
    text = parse_config(CONFIG, source="contract")
    return override(text, {"run.algorithms": ["standalone", name]} | changes, source="test")


def everyone():
    rng = np.random.default_rng(3)
    normal = rng.standard_normal(4)
    people = []
    for name in ("North", "South", "East"):
        parts = []
        for size in (16, 8):
            x = rng.uniform(-1, 1, (size, 4))
            parts.append(Samples(x, (x @ normal > 0).astype(np.int64), 2))
        people.append(ParticipantData(name, *parts))
    return people


def begun(name, backend, *, folder=None, **changes):
    kind, data = kind_of(name), everyone()
    config = configured(name, **{"encryption.backend": backend} | changes)
    agreement = kind.agree(config, PublicFacts.of(data), seed=SEED)
    run = simulated(kind, agreement, data, seed=SEED, folder=folder)
    return run, kind.rounds(config.training.rounds)


@cache
def finished(name, backend):
    run, rounds = begun(name, backend)
    return run, list(run.rounds(rounds)), run.facts()


def hosts_of(name, *, stored=None):
    kind, data, config = kind_of(name), everyone(), configured(name)
    config = override(config, {"encryption.backend": "clear"}, source="test")
    agreement = kind.agree(config, PublicFacts.of(data), seed=SEED)
    return agreement, [
        kind.host(agreement, own, seed=SEED, stored=stored and Stored()) for own in data
    ]


def played(name, *, stored=None):
    agreement, hosts = hosts_of(name, stored=stored)
    play(hosts, agreement, kind_of(name).rounds(configured(name).training.rounds))
    return hosts


def play(hosts, agreement, rounds):
    people = {host.name: host for host in hosts}
    town = Town(list(people), lambda name, _: people[name], agreement, seed=SEED)
    for number in range(rounds):
        town.play(number)


def told_of(name, backend="rns"):
    """What reports read of a run of it."""
    _, _, facts = finished(name, backend)
    return concluded(name, [own.name for own in everyone()], facts.encryption)
