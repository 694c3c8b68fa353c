"""DPFL's figures: whom everyone chooses, and how evenly accuracy is spread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from securefair.records import RoundRecord
from securefair_lab.papers import figures
from securefair_lab.papers.dpfl_methods import (
    BASELINES,
    Method,
    contenders,
    dpfl,
    dpfl_experiment,
)
from securefair_lab.papers.dpfl_settings import (
    ALL,
    BUDGETS,
    CIFAR10,
    CINIC10,
    DIRICHLET,
    EVEN,
    FEMNIST,
    FIFTH,
    NATURAL,
    PATHOLOGICAL,
    TENTH,
    TWENTIETH,
    Setting,
    honest_of,
)
from securefair_lab.papers.dpfl_tables import OURS
from securefair_lab.papers.experiment import (
    Claim,
    Contender,
    Contenders,
    Experiment,
    Finished,
    Parts,
    Row,
    Size,
)
from securefair_lab.papers.measures import every, personalised

Links = NDArray[np.bool_]


def _on(*divisions: tuple[str, str], methods: Sequence[Method], few: int = 2) -> Contenders:
    """Methods on divisions of data; the first division and a few methods as a check."""

    def block(size: Size, data: Path | None) -> list[Contender]:
        smoke = size == "smoke"
        return contenders(
            [
                Setting(size=size, data=data, dataset=dataset, split=split)
                for dataset, split in divisions[: 1 if smoke else None]
            ],
            methods[: few if smoke else None],
        )

    return block


def _attacked(alone: bool) -> Contenders:
    """Without a budget; those with permuted labels only train, or choose like everyone."""

    def block(size: Size, data: Path | None) -> list[Contender]:
        settings = [
            Setting(size=size, data=data, dataset=CIFAR10, split=split, malicious=True)
            for split in (DIRICHLET, EVEN)
        ]
        method = dpfl(
            ALL,
            extra={"malicious": "train alone" if alone else "choose too"},
            alone=settings[0].flippers if alone else (),
        )
        return contenders(settings, [method])

    return block


def candidates(record: RoundRecord) -> Links:
    """Omega, (N, N): whom each may take models from; of the first round, the initial graph."""
    return np.array(record.asked, dtype=np.bool_)


def collaborators(record: RoundRecord) -> Links:
    """C, (N, N): whose models each averaged with."""
    return np.array(record.answered, dtype=np.bool_)


def sparsity(links: Links) -> float:
    """Percent of the N^2 entries, the diagonal among the links, that are no link."""
    return 100 * (1 - (int(links.sum()) + len(links)) / links.size)


def symmetry(links: Links) -> float:
    """Percent of ordered pairs in which both choose or neither chooses the other."""
    off = ~np.eye(len(links), dtype=np.bool_)
    return 100 * float((links == links.T)[off].mean())


def graph(run: Finished) -> Mapping[str, float]:
    """Sparsity and symmetry of the initial graph and of the last round's."""
    if run.contender.control:
        return {}
    first, last = candidates(run.records[0]), collaborators(run.records[-1])
    return {
        "initial sparsity": sparsity(first),
        "last sparsity": sparsity(last),
        "initial symmetry": symmetry(first),
        "last symmetry": symmetry(last),
    }


def harmful(links: Links) -> float:
    """Percent of the honest participants' links that go to the malicious; 0 of no links."""
    honest = honest_of(len(links))
    own = links[:honest]
    return 100 * float(own[:, honest:].sum()) / max(1, int(own.sum()))


def attacked(run: Finished) -> Mapping[str, float]:
    """Shares of harmful links at first and in the end, links left to the honest, accuracies."""
    if run.contender.control:
        return {}
    last = collaborators(run.records[-1])
    return {
        "initial harmful links": harmful(candidates(run.records[0])),
        "last harmful links": harmful(last),
        "last links of the honest": float(last[: honest_of(len(last))].sum()),
        **personalised(run),
    }


def _avoided(split: str) -> Claim:
    """Whoever has no links at all has avoided nobody; older results do not count them."""
    return Claim(
        words="In the last round fewer than a tenth of the honest participants' links are harmful, "
        + split,
        parts=lambda rows: every(
            part
            for row in rows
            if row.fields["split"] == split
            for part in (
                row.metrics["last harmful links"] < 10,
                row.metrics.get("last links of the honest", 1) > 0,
            )
        ),
    )


AVOIDED = (_avoided(DIRICHLET), _avoided(EVEN))
MORE_SYMMETRIC = Claim(
    words="The graph is more symmetric in the last round than initially, under every budget",
    parts=lambda rows: every(
        row.metrics["last symmetry"] > row.metrics["initial symmetry"] for row in rows
    ),
)
# Everyone chooses within the initial graph: the last can be no denser, and to be as dense would be
# all that contradicts this.
DENSER_FIRST = Claim(
    words="The graph is sparser in the last round than initially",
    parts=lambda rows: every(
        row.metrics["last sparsity"] > row.metrics["initial sparsity"] for row in rows
    ),
)


def _spread_less(method: str, split: str) -> Claim:
    def parts(rows: Sequence[Row]) -> Parts:
        here = [row for row in rows if row.fields["split"] == split]
        mine = [r.metrics["variance"] for r in here if r.fields["method"] == "DPFL"]
        theirs = [r.metrics["variance"] for r in here if r.fields["method"] == method]
        return every(own < other for own in mine for other in theirs)

    return Claim(
        words=f"Accuracy varies less by DPFL under every budget than by {method}, {split}",
        parts=parts,
    )


def _random_is_worse(rows: Sequence[Row]) -> Parts:
    found = {
        (row.fields["budget"], row.fields.get("graph")): row.metrics["accuracy"]
        for row in rows
        if "budget" in row.fields
    }
    return every(
        accuracy > found[budget, "random"]
        for (budget, kind), accuracy in found.items()
        if kind is None and (budget, "random") in found
    )


def _variances(item: str, dataset: str, *splits: str) -> Experiment:
    return dpfl_experiment(
        item,
        f"Mean accuracy against its variance over participants, {dataset}",
        _on(*((dataset, split) for split in splits), methods=(*BASELINES, *OURS)),
        datasets=(dataset,),
        claims=tuple(
            _spread_less(method, split)
            for split in splits
            for method in ("Local Only", "FedAvg+FT")
        ),
        draw=figures.plane("accuracy", "variance", "right and low"),
    )


def _graphs(
    item: str, shows: str, *budgets: str, claims: tuple[Claim, ...] = (DENSER_FIRST,)
) -> Experiment:
    return dpfl_experiment(
        item,
        shows,
        _on((CIFAR10, DIRICHLET), methods=[dpfl(budget) for budget in budgets]),
        metrics=graph,
        claims=claims,
        draw=figures.link_maps,
        unit="percent",
    )


def _attack(item: str, alone: bool, *, curve: bool = False) -> Experiment:
    doing = "train alone" if alone else "choose too"
    return dpfl_experiment(
        item,
        f"Two fifths of the participants have permuted labels and {doing}: who chooses whom",
        _attacked(alone),
        metrics=attacked,
        claims=AVOIDED,
        draw=(
            figures.round_curves(
                "harmful links of the honest, %", lambda record: harmful(collaborators(record))
            )
            if curve
            else figures.link_maps
        ),
        unit="percent",
    )


def _both_attacks(size: Size, data: Path | None) -> Sequence[Contender]:
    """One control for both in each division: training alone is the same."""
    first, second = _attacked(True)(size, data), _attacked(False)(size, data)
    return [*first, *(contender for contender in second if not contender.control)]


def _mean_accuracy(record: RoundRecord) -> float:
    return 100 * float(np.mean(record.accuracy))


DPFL_FIGURES = (
    _variances("Figure 1", CIFAR10, DIRICHLET, PATHOLOGICAL),
    _graphs("Figure 2", "Who chooses whom over the rounds, CIFAR10", TENTH, TWENTIETH),
    dpfl_experiment(
        "Figure 3",
        "Two fifths of the participants have permuted labels: who chooses whom",
        _both_attacks,
        metrics=attacked,
        claims=AVOIDED,
        draw=figures.link_maps,
        unit="percent",
    ),
    dpfl_experiment(
        "Figure 4",
        "Chosen collaborators against random ones",
        _on(
            (CIFAR10, DIRICHLET),
            methods=[
                method
                for budget in (FIFTH, TENTH, TWENTIETH)
                for method in (
                    dpfl(budget),
                    dpfl(budget, extra={"graph": "random"}, graph="random"),
                )
            ],
        ),
        claims=(
            Claim(
                words="Chosen collaborators are better than random ones under every budget",
                parts=_random_is_worse,
            ),
        ),
        draw=figures.round_curves("mean test accuracy, %", _mean_accuracy),
    ),
    _variances("Figure 5", FEMNIST, NATURAL),
    _variances("Figure 6", CINIC10, DIRICHLET, PATHOLOGICAL),
    _variances("Figure 7", CIFAR10, DIRICHLET, PATHOLOGICAL),
    *(
        _graphs(f"Figure {number}", f"Who chooses whom under the budget {budget}, CIFAR10", budget)
        for number, budget in zip(range(8, 12), BUDGETS, strict=True)
    ),
    _attack("Figure 12", alone=True),
    _attack("Figure 13", alone=False),
    _attack("Figure 14", alone=False, curve=True),
    _graphs(
        "Figure 15",
        "How symmetric the graph is, under three budgets",
        *(ALL, FIFTH, TENTH),
        claims=(MORE_SYMMETRIC,),
    ),
)
