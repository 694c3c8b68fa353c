"""Hospitals that describe their patients together, in one process, by given rules."""

from dataclasses import replace
from functools import partial

import numpy as np

from securefair.collaboration import PublicFacts
from securefair.collaboration.kinds import describing_kind
from securefair.collaboration.resolved import ResolvedRun
from securefair.config import parse_config
from securefair.data import ParticipantData
from securefair.run.describing import describe_resolved
from securefair.sites.simulation.starting import simulated

CONFIG = """
[run]
name = "described"
algorithms = ["standalone", "table-one"]
[data]
source = "breast-cancer"
[data.partition]
kind = "homogeneous"
participants = 3
[table_one]
hospitals = {hospitals}
"""


def hospitals_of(people):
    """Samples by name, divided as for a study: a table is of all of them."""
    found = []
    for name, samples in people.items():
        train = np.arange(len(samples)) % 3 > 0
        parts = (samples.take(np.flatnonzero(one)) for one in (train, ~train))
        found.append(ParticipantData(name, *parts))
    return found


def agreed_on(spec, people, *, hospitals=0):
    """Kind, configuration, agreement and data."""
    kind, data = describing_kind(), hospitals_of(people)
    config = parse_config(CONFIG.format(hospitals=hospitals), source="described")
    agreement = replace(kind.agree(config, PublicFacts.of(data), seed=0), rules=spec)
    return kind, config, agreement, data


def described(spec, people, *, hospitals=0, ledger=None, again=False):
    """Table 1 of these hospitals."""
    kind, config, agreement, data = agreed_on(spec, people, hospitals=hospitals)
    run = ResolvedRun(
        config=config,
        kinds={kind.name: kind},
        data={0: data},
        agreements={0: {kind.name: agreement}},
    )
    return describe_resolved(run, ledger=ledger, again=again)


def played(spec, people, *, lies=None, hospitals=0):
    """The same run, in which some add other numbers than they have.

    Args:
        lies: by hospital, a function of receiver, round and its own numbers; of receiver None it
            is what the liar itself goes by.
    """
    kind, _config, agreement, data = agreed_on(spec, people, hospitals=hospitals)
    run = simulated(kind, agreement, data, seed=0)
    for name, lie in (lies or {}).items():
        exchange = run.hosts[name]._exchange
        exchange.masked = partial(_masked, exchange.masked, exchange.numbers, lie)
        exchange.numbers = partial(_numbers, exchange.numbers, lie)
    list(run.rounds(2))
    return run


def _masked(masked, true, lie, gathering, keys, _numbers):
    return masked(gathering, keys, lie(gathering.receiver, gathering.round, true(gathering.round)))


def _numbers(true, lie, round):
    return lie(None, round, true(round))
