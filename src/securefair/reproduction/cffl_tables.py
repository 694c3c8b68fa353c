"""Collaborative Fairness in Federated Learning: Tables 1 and 2, on MNIST.

Participants hold data of unequal size, by a power law whose exponent the paper does not state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from securefair.algorithms import Algorithm, Standalone
from securefair.algorithms.cffl import Cffl
from securefair.algorithms.dssgd import Dssgd
from securefair.algorithms.fedavg import FedAvg
from securefair.algorithms.network_population import NetworkPopulation
from securefair.algorithms.schedule import EXPONENTIAL
from securefair.data.division import divide
from securefair.data.images.digits import load_mnist
from securefair.data.partition import PowerLawPartitioner
from securefair.data.pool import DataSet, pool_of
from securefair.data.sklearn_sets import digits
from securefair.metrics import collaborative_fairness
from securefair.model.training import OptimizerConfig
from securefair.reproduction.experiment import Claim, Contender, Experiment, Finished, Row, Size

SPLIT = "imbalanced data size"
LEARNING_RATE = {5: 0.15, 10: 0.25, 20: 0.25}  # section 4.3, by participants
SAMPLES_EACH = {"smoke": 60, "cpu": 600, "paper": 600}
ROUNDS = {"smoke": 3, "cpu": 30, "paper": 30}
PARTICIPANTS = {"smoke": (5,), "cpu": (5,), "paper": (5, 10, 20)}
LOCAL_EPOCHS, PRETRAINING_EPOCHS = 2, 5


@cache
def _source(data: Path | None) -> DataSet:
    """MNIST, or scikit-learn's small digits where no folder is given."""
    if data is None:
        return DataSet(name="digits", train=pool_of(digits()))
    return load_mnist(data).data_set()


def _members(size: Size, data: Path | None, count: int) -> Callable[[int], NetworkPopulation]:
    def members(seed: int) -> NetworkPopulation:
        participants = divide(
            _source(data),
            PowerLawPartitioner(participants=count, samples=SAMPLES_EACH[size] * count),
            seed=seed,
            test="shared" if data is None else "published",
            validation="shared",
        )
        return NetworkPopulation(
            participants=tuple(participants),
            network="mlp-128-64",
            optimizer=OptimizerConfig(
                learning_rate=LEARNING_RATE[count], momentum=0, weight_decay=0, clip_norm=None
            ),
            batch_size=16,
            pretraining_epochs=0,
            local_epochs=LOCAL_EPOCHS,
            schedule=EXPONENTIAL,
            common_start=True,
        )

    return members


def _contenders(
    size: Size, data: Path | None, algorithms: Sequence[tuple[Mapping[str, Any], Any]]
) -> list[Contender]:
    return [
        Contender(
            fields={"dataset": "MNIST", "split": SPLIT, "n": count, **fields},
            members=_members(size, data, count),
            algorithm=algorithm,
            rounds=ROUNDS[size],
            control=isinstance(algorithm, Standalone),
        )
        for count in PARTICIPANTS[size]
        for fields, algorithm in algorithms
    ]


def _named(
    method: str, *, pretrain: bool | None = None, theta_u: float | None = None
) -> Mapping[str, Any]:
    return {"method": method, "pretrain": pretrain, "theta_u": theta_u}


def _cffl(pretrain: bool, theta_u: float) -> tuple[Mapping[str, Any], Algorithm[Any, Any]]:
    algorithm = Cffl(
        upload_rate=theta_u,
        local_epochs=LOCAL_EPOCHS,
        pretraining_epochs=PRETRAINING_EPOCHS if pretrain else 0,
    )
    return _named("CFFL", pretrain=pretrain, theta_u=theta_u), algorithm


ALONE = (_named("Standalone"), Standalone())
AVERAGED = (_named("FedAvg"), FedAvg(local_epochs=LOCAL_EPOCHS, schedule=EXPONENTIAL))
SELECTIVE = (_named("DSSGD", theta_u=0.1), Dssgd(upload_rate=0.1, local_epochs=LOCAL_EPOCHS))
SELECTIVE_ALL = (
    _named("DSSGD", theta_u=1.0),
    replace(SELECTIVE[1], upload_rate=1.0),
)


def fairness(run: Finished) -> Mapping[str, float]:
    """100 times the correlation of accuracies alone and in the end (Eq. 4); controls have none.

    Where everyone ends with the same accuracy there is no correlation; it then counts as 0, as no
    evidence of fairness.
    """
    if run.contender.control:
        return {}
    found = collaborative_fairness(run.control[-1].accuracy, run.records[-1].accuracy)
    return {"fairness": 0.0 if found is None else 100 * found.coefficient}


def best_accuracy(run: Finished) -> Mapping[str, float]:
    """Test accuracy of the best participant; for Standalone of the same participant."""
    return {"max_accuracy": 100 * max(run.records[-1].accuracy)}


def _values(rows: Sequence[Row], method: str, metric: str) -> list[float]:
    return [row.metrics[metric] for row in rows if row.fields["method"] == method]


TABLE_1 = Experiment(
    name="cffl-table1",
    paper="cffl",
    item="Table 1",
    shows="How closely what participants get follows what they can do alone",
    needs=("mnist.npz",),
    unit="100 x Pearson correlation",
    reference="cffl.table1",
    contenders=lambda size, data: _contenders(
        size,
        data,
        [
            ALONE,
            AVERAGED,
            SELECTIVE,
            SELECTIVE_ALL,
            *(_cffl(pretrain, theta_u) for pretrain in (False, True) for theta_u in (0.1, 1.0)),
        ],
    ),
    metrics=fairness,
    claims=(
        Claim(
            words="CFFL's fairness is above 90",
            holds=lambda rows: min(_values(rows, "CFFL", "fairness")) > 90,
        ),
        Claim(
            words="CFFL is fairer than FedAvg",
            holds=lambda rows: (
                min(_values(rows, "CFFL", "fairness")) > max(_values(rows, "FedAvg", "fairness"))
            ),
        ),
    ),
)

TABLE_2 = Experiment(
    name="cffl-table2",
    paper="cffl",
    item="Table 2",
    shows="Accuracy of the best participant",
    needs=("mnist.npz",),
    unit="percent",
    reference="cffl.table2",
    contenders=lambda size, data: _contenders(
        size, data, [ALONE, AVERAGED, SELECTIVE, _cffl(False, 0.1), _cffl(True, 0.1)]
    ),
    metrics=best_accuracy,
    claims=(
        Claim(
            words="CFFL's best participant is better than the best alone",
            holds=lambda rows: (
                max(_values(rows, "CFFL", "max_accuracy"))
                > max(_values(rows, "Standalone", "max_accuracy"))
            ),
        ),
    ),
)

CFFL_TABLES = (TABLE_1, TABLE_2)
