"""Collaborative Fairness in Federated Learning (Lyu, Xu, Wang 2020): its tables and figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import nan
from pathlib import Path

import numpy as np

from securefair_lab.papers.cffl_settings import (
    ADULT,
    ALONE,
    AVERAGED,
    CFFLS,
    CFFLS_PRINTED,
    DIFFERS,
    FREE_RIDER,
    MNIST,
    MNIST_CLASSES,
    SELECTIVE,
    SELECTIVE_ALL,
    Setting,
    Task,
    contenders,
)
from securefair_lab.papers.correlation import collaborative_fairness
from securefair_lab.papers.experiment import (
    Claim,
    Contender,
    Experiment,
    Finished,
    Parts,
    Row,
    Size,
)
from securefair_lab.papers.figures import participant_curves
from securefair_lab.papers.measures import every, participants_and_collaboration, percent


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
    """Test accuracy of the best participant; for Standalone of the best alone."""
    return {"max_accuracy": max(percent(run.records[-1]))}


def _least_over_most(rows: Sequence[Row], metric: str, mine: str, theirs: str) -> Parts:
    """Whether a method's smallest number exceeds another's largest, in every setting."""
    found: dict[object, dict[tuple[object, ...], list[float]]] = {mine: {}, theirs: {}}
    for row in rows:
        setting = tuple(row.fields[key] for key in ("dataset", "n"))
        if row.fields["method"] in found:
            found[row.fields["method"]].setdefault(setting, []).append(row.metrics[metric])
    return every(
        own > other
        for setting, values in found[mine].items()
        for own in values
        for other in found[theirs].get(setting, [nan])
    )


TABLE_1 = Experiment(
    name="cffl-table1",
    paper="cffl",
    item="Table 1",
    shows="How closely what participants get follows what they can do alone",
    needs=("mnist.npz", "adult.csv.gz"),
    unit="100 x Pearson correlation",
    reference="cffl.table1",
    contenders=lambda size, data: contenders(
        (MNIST, ADULT),
        (ALONE, AVERAGED, SELECTIVE, SELECTIVE_ALL, *CFFLS, *CFFLS_PRINTED),
        size,
        data,
    ),
    metrics=fairness,
    claims=(
        Claim(
            words="CFFL's fairness on MNIST is above 90",
            parts=lambda rows: every(
                value > 90
                for key, value in _of_methods(rows, "fairness", "CFFL").items()
                if "MNIST" in key
            ),
        ),
        Claim(
            words="CFFL is fairer than FedAvg",
            parts=lambda rows: _least_over_most(rows, "fairness", "CFFL", "FedAvg"),
        ),
        Claim(
            words="CFFL is fairer than DSSGD",
            parts=lambda rows: _least_over_most(rows, "fairness", "CFFL", "DSSGD"),
        ),
    ),
    differs=DIFFERS,
)

TABLE_2 = Experiment(
    name="cffl-table2",
    paper="cffl",
    item="Table 2",
    shows="Accuracy of the best participant",
    needs=("mnist.npz", "adult.csv.gz"),
    unit="percent",
    reference="cffl.table2",
    contenders=lambda size, data: contenders(
        (MNIST, ADULT),
        (ALONE, AVERAGED, SELECTIVE, *CFFLS[::2], *CFFLS_PRINTED[::2]),
        size,
        data,
    ),
    metrics=best_accuracy,
    claims=(
        Claim(
            words="Without pretraining, CFFL's best participant is better than the best alone",
            parts=lambda rows: _least_over_most(
                [row for row in rows if not row.fields["pretrain"]],
                "max_accuracy",
                "CFFL",
                "Standalone",
            ),
        ),
        Claim(
            words="FedAvg is more accurate than CFFL",
            parts=lambda rows: _least_over_most(rows, "max_accuracy", "FedAvg", "CFFL"),
        ),
    ),
    differs=DIFFERS,
)


def _of_methods(rows: Sequence[Row], metric: str, method: str) -> dict[tuple[object, ...], float]:
    """A metric of all of a method's rows, by every field."""
    return {
        tuple(row.fields.values()): row.metrics[metric]
        for row in rows
        if row.fields["method"] == method
    }


def _everyone_gains(*, pretrain: bool) -> Claim:
    return Claim(
        words="Everyone ends better than alone in the mean over seeds, "
        f"{'with' if pretrain else 'without'} pretraining",
        parts=lambda rows: every(
            row.metrics["least gain"] > 0
            for row in rows
            if row.fields["method"] == "CFFL" and row.fields["pretrain"] is pretrain
        ),
    )


def _ends(rows: Sequence[Row]) -> list[list[float]]:
    """Everyone's accuracy in each of CFFL's rows, who contributes most last."""
    return [
        [value for name, value in row.metrics.items() if name[1:].isdigit()]
        for row in rows
        if row.fields["method"] == "CFFL"
    ]


DIFFERENT_MODELS = Claim(
    words="Participants end with models of different accuracy, the first's below the best",
    parts=lambda rows: every(own[0] < max(own) for own in _ends(rows)),
)
BEST_FOR_THE_LAST = Claim(
    words="Who contributes most ends with the best model",
    parts=lambda rows: every(own[-1] >= other for own in _ends(rows) for other in own[:-1]),
)


def _curves(number: int, task: Task, shows: str) -> Experiment:
    return Experiment(
        name=f"cffl-figure{number}",
        paper="cffl",
        item=f"Figure {number}",
        shows=shows,
        needs=("adult.csv.gz" if task == ADULT else "mnist.npz",),
        unit="percent; percentage points",
        reference=None,
        contenders=lambda size, data: contenders(
            (task,),
            (ALONE, *CFFLS),
            size,
            data,
            numbers=(5,) if task == MNIST_CLASSES else None,
        ),
        metrics=participants_and_collaboration,
        claims=(
            _everyone_gains(pretrain=False),
            _everyone_gains(pretrain=True),
            DIFFERENT_MODELS,
            BEST_FOR_THE_LAST,
        ),
        draw=participant_curves,
        differs=DIFFERS,
    )


def _ridden(size: Size, data: Path | None) -> list[Contender]:
    """CFFL with an honest P3, which is the control, and with one that sends noise."""
    result = []
    for free in (False, True):
        setting = Setting(task=MNIST, size=size, data=data, n=5, free_rider=free)
        result.append(
            Contender(
                fields={
                    **setting.fields,
                    **CFFLS[1].fields,
                    "free_rider": FREE_RIDER if free else None,
                },
                members=setting,
                algorithm=CFFLS[1].algorithm(MNIST),
                rounds=setting.rounds,
                control=not free,
            )
        )
    return result


def isolation(run: Finished) -> Mapping[str, float]:
    """Rounds in which the free rider was paid, and what its noise costs the others."""
    if run.contender.control:
        return {}
    rider = int(FREE_RIDER[1:]) - 1
    present = np.array([record.present for record in run.records])
    accuracy, before = percent(run.records[-1]), percent(run.control[-1])
    honest = [n for n in range(len(accuracy)) if n != rider]
    return {
        "rounds paid": float(present[:, rider].sum()),
        "honest isolated": float((~present[-1, honest]).sum()),
        "honest accuracy": float(np.mean([accuracy[n] for n in honest])),
        "cost to the honest": float(np.mean([before[n] - accuracy[n] for n in honest])),
    }


FREE_RIDING = Experiment(
    name="cffl-free-rider",
    paper="cffl",
    item="Section 5",
    shows="A free rider is isolated early, and costs the others nothing",
    needs=("mnist.npz",),
    unit="rounds; participants; percent; percentage points",
    reference=None,
    contenders=_ridden,
    metrics=isolation,
    claims=(
        Claim(
            words="The free rider is isolated within ten rounds, and nobody else",
            parts=lambda rows: every(
                part
                for row in rows
                for part in (
                    row.metrics["rounds paid"] < 10,
                    row.metrics["honest isolated"] == 0,
                )
            ),
        ),
    ),
    differs="One of five participants uploads uniform noise within the clipping bounds.",
)

CFFL_TABLES = (
    TABLE_1,
    TABLE_2,
    _curves(1, MNIST, "Everyone's accuracy over the rounds, MNIST"),
    _curves(2, ADULT, "Everyone's accuracy over the rounds, Adult"),
    _curves(3, MNIST_CLASSES, "Everyone's accuracy where participants hold 1 to 10 classes"),
    FREE_RIDING,
)
