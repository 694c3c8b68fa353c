"""The methods that DPFL's experiments compare, and rows made of methods and settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from securefair.worth import Algorithm
from securefair_lab.algorithms import GossipSgd, Standalone
from securefair_lab.papers.algorithms import (
    Apfl,
    Ditto,
    Dpfl,
    FedAvg,
    FedProx,
    FedRep,
    FineTuned,
    KnnPer,
    Pacfl,
    PerFedAvg,
    PFedGraph,
)
from securefair_lab.papers.dpfl_settings import CIFAR10, DIFFERS, FILES, PRINTED_N, Setting, peers
from securefair_lab.papers.experiment import (
    Claim,
    Contender,
    Contenders,
    Draw,
    Experiment,
    Fields,
    Metrics,
)
from securefair_lab.papers.measures import personalised


@dataclass(frozen=True, kw_only=True)
class Method:
    """A row of a table in any setting.

    Args:
        algorithm: of a setting.
        extra: fields of the row, ours and the paper's.
        printed: fields that the paper's row has besides or otherwise.
        rounds: more than the setting's.
    """

    name: str
    algorithm: Callable[[Setting], Algorithm[Any, Any]]
    extra: Fields
    printed: Fields
    rounds: int = 0


def _plain(name: str, algorithm: Callable[[Setting], Algorithm[Any, Any]], rounds: int) -> Method:
    return Method(name=name, algorithm=algorithm, extra={}, printed={}, rounds=rounds)


def _fedavg(setting: Setting) -> FedAvg:
    return FedAvg(local_epochs=setting.scale.local_epochs)


def _fedprox(setting: Setting) -> FedProx:
    return FedProx(mu=0.1, local_epochs=setting.scale.local_epochs)


def _tuned(of: Callable[[Setting], FedAvg]) -> Callable[[Setting], FineTuned]:
    return lambda setting: FineTuned(
        of=of(setting), rounds=setting.scale.rounds, epochs=2 * setting.scale.local_epochs
    )


def _apfl(setting: Setting) -> Apfl:
    return Apfl(local_epochs=setting.scale.local_epochs)


def _per_fedavg(setting: Setting) -> PerFedAvg:
    """One step at this rate hardly moves a model: adapted as long as a round trains."""
    epochs = setting.scale.local_epochs
    return PerFedAvg(alpha=0.01, local_epochs=epochs, adaptation_epochs=epochs)


def _ditto(setting: Setting) -> Ditto:
    return Ditto(of=_fedavg(setting), epochs=setting.scale.local_epochs, pull=0.75)


def _fedrep(setting: Setting) -> FedRep:
    return FedRep(head_epochs=setting.scale.local_epochs, body_epochs=1)


def _knn_per(setting: Setting) -> KnnPer:
    return KnnPer(of=_fedavg(setting), neighbours=10, weight=0.5)


def _pacfl(setting: Setting) -> Pacfl:
    return Pacfl(threshold=1.0, local_epochs=setting.scale.local_epochs, scored="trained")


def _pfedgraph(setting: Setting) -> PFedGraph:
    return PFedGraph(local_epochs=setting.scale.local_epochs, scored="trained")


# DPFL's preparation counts as two rounds of the others; alone, it is the same epochs.
LOCAL = _plain("Local Only", lambda _: Standalone(), -2)
FEDAVG = _plain("FedAvg", _fedavg, 0)
FEDPROX = _plain("FedProx", _fedprox, 0)
TUNED_FEDAVG = _plain("FedAvg+FT", _tuned(_fedavg), 1)
TUNED_FEDPROX = _plain("FedProx+FT", _tuned(_fedprox), 1)
PERSONALISED = (  # with what App. H.6 says of them
    _plain("APFL", _apfl, 0),
    _plain("PerFedAvg", _per_fedavg, 0),
    _plain("Ditto", _ditto, 0),
    _plain("FedRep", _fedrep, 0),
    _plain("kNN-Per", _knn_per, 0),
    _plain("PACFL", _pacfl, 0),
    _plain("pFedGraph", _pfedgraph, 0),
)

# What Table 1 compares with, in its order.
BASELINES = (FEDAVG, TUNED_FEDAVG, FEDPROX, TUNED_FEDPROX, *PERSONALISED)


def dpfl(
    budget: str,
    *,
    name: str = "DPFL",
    extra: Fields | None = None,
    printed: Fields | None = None,
    pretraining: int | None = None,
    **options: Any,
) -> Method:
    """DPFL under a budget, with options of `algorithms.Dpfl`.

    Models are scored where the published code scores them: trained from the last average.

    Args:
        pretraining: tau_init; None for the setting's.
    """

    def algorithm(setting: Setting) -> Dpfl:
        scale = setting.scale
        return Dpfl(
            budget=peers(budget, scale.participants),
            pretraining_epochs=scale.pretraining if pretraining is None else pretraining,
            local_epochs=scale.local_epochs,
            scored="trained",
            **options,
        )

    return Method(
        name=name,
        algorithm=algorithm,
        extra={"budget": budget, **(extra or {})},
        printed=printed or {},
        rounds=-2,
    )


def random_gossip(budget: str, *, printed: Fields | None = None) -> Method:
    """Decentralised SGD on a graph drawn anew in every round."""

    def algorithm(setting: Setting) -> GossipSgd:
        scale = setting.scale
        return GossipSgd(
            topology="random",
            degree=peers(budget, scale.participants),
            pretraining_epochs=scale.pretraining,
            local_epochs=scale.local_epochs,
            scored="trained",
        )

    return Method(
        name="Decentralized SGD",
        algorithm=algorithm,
        extra={"budget": budget},
        printed=printed or {},
        rounds=-2,
    )


def contenders(
    settings: Sequence[Setting], methods: Sequence[Method], *, control: bool = True
) -> list[Contender]:
    """Every method in every setting, and each alone, which gains would be over.

    Args:
        control: whether training alone is a row of the table, or only its control.
    """
    result = []
    for setting in settings:
        ours: Fields = {
            "dataset": setting.dataset,
            "split": setting.split,
            "n": setting.scale.participants,
            **({"labels": "40 % permuted"} if setting.malicious else {}),
        }
        paper = {**ours, "n": PRINTED_N[setting.dataset]}
        for method in (*([LOCAL] if control else []), *methods):
            fields = {"method": method.name, **method.extra}
            result.append(
                Contender(
                    fields={**ours, **fields},
                    members=setting,
                    algorithm=method.algorithm(setting),
                    rounds=setting.scale.rounds + method.rounds,
                    control=method is LOCAL,
                    compared={**paper, **fields, **method.printed},
                )
            )
    return result


def dpfl_experiment(
    item: str,
    shows: str,
    contenders: Contenders,
    *,
    metrics: Metrics = personalised,
    datasets: Sequence[str] = (CIFAR10,),
    paper_datasets: Sequence[str] | None = None,
    claims: tuple[Claim, ...] = (),
    draw: Draw | None = None,
    unit: str = "percent; variance of percentages",
    differs: str = "",
) -> Experiment:
    """An experiment named after its item in the paper: "Table 1" is dpfl-table1.

    Args:
        paper_datasets: of the size "paper", where they are others.
    """
    word = item.lower().replace(" ", "")
    return Experiment(
        name=f"dpfl-{word}",
        paper="dpfl",
        item=item,
        shows=shows,
        needs=tuple(FILES[name][1] for name in datasets),
        paper_needs=(
            None if paper_datasets is None else tuple(FILES[name][1] for name in paper_datasets)
        ),
        unit=unit,
        reference=f"dpfl.{word}" if word.startswith("table") else None,
        contenders=contenders,
        metrics=metrics,
        claims=claims,
        draw=draw,
        differs=" ".join(part for part in (differs, DIFFERS) if part),
    )
