"""What stored runs of size "cpu" show of the papers' claims, and what they do not.

The stored numbers are those of comparison.json as `securefair reproduce` wrote it; where a
claim has been worded anew since, they were judged by the new words. A claim that does not
reproduce is named here and in docs/notebook/reproduction.md; one that suddenly does is news.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from securefair_lab.papers.catalogue import EXPERIMENTS
from securefair_lab.papers.comparison import Comparison
from securefair_lab.papers.experiment import Row
from securefair_lab.papers.stored import stored_names, stored_result

GUIDE = Path(__file__).parents[3] / "docs" / "notebook" / "reproduction.md"

NOT_SHOWN: dict[str, set[str]] = {
    "cycle-figure3": {
        "CYCle's gains are spread less than VPDL's (CGS) on every split; softened alignment",
        "CYCle's mean gain (MCG) is above VPDL's on every split; softened alignment",
        "Every participant gains by CYCle with every seed on homogeneous and imbalanced "
        "splits; softened alignment",
        "Every participant gains by CYCle with every seed on Dirichlet splits; softened alignment",
        "CYCle's gains are spread less than VPDL's (CGS) on every split; plain alignment",
        "CYCle's mean gain (MCG) is above VPDL's on every split; plain alignment",
        "Every participant gains by CYCle with every seed on homogeneous and imbalanced "
        "splits; plain alignment",
        "Every participant gains by CYCle with every seed on Dirichlet splits; plain alignment",
    },
    "cycle-figure4": {
        "With the custom CNN, CYCle's mean gain (MCG) is above RFFL's on every split",
        "With the custom CNN, CYCle's mean gain (MCG) is above CGSV's on all but one split",
        "With the custom CNN, CYCle's gains are spread less than CFFL's (CGS) on all but one split",
    },
    "cycle-figure5": {
        "With one large participant (0.8, 0.6), its reputation rises and the others' falls; "
        "softened alignment",
        "With one large participant (0.8, 0.6), its reputation rises and the others' falls; "
        "plain alignment",
        "Between 35 and 50 % of what VPDL answers is not answered, in every division; plain "
        "alignment",
    },
    "cycle-figure9": {
        "To participant 2 CYCle is equally useful at every ratio (within 0.05)",
    },
    "cycle-figure12": {
        "Between 35 and 50 % of what VPDL answers is not answered, in every division; softened "
        "alignment",
        "Between 35 and 50 % of what VPDL answers is not answered, in every division; plain "
        "alignment",
    },
    "cycle-figure14": {
        "P1 shares with P2 in 51 % of rounds, as in the paper (within 10 %); links as printed",
        "P1 shares with P2 in 51 % of rounds, as in the paper (within 10 %); relative links",
    },
    "cycle-lambda": {
        "CYCle's mean gain (MCG) is above VPDL's on every split; "
        "both at lambda_0 = 10; softened alignment",
        "CYCle's mean gain (MCG) is above VPDL's on every split; "
        "both at lambda_0 = 25; softened alignment",
        "CYCle's mean gain (MCG) is above VPDL's on every split; "
        "both at lambda_0 = 50; softened alignment",
        "CYCle's mean gain (MCG) is above VPDL's on every split; "
        "both at lambda_0 = 100; softened alignment",
        "CYCle's mean gain (MCG) is above VPDL's on every split; "
        "each at its best lambda_0; softened alignment",
        "CYCle's gains are spread less than VPDL's (CGS) on every split; "
        "both at lambda_0 = 25; softened alignment",
        "CYCle's gains are spread less than VPDL's (CGS) on every split; "
        "both at lambda_0 = 50; softened alignment",
        "CYCle's gains are spread less than VPDL's (CGS) on every split; "
        "both at lambda_0 = 100; softened alignment",
        "CYCle's gains are spread less than VPDL's (CGS) on every split; "
        "both at lambda_0 = 200; softened alignment",
        "CYCle's gains are spread less than VPDL's (CGS) on every split; "
        "each at its best lambda_0; softened alignment",
        "CYCle's mean gain (MCG) is above VPDL's on every split; "
        "both at lambda_0 = 10; plain alignment",
        "CYCle's mean gain (MCG) is above VPDL's on every split; "
        "both at lambda_0 = 25; plain alignment",
        "CYCle's mean gain (MCG) is above VPDL's on every split; "
        "both at lambda_0 = 50; plain alignment",
        "CYCle's mean gain (MCG) is above VPDL's on every split; "
        "both at lambda_0 = 100; plain alignment",
        "CYCle's mean gain (MCG) is above VPDL's on every split; "
        "each at its best lambda_0; plain alignment",
        "CYCle's gains are spread less than VPDL's (CGS) on every split; "
        "both at lambda_0 = 100; plain alignment",
        "CYCle's gains are spread less than VPDL's (CGS) on every split; "
        "both at lambda_0 = 200; plain alignment",
        "CYCle's gains are spread less than VPDL's (CGS) on every split; "
        "each at its best lambda_0; plain alignment",
    },
    "cycle-rates": {
        "Held-out images choose the learning rate of size cpu for Standalone",
        "Held-out images choose the learning rate of size cpu for CYCle",
    },
    "cycle-table2": {
        "CYCle's gains are spread less than VPDL's (CGS) on every split; softened alignment",
        "CYCle's mean gain (MCG) is above VPDL's on every split; softened alignment",
        "Every participant gains by CYCle with every seed on Dirichlet splits; softened alignment",
        "CYCle's gains are spread no more than Gossip-SGD's (CGS) in any setting; relative links",
        "CYCle's mean gain (MCG) is more than half of Gossip-SGD's in every setting; links as "
        "printed",
        "CYCle's mean gain (MCG) is more than half of Gossip-SGD's in every setting; relative "
        "links",
    },
    "cycle-table3": {
        "Whoever flips all labels ends with a reputation below 0.1 among the honest; plain "
        "alignment",
    },
    "cycle-table6": {
        "CYCle's gains are spread less than VPDL's (CGS) on every split; softened alignment",
        "CYCle's mean gain (MCG) is above VPDL's on every split; softened alignment",
        "Every participant gains by CYCle with every seed on Dirichlet splits; softened alignment",
        "CYCle's gains are spread no more than Gossip-SGD's (CGS) in any setting; links as printed",
        "CYCle's gains are spread no more than Gossip-SGD's (CGS) in any setting; relative links",
        "CYCle's mean gain (MCG) is more than half of Gossip-SGD's in every setting; links as "
        "printed",
        "CYCle's mean gain (MCG) is more than half of Gossip-SGD's in every setting; relative "
        "links",
    },
    "cycle-table7": {
        "CYCle's mean gain (MCG) is more than half of Gossip-SGD's in every setting; links as "
        "printed",
    },
    "cycle-figure21": {"On average CYCle has the smallest spread, and more gain than VPDL"},
    "cycle-table10": {
        "CYCle's gains are spread less than VPDL's (CGS) on every split; softened alignment",
        "CYCle's mean gain (MCG) is above VPDL's on every split; softened alignment",
    },
    "cycle-table11": {
        "Whoever flips all labels ends with a reputation below 0.1 among the honest; plain "
        "alignment",
    },
    "cycle-table12": {
        "CYCle's mean gain (MCG) is more than half of Gossip-SGD's in every setting; links as "
        "printed",
        "CYCle's mean gain (MCG) is more than half of Gossip-SGD's in every setting; relative "
        "links",
    },
    "cffl-figure1": {"Everyone ends better than alone in the mean over seeds, with pretraining"},
    "cffl-figure2": {"Everyone ends better than alone in the mean over seeds, with pretraining"},
    "cffl-figure3": {"Everyone ends better than alone in the mean over seeds, with pretraining"},
    "fairsl-controls": {"A transfer harms nobody in the mean over seeds"},
    "fairsl-figure5": {"Every participant ends better than alone in the mean over seeds"},
    "fairsl-figure9": {
        "Every participant ends with a better forest than alone in the mean over folds",
    },
    "fairsl-figure10": {
        "Every participant ends with a better forest than alone in the mean over folds",
    },
    "dpfl-figure1": {
        "Accuracy varies less by DPFL under every budget than by FedAvg+FT, dirichlet(0.1)",
        "Accuracy varies less by DPFL under every budget than by Local Only, patho(3)",
    },
    "dpfl-figure3": {
        "In the last round fewer than a tenth of the honest participants' links are harmful, "
        "dirichlet(0.1)",
    },
    "dpfl-figure4": {"Chosen collaborators are better than random ones under every budget"},
    "dpfl-figure5": {
        "Accuracy varies less by DPFL under every budget than by Local Only, natural",
    },
    "dpfl-table1": {
        "DPFL under every budget is above FedAvg+FT, dirichlet(0.1)",
        "DPFL under every budget is above Local Only, natural",
        "DPFL under every budget but the smallest is above every other personalised method, "
        "dirichlet(0.1)",
        "DPFL under every budget but the smallest is above every other personalised method, "
        "patho(3)",
        "DPFL under every budget but the smallest is above every other personalised method, "
        "natural",
    },
    "dpfl-table2": {"Under every budget DPFL is above Decentralized SGD"},
    "dpfl-table6": {"Under every budget DPFL with repeated BGGC is above DPFL"},
}


def rows_of(comparison: Comparison) -> list[Row]:
    """The numbers that the claims were judged by."""
    rows: dict[tuple[object, ...], Row] = {}
    for number in comparison.numbers:
        row = rows.setdefault(
            tuple(number.fields.items()),
            Row(fields=number.fields, metrics={}, spread={}, paper={}),
        )
        rows[tuple(number.fields.items())] = Row(
            fields=row.fields,
            metrics={**row.metrics, number.metric: number.ours},
            spread={**row.spread, number.metric: number.spread},
            paper=row.paper,
            each={**row.each, number.metric: number.each} if number.each else row.each,
        )
    return list(rows.values())


@pytest.mark.parametrize("name", stored_names())
def test_stored_results_show_the_claims(name: str) -> None:
    found = stored_result(name)
    assert (found.experiment, found.size) == (name, "cpu")
    rows = rows_of(found)
    # A file may hold some of an experiment's settings, and then judges the claims on these.
    claims = {claim.words: claim for claim in EXPERIMENTS[name].claims}
    held = {told.claim: claims[told.claim].holds(rows) for told in found.claims}
    assert held or not EXPERIMENTS[name].claims  # some are beside the papers
    assert held == {told.claim: told.holds for told in found.claims}
    assert {words for words, holds in held.items() if not holds} == NOT_SHOWN.get(name, set())


def test_the_guide_tells_of_every_stored_result() -> None:
    guide = GUIDE.read_text(encoding="utf-8")
    names = stored_names()
    assert {"cycle-figure3", "cycle-table3", "dpfl-table1", "dpfl-table2"} <= set(names)
    assert [name for name in names if f"`{name}`" not in guide] == []
