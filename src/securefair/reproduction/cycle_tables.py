"""CYCle on CIFAR: accuracies, gains and their spread over ways to divide the images.

Tables 1, 2, 6, 8 to 10, 12 and 13, and the figures of the same runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean

from securefair.algorithms.cycle import Cycle
from securefair.fairness import ReputationRule
from securefair.reproduction import figures, measures
from securefair.reproduction.cycle_settings import (
    ALONE,
    CFFL,
    CGSV,
    CIFAR10,
    CIFAR100,
    CNN,
    CYCLE,
    DIFFERS,
    FEDAVG,
    GOSSIP_ALONE,
    RESNET,
    RFFL,
    UNSTATED,
    VPDL,
    Method,
    Scale,
    Setting,
    contenders,
    cycle_experiment,
    cycle_gossip,
    gossip,
)
from securefair.reproduction.experiment import (
    Claim,
    Contender,
    Contenders,
    Row,
    Size,
)

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
REWARDED = (ALONE, CFFL, RFFL, CGSV, CYCLE)
GOSSIPING = (GOSSIP_ALONE, gossip(), cycle_gossip())


def _shown(size: Size, splits: Sequence[str]) -> Sequence[str]:
    """All, or one of unequal participants as a check."""
    return [splits[-1]] if size == "smoke" else splits


def _blocks(
    splits: Sequence[str],
    *,
    dataset: str = CIFAR10,
    methods: Sequence[Method] = DISTILLED,
    model: str | None = RESNET,
    validated: bool = False,
    counts: Sequence[int] = (5,),
) -> Contenders:
    def block(size: Size, data: Path | None) -> list[Contender]:
        first = Setting(
            size=size,
            data=data,
            dataset=dataset,
            split="",
            n=0,
            model=model,
            validated=validated,
            common_start=methods[0].family == "gossip",
        )
        settings = [
            replace(first, split=split, n=n)
            for n in (counts[:1] if size == "smoke" else counts)
            for split in _shown(size, splits)
        ]
        return contenders(settings, methods)

    return block


def _together(*blocks: Contenders) -> Contenders:
    return lambda size, data: [c for block in blocks for c in block(size, data)]


def _cifar_100_too(make: Callable[[str], Contenders]) -> Contenders:
    """CIFAR-10 at all sizes; CIFAR-100 at the paper's alone: two cores learn little of it."""
    return lambda size, data: [
        contender
        for dataset in ((CIFAR10, CIFAR100) if size == "paper" else (CIFAR10,))
        for contender in make(dataset)(size, data)
    ]


UPPER = _blocks(SPLITS)
LOWER = _blocks(SPLITS, methods=REWARDED, model=CNN, validated=True)
MORE = _blocks(MORE_SPLITS)
HUNDRED = _blocks(SPLITS, dataset=CIFAR100)


def _both_families(counts: Sequence[int]) -> Contenders:
    return _cifar_100_too(
        lambda dataset: _together(
            _blocks(DELTAS, dataset=dataset, methods=(ALONE, VPDL, CYCLE), counts=counts),
            _blocks(DELTAS, dataset=dataset, methods=GOSSIPING, model=UNSTATED, counts=counts),
        )
    )


def _twenty(dataset: str) -> Contenders:
    return _blocks(
        ("dirichlet(0.5)",), dataset=dataset, methods=GOSSIPING, model=UNSTATED, counts=(20,)
    )


MINE = {"method": "CYCle", "family": "PDL", "model": RESNET}
MINE_GOSSIP = {"method": "CYCle", "family": "gossip"}


def _everyone_gains(rows: Sequence[Row]) -> bool:
    return min(measures.values(rows, "least gain", **MINE).values()) > 0


def _higher(rows: Sequence[Row], metric: str, theirs: str) -> bool:
    cnn = {"model": CNN}
    return measures.below(rows, metric, {"method": theirs, **cnn}, {"method": "CYCle", **cnn})


FAIRER_THAN_VPDL = Claim(
    words="CYCle's gains are spread less than VPDL's (CGS) on every split",
    holds=lambda rows: measures.below(rows, "CGS", MINE, {"method": "VPDL"}),
)
FAIRER_THAN_FEDAVG = Claim(
    words="CYCle's gains are spread less than FedAvg's (CGS) on every split",
    holds=lambda rows: measures.below(rows, "CGS", MINE, {"method": "FedAvg"}),
)
MORE_THAN_VPDL = Claim(
    words="CYCle's mean gain (MCG) is above VPDL's on every split",
    holds=lambda rows: measures.below(rows, "MCG", {"method": "VPDL"}, MINE),
)
EVERYONE_GAINS = Claim(
    words="Every participant gains by CYCle on every split", holds=_everyone_gains
)
FAIRER_GOSSIP = Claim(
    words="CYCle's gains are spread less than Gossip-SGD's (CGS) on every split",
    holds=lambda rows: measures.below(rows, "CGS", MINE_GOSSIP, {"method": "Gossip-SGD"}),
)


def _more_than(name: str) -> Claim:
    return Claim(
        words=f"With the custom CNN, CYCle's mean gain (MCG) is above {name}'s on every split",
        holds=lambda rows: _higher(rows, "MCG", name),
    )


MORE_THAN_REWARDED = tuple(map(_more_than, ("CFFL", "RFFL", "CGSV")))


def _correlates(rows: Sequence[Row]) -> bool:
    mine = measures.values(rows, "pearson", **MINE_GOSSIP)
    plain = measures.values(rows, "pearson", method="Gossip-SGD")
    return all(found > max(0.5, plain[key]) for key, found in mine.items())


def _best_of_the_plane(rows: Sequence[Row]) -> bool:
    """On the means over the ten divisions, in the networks of the distillation methods."""
    spread, gain = (
        {
            method: mean(measures.values(rows, metric, method=method, model=RESNET).values())
            for method in ("VPDL", "CYCle", "FedAvg")
        }
        for metric in ("CGS", "MCG")
    )
    return min(spread, key=spread.__getitem__) == "CYCle" and gain["CYCle"] > gain["VPDL"]


FOLLOWS_CONTRIBUTION = Claim(
    words="What CYCle gives follows accuracy alone (Pearson above 0.5, and above Gossip-SGD's)",
    holds=_correlates,
)
BEST_OF_THE_PLANE = Claim(
    words="On average CYCle has the smallest spread, and more gain than VPDL",
    holds=_best_of_the_plane,
)
LARGE_IS_VALUED = Claim(
    words="With one large participant (0.8, 0.6), others think more of it than of each other",
    holds=lambda rows: all(
        row.metrics["of P1"] > row.metrics["of the others"]
        for row in rows
        if str(row.fields["split"]).endswith(",1)")
    ),
)
TAUS = (0.1, 0.25, 0.4), (0.6, 0.75, 0.9)


def _with_thresholds(low: float, high: float) -> Callable[[Scale], Cycle]:
    return lambda _: Cycle(rule=ReputationRule(tau_opt=low, tau_max=high))


def _thresholds(size: Size, data: Path | None) -> list[Contender]:
    settings = [
        Setting(size=size, data=data, dataset=CIFAR10, split=split, n=5)
        for split in _shown(size, ("homogeneous", "imbalanced(0.6,1)"))[:1]
    ]
    methods = [
        replace(
            CYCLE,
            algorithm=_with_thresholds(low, high),
            extra={"tau_opt": low, "tau_max": high},
        )
        for low in TAUS[0]
        for high in TAUS[1]
    ]
    return contenders(settings, [ALONE, *methods])


def _only_cycle(block: Contenders, splits: Sequence[str]) -> Contenders:
    """CYCle alone in some splits: the maps need neither gains nor others."""
    return lambda size, data: [
        contender
        for contender in block(size, data)
        if contender.fields["method"] in ("CYCle", "Standalone")
        and (size == "smoke" or contender.fields["split"] in splits)
    ]


CLAIMS = (FAIRER_THAN_VPDL, FAIRER_THAN_FEDAVG, MORE_THAN_VPDL, EVERYONE_GAINS)

CYCLE_TABLES = (
    cycle_experiment(
        "Table 1",
        "Gains and their spread over five ways to divide CIFAR-10",
        _together(UPPER, LOWER),
        claims=(*CLAIMS, *MORE_THAN_REWARDED),
        draw=figures.plane("MCG", "CGS", "right and low"),
    ),
    cycle_experiment(
        "Table 2",
        "CYCle on top of distillation and of Gossip-SGD, five and ten participants",
        _both_families((5, 10)),
        datasets=(CIFAR10, CIFAR100),
        differs=f"CIFAR-100 at size paper only. {DIFFERS}",
        claims=(FAIRER_THAN_VPDL, MORE_THAN_VPDL, EVERYONE_GAINS, FAIRER_GOSSIP),
    ),
    cycle_experiment(
        "Table 6",
        "The same with two participants",
        _both_families((2,)),
        datasets=(CIFAR10, CIFAR100),
        differs=f"CIFAR-100 at size paper only. {DIFFERS}",
        claims=(FAIRER_THAN_VPDL, MORE_THAN_VPDL, EVERYONE_GAINS, FAIRER_GOSSIP),
    ),
    cycle_experiment(
        "Table 8",
        "Accuracy of each participant, CIFAR-100",
        HUNDRED,
        metrics=measures.participants,
        datasets=(CIFAR100,),
        draw=figures.participant_bars,
    ),
    cycle_experiment(
        "Table 9",
        "Gains and their spread over five ways to divide CIFAR-100",
        HUNDRED,
        datasets=(CIFAR100,),
        claims=CLAIMS,
        draw=figures.plane("MCG", "CGS", "right and low"),
    ),
    cycle_experiment(
        "Table 10",
        "Gains and their spread over five more imbalanced divisions",
        MORE,
        claims=CLAIMS,
        draw=figures.plane("MCG", "CGS", "right and low"),
    ),
    cycle_experiment(
        "Table 12",
        "Twenty participants: gains, and whether they follow accuracy alone",
        _cifar_100_too(_twenty),
        metrics=measures.collaboration_and_correlation,
        datasets=(CIFAR10, CIFAR100),
        differs=f"CIFAR-100 at size paper only. {DIFFERS}",
        claims=(FAIRER_GOSSIP, FOLLOWS_CONTRIBUTION),
        draw=figures.participant_radar,
    ),
    cycle_experiment(
        "Table 13",
        "Accuracy of each participant in the runs of Table 1",
        _together(UPPER, LOWER),
        metrics=measures.participants_and_collaboration,
        draw=figures.participant_bars,
    ),
)

CYCLE_FIGURES = (
    cycle_experiment(
        "Figure 3",
        "Accuracy of each participant in the upper half of Table 1",
        UPPER,
        metrics=measures.participants,
        draw=figures.participant_bars,
        printed="cycle.table13",
    ),
    cycle_experiment(
        "Figure 4",
        "Accuracy of each participant in the lower half of Table 1",
        LOWER,
        metrics=measures.participants,
        draw=figures.participant_bars,
        printed="cycle.table13",
    ),
    cycle_experiment(
        "Figure 5",
        "Reputations in imbalanced divisions",
        _only_cycle(UPPER, SPLITS[2:]),
        metrics=measures.opinions,
        draw=figures.reputation_maps,
        claims=(LARGE_IS_VALUED,),
        unit="reputation",
    ),
    cycle_experiment(
        "Figure 12",
        "Reputations over time in three divisions",
        _only_cycle(UPPER, ("homogeneous", "dirichlet(0.5)", "imbalanced(0.6,1)")),
        metrics=measures.opinions,
        draw=figures.reputation_maps,
        unit="reputation",
    ),
    cycle_experiment(
        "Figure 17",
        "Accuracy of each participant, CIFAR-100",
        HUNDRED,
        metrics=measures.participants,
        datasets=(CIFAR100,),
        draw=figures.participant_bars,
        printed="cycle.table8",
    ),
    cycle_experiment(
        "Figure 18",
        "Accuracy of each participant in the runs of Table 10",
        MORE,
        metrics=measures.participants,
        draw=figures.participant_bars,
    ),
    cycle_experiment(
        "Figure 20",
        "Accuracy of each of twenty participants",
        _cifar_100_too(_twenty),
        metrics=measures.participants,
        datasets=(CIFAR10, CIFAR100),
        differs=f"CIFAR-100 at size paper only. {DIFFERS}",
        draw=figures.participant_radar,
    ),
    cycle_experiment(
        "Figure 21",
        "Gain against spread over ten divisions",
        _together(UPPER, LOWER, MORE),
        claims=(BEST_OF_THE_PLANE,),
        draw=figures.plane("MCG", "CGS", "right and low"),
        printed="cycle.table1",
    ),
    cycle_experiment(
        "Figure 22",
        "How much the thresholds of alignment matter",
        _thresholds,
        draw=figures.sensitivity("tau_opt", "tau_max", "MCG", "CGS"),
        differs="The paper does not state its grid. " + DIFFERS,
    ),
)
