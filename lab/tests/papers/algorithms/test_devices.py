"""Algorithms keep their tensors on one device, shown on a device that is only pretended."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from securefair.model.architectures import ARCHITECTURES
from securefair.worth.early_stopping import EarlyStopping
from securefair_lab.algorithms.cycle import Cycle
from securefair_lab.algorithms.cycle_gossip import CycleGossip
from securefair_lab.algorithms.free_riding import FreeRide
from securefair_lab.algorithms.gossip_sgd import GossipSgd
from securefair_lab.algorithms.standalone import Standalone
from securefair_lab.algorithms.vpdl import Vpdl
from securefair_lab.papers.algorithms import (
    Apfl,
    Ditto,
    FedRep,
    KnnPer,
    Pacfl,
    PerFedAvg,
    PFedGraph,
)
from securefair_lab.papers.algorithms.cffl import Cffl
from securefair_lab.papers.algorithms.cgsv import Cgsv
from securefair_lab.papers.algorithms.dpfl import Dpfl
from securefair_lab.papers.algorithms.dssgd import Dssgd
from securefair_lab.papers.algorithms.fairsl import FairSl
from securefair_lab.papers.algorithms.fedavg import FedAvg
from securefair_lab.papers.algorithms.fedprox import FedProx
from securefair_lab.papers.algorithms.fine_tuned import FineTuned
from securefair_lab.papers.algorithms.rffl import Rffl


def normed(shape: tuple[int, ...], classes: int) -> nn.Module:
    return nn.Sequential(
        nn.Linear(shape[0], 5), nn.BatchNorm1d(5), nn.ReLU(), nn.Linear(5, classes)
    )


def test_the_pretence_refuses_what_cuda_refuses(pretended_device: torch.device) -> None:
    far, near = torch.ones(3).to(pretended_device), torch.ones(3)
    assert far.device == pretended_device
    for mixed in (
        lambda: far + near,
        lambda: torch.where(near > 0, far, 0.0),
        lambda: torch.cat([far, near]),
        lambda: near[torch.zeros(1, dtype=torch.long, device=pretended_device)],
    ):
        with pytest.raises(RuntimeError, match="same device"):
            mixed()
    with pytest.raises(RuntimeError, match="numpy"):
        far.numpy()
    assert far[torch.tensor([0])].device == pretended_device
    assert (far * 2).cpu().numpy().tolist() == [2, 2, 2]


ALGORITHMS = [
    Standalone(),
    EarlyStopping(rounds=2),
    FedAvg(),
    FedProx(),
    FineTuned(of=FedAvg(), rounds=1, epochs=1),
    Vpdl(),
    Cycle(),
    GossipSgd(pretraining_epochs=1),
    CycleGossip(pretraining_epochs=1, forced_every=2),
    Cffl(pretraining_epochs=1),
    Cffl(upload_rate=0.3, imbalance="classes"),
    Dssgd(pretraining_epochs=1),
    Rffl(warm_up=1, local_epochs=1),
    Cgsv(),
    Dpfl(pretraining_epochs=1, local_epochs=1, budget=1),
    FairSl(epochs_per_cycle=(1,), frozen_layers=1),
    Apfl(),
    Ditto(),
    FedRep(head_epochs=1),
    KnnPer(weight=None),
    Pacfl(threshold=40.0),
    PerFedAvg(),
    PerFedAvg(variant="hessian_free"),
    PFedGraph(),
]


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda one: one.name)
def test_results_elsewhere_are_those_of_the_processor(
    algorithm: Any,
    make_networks: Any,
    pretended_device: torch.device,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(ARCHITECTURES, "normed", normed)

    def run(device: str) -> tuple[Any, Any, Any]:
        population = make_networks(
            network="normed",
            sizes=(10, 20, 20),
            batch_size=10,
            validation=10,
            device=device,
            free_riders={"c": FreeRide(scale=0.1)},
        )
        state = algorithm.init(population, 1)
        records = []
        for _ in range(2):
            state, record = algorithm.round(state, population)
            records.append(record)
        return records, state.train_states.vectors, state.train_states.momentum

    expected, here, _ = run("cpu")
    found, there, momentum = run(pretended_device.type)
    assert there.device == momentum.device == pretended_device
    torch.testing.assert_close(there.cpu(), here)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one.accuracy, other.accuracy)
        np.testing.assert_allclose(one.cross_entropy, other.cross_entropy)
        assert (one.answered, one.numbers_sent) == (other.answered, other.numbers_sent)
