"""DPFL, Appendix A: two peers help together where each alone harms.

P1 has a few samples of four classes. P2 and P3 have many, of two of these classes each and of two
others. What P1 gets of training with one of them, or with both, is compared with training alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import nan
from pathlib import Path

import numpy as np

from securefair.data import ParticipantData
from securefair_lab.algorithms import NetworkPopulation, Standalone
from securefair_lab.data.division import divide
from securefair_lab.data.partition import CountsPartitioner
from securefair_lab.papers.algorithms import FedAvg, FineTuned
from securefair_lab.papers.algorithms.checkpoints import chosen_accuracy
from securefair_lab.papers.dpfl_methods import dpfl_experiment
from securefair_lab.papers.dpfl_settings import CIFAR10, SCALES, Scale, source
from securefair_lab.papers.experiment import Claim, Contender, Fields, Finished, Row, Size
from securefair_lab.papers.measures import every

HELD: tuple[Mapping[int, int], ...] = (
    {0: 50, 4: 50, 6: 50, 8: 50},
    {0: 300, 6: 300, 1: 200, 3: 200},
    {4: 300, 8: 300, 5: 200, 7: 200},
)
"""Samples of each class, as Appendix A has them; a tenth of them at size smoke."""
FIRST, SECOND, BOTH = ("P2",), ("P3",), ("P2", "P3")
AVERAGED, TUNED = "FedAvg", "FedAvg+FT"


@dataclass(frozen=True, kw_only=True)
class Group:
    """P1 and those it trains with.

    Args:
        peers: their names; empty for P1 alone.
    """

    size: Size
    data: Path | None
    dataset: str = CIFAR10
    peers: tuple[str, ...] = ()

    @property
    def scale(self) -> Scale:
        """Of DPFL's other experiments on these data."""
        return SCALES[self.size, self.dataset]

    def __call__(self, seed: int) -> NetworkPopulation:
        """Its members of one seed, who hold the same whoever takes part."""
        everyone = _everyone(self.size, self.data, seed)
        scale = self.scale
        return NetworkPopulation(
            participants=tuple(own for own in everyone if own.name in ("P1", *self.peers)),
            network=scale.network,
            optimizer=scale.optimizer,
            batch_size=scale.batch_size,
            train_scored=32,
            pretraining_epochs=scale.pretraining,
            local_epochs=scale.local_epochs,
            common_start=True,
        )


@lru_cache(maxsize=2)  # groups of one seed come one after the other
def _everyone(size: Size, data: Path | None, seed: int) -> tuple[ParticipantData, ...]:
    """All three, each tested on all test samples of its own classes."""
    part = 10 if size == "smoke" else 1
    counts = tuple({label: count // part for label, count in own.items()} for own in HELD)
    data_set = source(CIFAR10, size, data)
    participants = divide(
        data_set,
        CountsPartitioner(counts=counts),
        seed=seed,
        test="shared" if data_set.test is None else "published",
        validation="own",
        validation_fraction=0.2,
    )
    return tuple(
        replace(own, test=own.test.take(np.flatnonzero(np.isin(own.test.labels, list(held)))))
        for own, held in zip(participants, counts, strict=True)
    )


def _groups(size: Size, data: Path | None) -> list[Contender]:
    alone = Group(size=size, data=data)
    scale = alone.scale
    averaged = FedAvg(local_epochs=scale.local_epochs)
    tuned = FineTuned(of=averaged, rounds=scale.rounds, epochs=2 * scale.local_epochs)
    setting: Fields = {"dataset": CIFAR10, "split": "Appendix A", "n": len(HELD)}
    result = [
        Contender(
            fields={**setting, "method": "Local Only", "peers": None},
            members=alone,
            algorithm=Standalone(),
            rounds=scale.rounds - 2,
            control=True,
        )
    ]
    for method, algorithm, more in ((AVERAGED, averaged, 0), (TUNED, tuned, 1)):
        result += [
            Contender(
                fields={**setting, "method": method, "peers": " and ".join(peers)},
                members=replace(alone, peers=peers),
                algorithm=algorithm,
                rounds=scale.rounds + more,
            )
            for peers in (FIRST, SECOND, BOTH)
        ]
    return result


def first_of_all(run: Finished) -> Mapping[str, float]:
    """P1's test accuracy at the round that validated best, and how far it is above training alone.

    Where a common model is tuned at the end, the tuned model counts and nothing before it.
    """
    last = run.records[-1:]
    tuned = last[0].algorithm.endswith("_fine_tuned")
    own = 100 * chosen_accuracy(last if tuned else run.records)[0]
    if run.contender.control:
        return {"P1": own}
    return {"P1": own, "gain of P1": own - 100 * chosen_accuracy(run.control)[0]}


def _gain(rows: Sequence[Row], method: str, peers: tuple[str, ...]) -> float:
    """NaN where there is no such row: no comparison with it holds."""
    wanted = (method, " and ".join(peers))
    return next(
        (
            row.metrics["gain of P1"]
            for row in rows
            if (row.fields["method"], row.fields["peers"]) == wanted
        ),
        nan,
    )


def _synergy(method: str) -> tuple[Claim, ...]:
    return (
        Claim(
            words=f"Either peer alone harms P1; {method}",
            parts=lambda rows: every(_gain(rows, method, one) < 0 for one in (FIRST, SECOND)),
        ),
        Claim(
            words=f"Both peers together help P1; {method}",
            parts=lambda rows: every([_gain(rows, method, BOTH) > 0]),
        ),
        Claim(
            words=f"Both peers together are better for P1 than either; {method}",
            parts=lambda rows: every(
                _gain(rows, method, BOTH) > _gain(rows, method, one) for one in (FIRST, SECOND)
            ),
        ),
    )


DPFL_SYNERGY = dpfl_experiment(
    "Appendix A",
    "Two peers help together where each alone harms",
    _groups,
    metrics=first_of_all,
    claims=(*_synergy(AVERAGED), *_synergy(TUNED)),
    unit="percent; percentage points",
    differs="The paper does not say which models are compared: both, averaged and tuned. P1 is "
    "tested on all test images of its four classes, and a fifth of its own validates.",
)
