"""Fair swarm learning of networks: Tables 1, 2 and 3, Figures 3 to 8."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from securefair.worth import Algorithm
from securefair_lab.algorithms import Standalone
from securefair_lab.papers.algorithms import FedAvg
from securefair_lab.papers.algorithms.fairsl import FairSl
from securefair_lab.papers.experiment import (
    Claim,
    Contender,
    Experiment,
    Finished,
    Measured,
    Parts,
    Row,
    Size,
)
from securefair_lab.papers.fairsl_forests import ALONE, EQUAL, FOUR, JUMP, THREE
from securefair_lab.papers.fairsl_settings import (
    CIFAR,
    DIFFERS,
    FASHION,
    HUNDRED,
    REUTERS,
    TASKS,
    Setting,
    Task,
    available,
    source,
)
from securefair_lab.papers.figures import participant_bars
from securefair_lab.papers.measures import every, participants, percent

METHOD = "fair SL (neural network)"


def contenders(
    tasks: Sequence[Task], ratios: tuple[float, ...], *, alone: bool
) -> Callable[[Size, Path | None], Sequence[Contender]]:
    """Fair swarm learning on each task; with `alone`, beside local and standard swarm learning."""

    def listed(size: Size, data: Path | None) -> list[Contender]:
        result = []
        for task in available(tasks, size):
            setting = Setting(task=task, size=size, data=data, ratios=ratios)
            training = setting.training
            rounds = training.epochs * len(ratios)
            fair = FairSl(epochs_per_cycle=(training.epochs,), rate_factors=setting.rate_factors)
            methods: list[tuple[str, Algorithm[Any, Any]]] = [(METHOD, fair)]
            if alone:
                equal = FedAvg(schedule=setting.schedule, keep_momentum=True)
                methods = [(ALONE, Standalone()), *methods, (EQUAL, equal)]
            result += [
                Contender(
                    fields={**setting.fields, "method": name},
                    compared={**setting.printed, "method": name},
                    members=setting,
                    algorithm=algorithm,
                    rounds=rounds,
                    control=name == (ALONE if alone else METHOD),
                )
                for name, algorithm in methods
            ]
        return result

    return listed


def decreases(run: Finished) -> Mapping[str, float]:
    """By how many percent the error falls from each participant to the next, smallest first."""
    error = 100 - np.array(percent(run.records[-1]))
    return {
        f"{n}->{n + 1}": 100 * float((error[n - 1] - error[n]) / error[n - 1])
        for n in range(1, len(error))
    }


def _setup(size: Size, data: Path | None, seed: int) -> list[Measured]:
    """Table 1: what is trained on what, as it is done here."""
    del seed
    result = []
    for task in available(TASKS, size):
        setting = Setting(task=task, size=size, data=data, ratios=THREE)
        whole = source(task, size, data)
        test = 0 if whole.test is None else len(whole.test.labels)
        result.append(
            Measured(
                fields={"dataset": task.dataset},
                metrics={
                    "epochs_per_cycle": setting.training.epochs,
                    "learning_rate": setting.training.rate,
                    "batch_size": setting.training.batch,
                    "train_samples": len(whole.train.labels),
                    "test_samples": test,
                    "classes": whole.train.classes,
                },
            )
        )
    return result


def _files(tasks: Sequence[Task], size: Size) -> tuple[str, ...]:
    return tuple(
        "mnist.npz" if task is FASHION and size == "cpu" else task.file
        for task in available(tasks, size)
    )


def _network_experiment(
    item: str,
    shows: str,
    tasks: Sequence[Task],
    ratios: tuple[float, ...],
    claims: tuple[Claim, ...],
) -> Experiment:
    kind, number = item.split()
    table = kind == "Table"
    sizes: tuple[Size, ...] = ("smoke", "cpu", "paper")
    if not available(tasks, "cpu"):
        sizes = ("smoke", "paper")
    return Experiment(
        name=f"fairsl-{kind.lower()}{number}",
        paper="fairsl",
        item=item,
        shows=shows,
        needs=_files(tasks, sizes[1]),
        paper_needs=_files(tasks, "paper"),
        unit="percent, relative decrease of the error" if table else "percent",
        reference=f"fairsl.table{number}" if table else None,
        contenders=contenders(tasks, ratios, alone=not table),
        metrics=decreases if table else participants,
        claims=claims,
        draw=None if table else participant_bars,
        differs=DIFFERS,
        sizes=sizes,
    )


def _level(rows: Sequence[Row], method: str) -> list[list[float]]:
    return [list(row.metrics.values()) for row in rows if row.fields["method"] == method]


def _helps(rows: Sequence[Row]) -> Parts:
    return every(
        bool(np.mean(fair) > np.mean(alone))
        for fair, alone in zip(_level(rows, METHOD), _level(rows, ALONE), strict=True)
    )


def _helps_everyone(rows: Sequence[Row]) -> Parts:
    return every(
        with_others > by_itself
        for fair, alone in zip(_level(rows, METHOD), _level(rows, ALONE), strict=True)
        for with_others, by_itself in zip(fair, alone, strict=True)
    )


MONOTONE = Claim(
    words="Every participant errs less than the next smaller one in the mean over seeds",
    parts=lambda rows: every(step > 0 for row in rows for step in row.metrics.values()),
)
HELPS = Claim(words="On average participants end better than alone", parts=_helps)
EVERYONE_GAINS = Claim(
    words="Every participant ends better than alone in the mean over seeds", parts=_helps_everyone
)
ALONE_FAIR_EQUAL = "alone, fairly rewarded, and all alike"

NETWORK_EXPERIMENTS = (
    Experiment(
        name="fairsl-table1",
        paper="fairsl",
        item="Table 1",
        shows="Data sets of the networks, and their training",
        needs=_files(TASKS, "cpu"),
        paper_needs=_files(TASKS, "paper"),
        unit="counts; learning rate",
        reference="fairsl.table1",
        measure=_setup,
        differs=DIFFERS,
    ),
    _network_experiment(
        "Table 2",
        "What a larger share of the data is worth, three participants with networks",
        TASKS,
        THREE,
        (MONOTONE,),
    ),
    _network_experiment(
        "Table 3",
        "Participants of nearly equal size get nearly equal networks, four participants",
        (FASHION, HUNDRED),
        FOUR,
        (JUMP,),
    ),
    *(
        _network_experiment(
            f"Figure {number}",
            f"{task.dataset}, {len(ratios)} participants: {ALONE_FAIR_EQUAL}",
            (task,),
            ratios,
            (HELPS, EVERYONE_GAINS),
        )
        for number, task, ratios in (
            (3, CIFAR, THREE),
            (4, HUNDRED, THREE),
            (5, FASHION, THREE),
            (6, REUTERS, THREE),
            (7, HUNDRED, FOUR),
            (8, FASHION, FOUR),
        )
    ),
)
