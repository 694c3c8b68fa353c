"""A receiver and senders that form weighted sums, for every implementation."""

from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from securefair.averaging import (
    AVERAGING,
    Gathering,
    Shares,
    SumPlan,
    SumSpec,
    WeightedSums,
    get_averaging,
    make_share,
    open_sum,
    release,
)
from securefair.averaging.ckks import CkksSums

SESSION = bytes(range(32))
RECEIVER = "hospital"
BOUND = 4.0

VARIANTS = {**{name: name for name in AVERAGING}, "ckks on seal": "ckks"}


@cache
def make(variant):
    if variant == "ckks on seal":
        return CkksSums("seal")
    return get_averaging(variant)


def spec_of(parameters, senders, **changes):
    return SumSpec(**{"parameters": parameters, "senders": len(senders), "bound": BOUND} | changes)


@dataclass
class Crowd:
    """A receiver and its senders, with everybody's keys and the senders' memories."""

    sums: WeightedSums[Any, Any]
    plan: SumPlan
    senders: tuple[str, ...]
    memories: dict[str, Shares] = field(default_factory=dict)

    def __post_init__(self):
        everyone = (*self.senders, RECEIVER)
        self.keys = {name: self.sums.generate_keys(self.plan) for name in everyone}
        self.publics = {name: keys.public for name, keys in self.keys.items()}
        self.memories = {name: Shares() for name in self.senders}

    def gathering(self, round=0, senders=None):
        return Gathering.of(SESSION, round, RECEIVER, senders or self.senders)

    def ask(self, gathering, weights):
        return self.sums.ask(self.plan, self.keys[RECEIVER], gathering, weights)

    def make_share(self, gathering, sender, request, vector):
        self.memories[sender], closed = make_share(
            self.memories[sender],
            self.sums,
            self.plan,
            self.keys[sender],
            self.publics,
            gathering,
            sender,
            request,
            vector,
        )
        return closed

    def release(self, gathering, sender):
        self.memories[sender], key = release(self.memories[sender], gathering)
        return key

    def open(self, gathering, closed, keys):
        return open_sum(self.sums, self.plan, self.keys[RECEIVER], gathering, closed, keys)

    def gather(self, vectors, weights, round=0):
        gathering = self.gathering(round, tuple(vectors))
        requests = self.ask(gathering, weights)
        closed = {
            name: self.make_share(gathering, name, requests[name], vectors[name])
            for name in gathering.senders
        }
        keys = {name: self.release(gathering, name) for name in gathering.senders}
        return self.open(gathering, closed, keys)


def crowd_of(sums, senders, parameters=300, **changes):
    return Crowd(sums, plan_of(sums, spec_of(parameters, senders, **changes)), senders)


def plan_of(sums, spec):
    return sums.plan(spec)


def vectors_of(senders, parameters, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    return {name: rng.uniform(-BOUND, BOUND, parameters).astype(dtype) for name in senders}


def weights_of(senders, seed=0):
    """A row of a mixing matrix; what is left of it is the receiver's own."""
    row = np.random.default_rng(seed).dirichlet(np.ones(len(senders) + 1))
    return dict(zip(senders, row.tolist(), strict=False))


def exact(vectors, weights):
    return sum(weights[name] * vectors[name].astype(np.float64) for name in vectors)
