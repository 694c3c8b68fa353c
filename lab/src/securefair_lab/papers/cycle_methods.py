"""The methods that CYCle's experiments compare, and rows made of methods and settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from securefair.worth import Algorithm, EarlyStopping
from securefair_lab.algorithms import CycleGossip, GossipSgd, Standalone, Vpdl
from securefair_lab.algorithms.cycle import Cycle
from securefair_lab.papers.algorithms import FedAvg
from securefair_lab.papers.algorithms.cffl import Cffl
from securefair_lab.papers.algorithms.cgsv import Cgsv
from securefair_lab.papers.algorithms.fedmd import FedMd
from securefair_lab.papers.algorithms.one_shot import OneShot
from securefair_lab.papers.algorithms.rffl import Rffl
from securefair_lab.papers.cycle_data import CENTRES, CIFAR10, FILES
from securefair_lab.papers.cycle_settings import DIFFERS, TEMPERATURE, Scale, Setting
from securefair_lab.papers.experiment import (
    Claim,
    Contender,
    Contenders,
    Draw,
    Experiment,
    Fields,
    Metrics,
)
from securefair_lab.papers.measures import collaboration


@dataclass(frozen=True, kw_only=True)
class Method:
    """A row of a table in any setting.

    Args:
        family: "FL", "PDL", "gossip" or "none", as the paper's rows are sorted; "public" of what
            distils on public images.
        algorithm: of a scale, which gives pretraining and schedule.
        federated: without epochs alone; the rounds make up for them.
        extra: further fields of the row.
        unprinted: further fields that tell our runs apart, but not the paper's rows.
        alignment_temperature: another than the setting's.
    """

    name: str
    family: str
    algorithm: Callable[[Scale], Algorithm[Any, Any]]
    federated: bool = False
    extra: Fields | None = None
    unprinted: Fields | None = None
    alignment_temperature: float | None = None


PRINTED_LINKS, RELATIVE_LINKS = "as printed", "relative"
"""How often links exist in CYCle on Gossip-SGD: by their weight, or by it beside the largest."""

SOFTENED, PLAIN = "softened", "plain"
"""What alignment compares distillation with: the cross-entropy of logits softened by the same
temperature, as section 4.1 words it, or the one that is trained with, as Alg. 2 has one gradient
for both."""

ALONE = Method(name="Standalone", family="none", algorithm=lambda _: Standalone())
FEDAVG = Method(
    name="FedAvg",
    family="FL",
    algorithm=lambda scale: FedAvg(schedule=scale.federated_schedule),
    federated=True,
)
VPDL = Method(name="VPDL", family="PDL", algorithm=lambda _: Vpdl())
CYCLE = Method(
    name="CYCle", family="PDL", algorithm=lambda _: Cycle(), unprinted={"alignment": SOFTENED}
)
CYCLE_PLAIN = replace(CYCLE, unprinted={"alignment": PLAIN}, alignment_temperature=1.0)
CFFL = Method(
    name="CFFL",
    family="FL",
    algorithm=lambda scale: Cffl(local_epochs=1, schedule=scale.rewarded_schedule),
    federated=True,
)
RFFL = Method(
    name="RFFL",
    family="FL",
    algorithm=lambda scale: Rffl(schedule=scale.rewarded_schedule),
    federated=True,
)
CGSV = Method(
    name="CGSV",
    family="FL",
    algorithm=lambda scale: Cgsv(schedule=scale.rewarded_schedule),
    federated=True,
)
TUNED_ALONE = Method(
    name="tuned alone",
    family="none",
    algorithm=lambda scale: EarlyStopping(rounds=scale.rounds, folds=5),
)
"""Training alone that stops where cross-validation on the own samples says."""
FEDMD = Method(name="FedMD", family="public", algorithm=lambda _: FedMd(temperature=TEMPERATURE))
ONE_SHOT = Method(
    name="one-shot distillation",
    family="public",
    algorithm=lambda scale: OneShot(
        after=scale.rounds - 1,
        epochs=scale.pretraining + scale.rounds,
        temperature=TEMPERATURE,
    ),
)
GOSSIP_ALONE = Method(name="Standalone", family="gossip", algorithm=lambda _: Standalone())


def gossip(topology: Any = "complete", *, extra: Fields | None = None) -> Method:
    """Gossip-SGD on a graph."""
    return Method(
        name="Gossip-SGD",
        family="gossip",
        algorithm=lambda scale: GossipSgd(
            topology=topology, pretraining_epochs=scale.pretraining, schedule=scale.schedule
        ),
        extra=extra,
    )


def cycle_gossip(
    beta: float = 15.0, *, extra: Fields | None = None, unprinted: Fields | None = None
) -> tuple[Method, Method]:
    """CYCle on Gossip-SGD, from a complete graph, with both rules for links.

    As Alg. 3 prints it a link exists as often as its weight, which is 1 / N of rounds where all
    are alike; the other rule takes the weight beside the largest (`CycleGossip.relative`).
    """

    def method(relative: bool, links: str) -> Method:
        return Method(
            name="CYCle",
            family="gossip",
            algorithm=lambda scale: CycleGossip(
                beta=beta,
                relative=relative,
                pretraining_epochs=scale.pretraining,
                schedule=scale.schedule,
            ),
            extra=extra,
            unprinted={"links": links, **(unprinted or {})},
        )

    return method(False, PRINTED_LINKS), method(True, RELATIVE_LINKS)


def contenders(
    settings: Sequence[Setting], methods: Sequence[Method], *, unprinted: Fields | None = None
) -> list[Contender]:
    """Every method in every setting.

    Args:
        unprinted: fields that tell our runs apart, but not the paper's rows.
    """
    result = []
    for setting in settings:
        for method in methods:
            printed = {
                **setting.fields,
                "family": method.family,
                "method": method.name,
                **(method.extra or {}),
            }
            ours = {**printed, **(method.unprinted or {}), **(unprinted or {})}
            if setting.split == "natural" and setting.size != "smoke":
                ours["n"] = CENTRES
            scale = setting.scale
            gossiping = method.family == "gossip"
            result.append(
                Contender(
                    fields=ours,
                    members=setting
                    if method.alignment_temperature is None
                    else replace(setting, alignment_temperature=method.alignment_temperature),
                    algorithm=method.algorithm(scale),
                    rounds=scale.rounds + (scale.pretraining if method.federated else 0),
                    control=isinstance(method.algorithm(scale), Standalone),
                    apart=f"{setting.model} {gossiping}",
                    compared=printed,
                )
            )
    return result


def cycle_experiment(
    item: str,
    shows: str,
    contenders: Contenders,
    *,
    metrics: Metrics = collaboration,
    datasets: Sequence[str] = (CIFAR10,),
    paper_datasets: Sequence[str] | None = None,
    claims: tuple[Claim, ...] = (),
    draw: Draw | None = None,
    unit: str = "percent and percentage points",
    differs: str = DIFFERS,
    printed: str | None = None,
) -> Experiment:
    """An experiment named after its item in the paper: "Table 1" is cycle-table1.

    Args:
        paper_datasets: of the size "paper", where they are others.
        printed: the table that prints the numbers of a figure.
    """
    word = item.lower().replace(" ", "")
    return Experiment(
        name=f"cycle-{word}",
        paper="cycle",
        item=item,
        shows=shows,
        needs=tuple(FILES[name][1] for name in datasets),
        paper_needs=(
            None if paper_datasets is None else tuple(FILES[name][1] for name in paper_datasets)
        ),
        unit=unit,
        reference=f"cycle.{word}" if word.startswith("table") else printed,
        contenders=contenders,
        metrics=metrics,
        claims=claims,
        draw=draw,
        differs=differs,
    )
