"""Who takes part in CYCle's experiments on CIFAR: methods over ways to divide the images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from securefair_lab.papers.cycle_data import CIFAR10, CIFAR100
from securefair_lab.papers.cycle_methods import (
    ALONE,
    CFFL,
    CGSV,
    CYCLE,
    CYCLE_PLAIN,
    FEDAVG,
    GOSSIP_ALONE,
    RFFL,
    VPDL,
    Method,
    contenders,
    cycle_gossip,
    gossip,
)
from securefair_lab.papers.cycle_settings import CNN, RESNET, UNSTATED, Setting
from securefair_lab.papers.experiment import Contender, Contenders, Size

SPLITS = (
    "homogeneous",
    "dirichlet(0.5)",
    "imbalanced(0.8,1)",
    "imbalanced(0.35,2)",
    "imbalanced(0.6,1)",
)
MORE_SPLITS = (
    "imbalanced(0.4,1)",
    "imbalanced(0.12,1)",
    "imbalanced(0.41,2)",
    "imbalanced(0.23,2)",
    "imbalanced(0.14,2)",
)
DELTAS = ("homogeneous", "dirichlet(0.5)", "dirichlet(2.0)", "dirichlet(5.0)")

DISTILLED = (ALONE, FEDAVG, VPDL, CYCLE)
BOTH_READINGS = (*DISTILLED, CYCLE_PLAIN)
REWARDED = (ALONE, CFFL, RFFL, CGSV, CYCLE)
GOSSIPING = (GOSSIP_ALONE, gossip(), *cycle_gossip())


def shown(size: Size, splits: Sequence[str]) -> Sequence[str]:
    """All, or one of unequal participants as a check."""
    return [splits[-1]] if size == "smoke" else splits


def blocks(
    splits: Sequence[str],
    *,
    dataset: str = CIFAR10,
    methods: Sequence[Method] = DISTILLED,
    model: str | None = RESNET,
    held_out: float = 0.0,
    counts: Sequence[int] = (5,),
) -> Contenders:
    """Methods on each of these splits, for so many participants each.

    Args:
        model: as the paper calls it.
        held_out: share of the images by which a server rates participants.
    """

    def block(size: Size, data: Path | None) -> list[Contender]:
        first = Setting(
            size=size,
            data=data,
            dataset=dataset,
            split="",
            n=0,
            model=model,
            held_out=held_out,
            averaged=methods[0].family == "gossip",
        )
        settings = [
            replace(first, split=split, n=n)
            for n in (counts[:1] if size == "smoke" else counts)
            for split in shown(size, splits)
        ]
        return contenders(settings, methods)

    return block


def together(*parts: Contenders) -> Contenders:
    """All parts of a table, one after the other."""
    return lambda size, data: [c for part in parts for c in part(size, data)]


def cifar_100_too(make: Callable[[str], Contenders]) -> Contenders:
    """CIFAR-10 at all sizes; CIFAR-100 at the paper's alone: two cores learn little of it."""
    return lambda size, data: [
        contender
        for dataset in ((CIFAR10, CIFAR100) if size == "paper" else (CIFAR10,))
        for contender in make(dataset)(size, data)
    ]


UPPER = blocks(SPLITS, methods=BOTH_READINGS)
LOWER = blocks(SPLITS, methods=REWARDED, model=CNN, held_out=0.1)
MORE = blocks(MORE_SPLITS)
HUNDRED = blocks(SPLITS, dataset=CIFAR100)


def both_families(counts: Sequence[int]) -> Contenders:
    """CYCle on top of distillation and of Gossip-SGD, for so many participants each."""
    return cifar_100_too(
        lambda dataset: together(
            blocks(DELTAS, dataset=dataset, methods=(ALONE, VPDL, CYCLE), counts=counts),
            blocks(DELTAS, dataset=dataset, methods=GOSSIPING, model=UNSTATED, counts=counts),
        )
    )


def twenty(dataset: str) -> Contenders:
    """Gossip-SGD and CYCle on it, among twenty participants."""
    return blocks(
        ("dirichlet(0.5)",), dataset=dataset, methods=GOSSIPING, model=UNSTATED, counts=(20,)
    )
