"""CYCle on Gossip-SGD between medical centres: Tables 4 and 7 and the figures of Fed-ISIC2019.

Also the graphs of Gossip-SGD (Figure 11).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from securefair.worth import TOPOLOGIES, WEIGHTINGS
from securefair_lab.data.catalogue import load_image_set
from securefair_lab.data.division import divide
from securefair_lab.papers import figures, measures
from securefair_lab.papers.cycle_claims import FOLLOWS_GOSSIP, GOSSIP_CLAIMS
from securefair_lab.papers.cycle_data import CENTRES, FED_ISIC, FILES, partitioner, source
from securefair_lab.papers.cycle_methods import (
    GOSSIP_ALONE,
    PRINTED_LINKS,
    RELATIVE_LINKS,
    Method,
    contenders,
    cycle_experiment,
    cycle_gossip,
    gossip,
)
from securefair_lab.papers.cycle_settings import ISIC_DIFFERS, UNSTATED, Setting
from securefair_lab.papers.experiment import (
    Claim,
    Contender,
    Contenders,
    Experiment,
    Finished,
    Measured,
    Parts,
    Row,
    Size,
)

PLAIN = gossip(extra={"topology": "complete"})
GRAPHS = tuple(gossip(name, extra={"topology": name}) for name in ("ring", "exponential"))
DRIVEN = {"topology": "complete, reputation-driven"}
MINE = cycle_gossip(extra=DRIVEN)
BETAS = (5.0, 15.0, 35.0, 50.0, 100.0)


def _hospitals(*methods: Method) -> Contenders:
    def block(size: Size, data: Path | None) -> list[Contender]:
        setting = Setting(
            size=size,
            data=data,
            dataset=FED_ISIC,
            split="natural",
            n=6,
            model=UNSTATED,
            averaged=True,
        )
        return contenders([setting], [GOSSIP_ALONE, *methods])

    return block


def _betas() -> tuple[Method, ...]:
    return tuple(
        method
        for beta in BETAS
        for method in cycle_gossip(beta, extra=DRIVEN, unprinted={"beta": beta})
    )


def _half_shared(rows: Sequence[Row], *, links: str) -> Parts:
    return measures.every(
        part
        for row in rows
        if row.fields["links"] == links
        for part in (row.metrics["P2 from P1"] >= 41, row.metrics["P2 from P1"] <= 61)
    )


HALF_SHARED = tuple(
    Claim(
        words=f"P1 shares with P2 in 51 % of rounds, as in the paper (within 10 %); {word}",
        parts=partial(_half_shared, links=links),
    )
    for links, word in ((PRINTED_LINKS, "links as printed"), (RELATIVE_LINKS, "relative links"))
)


def _samples(size: Size, data: Path | None, seed: int) -> list[Measured]:
    """How many training images of each class every centre holds."""
    if size == "smoke":
        split = divide(
            source(FED_ISIC, size, data), partitioner("natural", 6), seed=seed, test="shared"
        )
        held = {own.name: own.train.labels for own in split}
    else:
        images = load_image_set(FILES[FED_ISIC][0], data).train
        sites = np.array(images.sites)
        held = {str(site): images.labels[sites == site] for site in np.unique(sites)}
    classes = max(int(labels.max()) for labels in held.values()) + 1
    return [
        Measured(
            fields={"dataset": FED_ISIC, "participant": name},
            metrics={
                f"class {c}": float(count)
                for c, count in enumerate(np.bincount(labels, minlength=classes))
            },
        )
        for name, labels in sorted(held.items(), key=lambda own: -len(own[1]))
    ]


def _weights(size: Size, data: Path | None, seed: int) -> list[Measured]:
    """W of Gossip-SGD on each graph of six participants."""
    del size, data, seed
    return [
        Measured(
            fields={"topology": name, "participant": f"P{n}"},
            metrics={f"P{k}": float(weight) for k, weight in enumerate(row, start=1)},
        )
        for name, graph in TOPOLOGIES.items()
        for n, row in enumerate(WEIGHTINGS["uniform"](graph(6)), start=1)
    ]


def _nothing(size: Size, data: Path | None) -> Sequence[Contender]:
    del size, data
    return ()


def _no_metrics(run: Finished) -> Mapping[str, float]:
    del run
    return {}


def _sharper(rows: Sequence[Row]) -> Parts:
    found = []
    for links in (PRINTED_LINKS, RELATIVE_LINKS):
        own = {row.fields["beta"]: row.metrics for row in rows if row.fields["links"] == links}
        mild, sharp = own.get(BETAS[0]), own.get(BETAS[-1])
        if mild is None or sharp is None:
            return measures.every([])
        found += [sharp["MCG"] < mild["MCG"], sharp["pearson"] > mild["pearson"]]
    return measures.every(found)


SHARPER_IS_FAIRER = Claim(
    words="From the least to the largest beta gains fall, and follow accuracy alone more closely",
    parts=_sharper,
)

CYCLE_HOSPITALS = (
    cycle_experiment(
        "Table 4",
        "Fed-ISIC2019: CYCle against Gossip-SGD",
        _hospitals(PLAIN, *MINE),
        datasets=(FED_ISIC,),
        claims=GOSSIP_CLAIMS,
        draw=figures.participant_bars,
        differs=ISIC_DIFFERS,
    ),
    cycle_experiment(
        "Table 7",
        "Fed-ISIC2019: CYCle against Gossip-SGD on three graphs",
        _hospitals(PLAIN, *GRAPHS, *MINE),
        datasets=(FED_ISIC,),
        claims=GOSSIP_CLAIMS,
        draw=figures.plane("MCG", "CGS", "right and low"),
        differs=ISIC_DIFFERS,
    ),
    cycle_experiment(
        "Figure 7",
        "Fed-ISIC2019: accuracy of each centre alone and under CYCle",
        _hospitals(*MINE),
        metrics=measures.participants,
        datasets=(FED_ISIC,),
        draw=figures.participant_bars,
        differs=ISIC_DIFFERS,
    ),
    Experiment(
        name="cycle-figure11",
        paper="cycle",
        item="Figure 11",
        shows="Three graphs of six participants, and the weights of Gossip-SGD on them",
        needs=(),
        unit="weight",
        reference=None,
        contenders=_nothing,
        metrics=_no_metrics,
        measure=_weights,
        draw=figures.row_map("weight"),
    ),
    Experiment(
        name="cycle-figure13",
        paper="cycle",
        item="Figure 13",
        shows="Fed-ISIC2019: training images of each class at each centre",
        needs=("ham10000.npz",),
        unit="images",
        reference=None,
        contenders=_nothing,
        metrics=_no_metrics,
        measure=_samples,
        draw=figures.row_map("images"),
        differs=f"{CENTRES} of the six centres.",
    ),
    cycle_experiment(
        "Figure 14",
        "Fed-ISIC2019: in which share of rounds each centre got each other's model",
        _hospitals(*MINE),
        metrics=measures.sharing,
        datasets=(FED_ISIC,),
        claims=HALF_SHARED,
        draw=figures.sharing_maps,
        unit="percent of rounds",
        differs=ISIC_DIFFERS,
    ),
    cycle_experiment(
        "Figure 15",
        "Fed-ISIC2019: accuracy of each centre with every method",
        _hospitals(PLAIN, *GRAPHS, *MINE),
        metrics=measures.participants,
        datasets=(FED_ISIC,),
        draw=figures.participant_bars,
        differs=ISIC_DIFFERS,
    ),
    cycle_experiment(
        "Figure 16",
        "Fed-ISIC2019: whether accuracies after follow those before",
        _hospitals(PLAIN, GRAPHS[0], *MINE),
        metrics=measures.collaboration_and_correlation,
        datasets=(FED_ISIC,),
        claims=FOLLOWS_GOSSIP,
        draw=figures.correlation_panels,
        differs=ISIC_DIFFERS,
    ),
    cycle_experiment(
        "Figure 23",
        "Fed-ISIC2019: sharpness beta between gain and fairness",
        _hospitals(*_betas()),
        metrics=measures.collaboration_and_correlation,
        datasets=(FED_ISIC,),
        claims=(SHARPER_IS_FAIRER,),
        draw=figures.plane("MCG", "pearson", "right and high"),
        differs="The paper does not name the data of this figure. " + ISIC_DIFFERS,
    ),
)
