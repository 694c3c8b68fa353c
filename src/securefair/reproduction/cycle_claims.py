"""What CYCle's tables on CIFAR claim, as questions to our rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from statistics import mean

from securefair.reproduction import measures
from securefair.reproduction.cycle_settings import CNN, RESNET
from securefair.reproduction.experiment import Claim, Row

MINE = {"method": "CYCle", "family": "PDL", "model": RESNET}
MINE_GOSSIP = {"method": "CYCle", "family": "gossip"}


def _everyone_gains(rows: Sequence[Row], *, skewed: bool) -> bool:
    found = [
        row.metrics["least gain"]
        for row in rows
        if all(row.fields.get(key) == value for key, value in MINE.items())
        and str(row.fields["split"]).startswith("dirichlet") == skewed
    ]
    return bool(found) and min(found) > 0


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
    words="Every participant gains by CYCle on homogeneous and imbalanced splits",
    holds=partial(_everyone_gains, skewed=False),
)
EVERYONE_GAINS_SKEWED = Claim(
    words="Every participant gains by CYCle on Dirichlet splits",
    holds=partial(_everyone_gains, skewed=True),
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


def _comparable(rows: Sequence[Row]) -> bool:
    mine = measures.values(rows, "MCG", **MINE_GOSSIP)
    plain = measures.values(rows, "MCG", method="Gossip-SGD")
    return all(found > plain[key] / 2 for key, found in mine.items())


COMPARABLE_GOSSIP = Claim(
    words="CYCle's mean gain (MCG) is more than half of Gossip-SGD's on every split",
    holds=_comparable,
)
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

IMBALANCED_CLAIMS = (FAIRER_THAN_VPDL, FAIRER_THAN_FEDAVG, MORE_THAN_VPDL, EVERYONE_GAINS)
CLAIMS = (*IMBALANCED_CLAIMS, EVERYONE_GAINS_SKEWED)
