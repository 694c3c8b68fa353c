"""How long experiments will take here, from five batches of each distinct network and data set.

A run is counted as its epochs of local training; teachers' answers, gradients for reputations and
scores come on top. So the estimate is a little low, and it says where nothing could be estimated.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from securefair.errors import BackendUnavailableError, DataError
from securefair_lab.algorithms.stacked_population import StackedPopulation
from securefair_lab.papers.experiment import Contender, Experiment, Size

BATCHES = 5


@dataclass(frozen=True, kw_only=True)
class Trial:
    """Five batches of one participant, or on a GPU of everyone in one population.

    Args:
        participants: that trained together.
        seconds: for a batch of each of them.
        memory: the largest in MB: of the GPU, or of this process so far.
    """

    network: str
    shape: tuple[int, ...]
    participants: int
    batch: int
    seconds: float
    memory: float


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """Of some experiments.

    Args:
        hours: by experiment, for all seeds, what they share counted once with the first.
        trials: what was measured.
        without: why an experiment has no estimate, by its name.
    """

    hours: Mapping[str, float]
    trials: Sequence[Trial]
    without: Mapping[str, str]


def estimate(
    experiments: Sequence[Experiment], size: Size, *, seeds: int, data: Any, device: str
) -> Estimate:
    """Measure every distinct population once, on the first seed, and add up epochs."""
    trials: dict[tuple[object, ...], Trial] = {}
    hours: dict[str, float] = {}
    without: dict[str, str] = {}
    counted: set[tuple[str, str]] = set()
    for experiment in experiments:
        seconds = 0.0
        try:
            for contender in experiment.contenders(size, data):
                known = (experiment.paper, contender.key)
                if known in counted:
                    continue
                counted.add(known)
                seconds += _seconds(contender, trials, device)
        except (DataError, BackendUnavailableError) as error:
            without[experiment.name] = str(error)
            continue
        hours[experiment.name] = seeds * seconds / 3600
    return Estimate(hours=hours, trials=list(trials.values()), without=without)


def _seconds(contender: Contender, trials: dict[tuple[object, ...], Trial], device: str) -> float:
    """Of one run; 0 of what trains no network."""
    members = contender.members(0)
    if not isinstance(members, StackedPopulation):
        return 0.0
    members = replace(members, device=device)
    trained = max(len(own.train) for own in members.participants)
    batch = min(members.batch_size or trained, trained)
    shape = tuple(members.participants[0].train.features.shape[1:])
    # A GPU trains all at once. On processors one takes its share of the time of all.
    together = len(members.names) if device.startswith("cuda") else 1
    key = (members.network, shape, together, batch)
    if key not in trials:
        trials[key] = trial(members, batch, together)
    steps = float(np.mean([np.ceil(len(own.train) / batch) for own in members.participants]))
    times = len(members.names) / together
    return trials[key].seconds * times * steps * _epochs(contender, members)


def _epochs(contender: Contender, members: Any) -> int:
    """Of each participant in a run, alone and in rounds."""
    algorithm = contender.algorithm
    local: int = getattr(algorithm, "local_epochs", getattr(members, "local_epochs", 1))
    alone: int = getattr(algorithm, "pretraining_epochs", getattr(members, "pretraining_epochs", 0))
    return contender.rounds * local + alone


def trial(members: StackedPopulation, batch: int, together: int) -> Trial:
    """Train so many participants on five batches, after one to warm up.

    Raises:
        ModelError: the training diverged.
    """
    on_gpu = members.device.startswith("cuda")
    who = range(together)
    start = members.start(0, common=True).of(who)

    def some(count: int) -> float:
        rows = [np.arange(min(len(p.train), count * batch)) for p in members.participants]
        begun = time.perf_counter()
        members.train(start, epochs=1, seed=0, clock=0, within=rows, only=who)
        if on_gpu:
            torch.cuda.synchronize()
        return time.perf_counter() - begun

    some(1)
    if on_gpu:
        torch.cuda.reset_peak_memory_stats()
    seconds = some(BATCHES) / BATCHES
    memory = (
        torch.cuda.max_memory_allocated() / 1e6
        if on_gpu
        else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    )
    return Trial(
        network=members.network,
        shape=tuple(members.participants[0].train.features.shape[1:]),
        participants=together,
        batch=batch,
        seconds=seconds,
        memory=memory,
    )
