"""CYCle on CIFAR: Tables 1, 2, 6, 8 to 10, 12 and 13; and what shows no results."""

from __future__ import annotations

from securefair_lab.papers import figures, measures
from securefair_lab.papers.cycle_claims import (
    CLAIMS,
    DISTILLED_CLAIMS,
    EVERYONE_GAINS,
    EVERYONE_GAINS_SKEWED,
    FAIRER_THAN_VPDL,
    FOLLOWS_GOSSIP,
    GOSSIP_CLAIMS,
    IMBALANCED_CLAIMS,
    MORE_THAN_VPDL,
    REWARDED_CLAIMS,
)
from securefair_lab.papers.cycle_data import CIFAR10, CIFAR100
from securefair_lab.papers.cycle_divisions import (
    HUNDRED,
    LOWER,
    MORE,
    UPPER,
    both_families,
    cifar_100_too,
    together,
    twenty,
)
from securefair_lab.papers.cycle_methods import cycle_experiment
from securefair_lab.papers.cycle_settings import DIFFERS
from securefair_lab.papers.experiment import illustration

CYCLE_TABLES = (
    illustration("cycle", "Table 5", "The paper's notation; docs/terminology.md has ours"),
    illustration("cycle", "Figure 1", "An illustration of CYCle; docs/protocol.md has ours"),
    illustration("cycle", "Figure 2", "An illustration of CaPriDe; docs/protocol.md has ours"),
    illustration("cycle", "Figure 10", "An illustration of Gossip-SGD; docs/protocol.md has ours"),
    cycle_experiment(
        "Table 1",
        "Gains and their spread over five ways to divide CIFAR-10",
        together(UPPER, LOWER),
        claims=(*CLAIMS, *REWARDED_CLAIMS),
        draw=figures.plane("MCG", "CGS", "right and low"),
    ),
    cycle_experiment(
        "Table 2",
        "CYCle on top of distillation and of Gossip-SGD, five and ten participants",
        both_families((5, 10)),
        paper_datasets=(CIFAR10, CIFAR100),
        differs=f"CIFAR-100 at size paper only. {DIFFERS}",
        claims=(
            FAIRER_THAN_VPDL,
            MORE_THAN_VPDL,
            EVERYONE_GAINS,
            EVERYONE_GAINS_SKEWED,
            *GOSSIP_CLAIMS,
        ),
    ),
    cycle_experiment(
        "Table 6",
        "The same with two participants",
        both_families((2,)),
        paper_datasets=(CIFAR10, CIFAR100),
        differs=f"CIFAR-100 at size paper only. {DIFFERS}",
        claims=(
            FAIRER_THAN_VPDL,
            MORE_THAN_VPDL,
            EVERYONE_GAINS,
            EVERYONE_GAINS_SKEWED,
            *GOSSIP_CLAIMS,
        ),
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
        claims=DISTILLED_CLAIMS,
        draw=figures.plane("MCG", "CGS", "right and low"),
    ),
    cycle_experiment(
        "Table 10",
        "Gains and their spread over five more imbalanced divisions",
        MORE,
        claims=IMBALANCED_CLAIMS,
        draw=figures.plane("MCG", "CGS", "right and low"),
    ),
    cycle_experiment(
        "Table 12",
        "Twenty participants: gains, and whether they follow accuracy alone",
        cifar_100_too(twenty),
        metrics=measures.collaboration_and_correlation,
        paper_datasets=(CIFAR10, CIFAR100),
        differs=f"CIFAR-100 at size paper only. {DIFFERS}",
        claims=(*GOSSIP_CLAIMS, *FOLLOWS_GOSSIP),
        draw=figures.participant_radar,
    ),
    cycle_experiment(
        "Table 13",
        "Accuracy of each participant in the runs of Table 1",
        together(UPPER, LOWER),
        metrics=measures.participants_and_collaboration,
        draw=figures.participant_bars,
    ),
)
