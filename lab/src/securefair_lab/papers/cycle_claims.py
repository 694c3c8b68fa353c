"""What CYCle's tables on CIFAR claim, as questions to our rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import nan
from statistics import mean

from securefair_lab.papers import measures
from securefair_lab.papers.cycle_methods import PLAIN, PRINTED_LINKS, RELATIVE_LINKS, SOFTENED
from securefair_lab.papers.cycle_settings import CNN, RESNET
from securefair_lab.papers.experiment import Claim, Fields, Parts, Row
from securefair_lab.papers.measures import every


def _mine(alignment: str) -> Fields:
    return {"method": "CYCle", "family": "PDL", "model": RESNET, "alignment": alignment}


def _fairer(rows: Sequence[Row], *, alignment: str, theirs: str) -> Parts:
    return measures.below(rows, "CGS", _mine(alignment), {"method": theirs})


def _more(rows: Sequence[Row], *, alignment: str) -> Parts:
    return measures.below(rows, "MCG", {"method": "VPDL"}, _mine(alignment))


def _everyone_gains(rows: Sequence[Row], *, alignment: str, skewed: bool) -> Parts:
    return every(
        measures.worst(row, "least gain") > 0
        for row in rows
        if all(row.fields.get(key) == value for key, value in _mine(alignment).items())
        and str(row.fields["split"]).startswith("dirichlet") == skewed
    )


def _distilled(alignment: str) -> tuple[Claim, Claim, Claim, Claim, Claim]:
    """With either reading of what alignment compares."""

    def claim(words: str, parts: Callable[..., Parts], **settings: object) -> Claim:
        return Claim(
            words=f"{words}; {alignment} alignment",
            parts=partial(parts, alignment=alignment, **settings),
        )

    return (
        claim(
            "CYCle's gains are spread less than VPDL's (CGS) on every split", _fairer, theirs="VPDL"
        ),
        claim(
            "CYCle's gains are spread less than FedAvg's (CGS) on every split",
            _fairer,
            theirs="FedAvg",
        ),
        claim("CYCle's mean gain (MCG) is above VPDL's on every split", _more),
        claim(
            "Every participant gains by CYCle with every seed on homogeneous and imbalanced splits",
            _everyone_gains,
            skewed=False,
        ),
        claim(
            "Every participant gains by CYCle with every seed on Dirichlet splits",
            _everyone_gains,
            skewed=True,
        ),
    )


DISTILLED_CLAIMS = _distilled(SOFTENED)
FAIRER_THAN_VPDL, _, MORE_THAN_VPDL, EVERYONE_GAINS, EVERYONE_GAINS_SKEWED = DISTILLED_CLAIMS
IMBALANCED_CLAIMS = DISTILLED_CLAIMS[:4]
CLAIMS = (*DISTILLED_CLAIMS, *_distilled(PLAIN))


def _with_cnn(method: str) -> Fields:
    return {"method": method, "model": CNN}


def _more_than(name: str, *, but: int) -> Claim:
    return Claim(
        words=f"With the custom CNN, CYCle's mean gain (MCG) is above {name}'s on "
        + ("all but one split" if but else "every split"),
        parts=lambda rows: measures.above_in_all_but(
            but, rows, "MCG", _with_cnn("CYCle"), _with_cnn(name)
        ),
    )


def _fairer_than(name: str) -> Claim:
    return Claim(
        words=f"With the custom CNN, CYCle's gains are spread less than {name}'s (CGS) on all but "
        "one split",
        parts=lambda rows: measures.above_in_all_but(
            1, rows, "CGS", _with_cnn(name), _with_cnn("CYCle")
        ),
    )


REWARDED_CLAIMS = (
    _more_than("CFFL", but=1),  # imbalanced(0.6,1)
    _more_than("RFFL", but=0),
    _more_than("CGSV", but=1),  # dirichlet(0.5)
    *map(_fairer_than, ("CFFL", "RFFL", "CGSV")),
)


def _best_of_the_plane(rows: Sequence[Row]) -> Parts:
    """On the means over the ten divisions, in the networks of the distillation methods."""
    fields = {"CYCle": _mine(SOFTENED), **{name: {"method": name} for name in ("VPDL", "FedAvg")}}
    spread = {name: measures.values(rows, "CGS", **own) for name, own in fields.items()}
    gain = {name: measures.values(rows, "MCG", **own) for name, own in fields.items()}
    if not all(spread.values()):
        return every([])
    smallest = mean(spread["CYCle"].values())
    return every(
        [
            *(smallest < mean(spread[name].values()) for name in ("VPDL", "FedAvg")),
            mean(gain["CYCle"].values()) > mean(gain["VPDL"].values()),
        ]
    )


def _on_gossip(
    rows: Sequence[Row], metric: str, links: str, hardest: Callable[[float, float], float] = max
) -> tuple[dict[tuple[object, ...], float], dict[tuple[object, ...], float]]:
    """CYCle's and Gossip-SGD's number in each setting; of several graphs the hardest to beat."""
    mine = measures.values(rows, metric, method="CYCle", family="gossip", links=links)
    plain: dict[tuple[object, ...], float] = {}
    for row in rows:
        if row.fields["method"] == "Gossip-SGD":
            (key,) = measures.values([row], metric)
            plain[key] = hardest(row.metrics[metric], plain.get(key, row.metrics[metric]))
    return mine, plain


def _spread_no_more(rows: Sequence[Row], *, links: str) -> Parts:
    mine, plain = _on_gossip(rows, "CGS", links, hardest=min)
    return every(found <= plain.get(key, nan) for key, found in mine.items())


def _gain(rows: Sequence[Row], *, links: str) -> Parts:
    mine, _ = _on_gossip(rows, "MCG", links)
    return every(found > 0 for found in mine.values())


def _comparable(rows: Sequence[Row], *, links: str) -> Parts:
    mine, plain = _on_gossip(rows, "MCG", links)
    return every(found > plain.get(key, nan) / 2 for key, found in mine.items())


def _correlates(rows: Sequence[Row], *, links: str) -> Parts:
    mine, plain = _on_gossip(rows, "pearson", links)
    return every(
        found > least for key, found in mine.items() for least in (0.5, plain.get(key, nan))
    )


def _gossip_claims(words: str, parts: Callable[..., Parts]) -> tuple[Claim, Claim]:
    """With either rule for links, of which the paper prints one."""
    return (
        Claim(words=f"{words}; links as printed", parts=partial(parts, links=PRINTED_LINKS)),
        Claim(words=f"{words}; relative links", parts=partial(parts, links=RELATIVE_LINKS)),
    )


FAIRER_GOSSIP = _gossip_claims(
    "CYCle's gains are spread no more than Gossip-SGD's (CGS) in any setting", _spread_no_more
)
GAIN_GOSSIP = _gossip_claims("CYCle's mean gain (MCG) is above 0 in every setting", _gain)
COMPARABLE_GOSSIP = _gossip_claims(
    "CYCle's mean gain (MCG) is more than half of Gossip-SGD's in every setting", _comparable
)
FOLLOWS_GOSSIP = _gossip_claims(
    "What CYCle gives follows accuracy alone (Pearson above 0.5, and above Gossip-SGD's)",
    _correlates,
)
GOSSIP_CLAIMS = (*FAIRER_GOSSIP, *GAIN_GOSSIP, *COMPARABLE_GOSSIP)
BEST_OF_THE_PLANE = Claim(
    words="On average CYCle has the smallest spread, and more gain than VPDL",
    parts=_best_of_the_plane,
)


def _one_large(rows: Sequence[Row], alignment: str) -> list[Mapping[str, float]]:
    return [
        row.metrics
        for row in rows
        if str(row.fields["split"]).endswith(",1)") and row.fields["alignment"] == alignment
    ]


def _large_valued(rows: Sequence[Row], *, alignment: str) -> Parts:
    return every(own["of P1"] > own["of the others"] for own in _one_large(rows, alignment))


def _ever_more(rows: Sequence[Row], *, alignment: str) -> Parts:
    return every(
        part
        for own in _one_large(rows, alignment)
        for part in (
            own["of P1"] > own["of P1 at first"],
            own["of the others"] < own["of the others at first"],
        )
    )


def _falling(rows: Sequence[Row], *, alignment: str) -> Parts:
    return every(
        row.metrics["of all"] < row.metrics["of all at first"]
        for row in rows
        if (row.fields["split"], row.fields["alignment"]) == ("homogeneous", alignment)
    )


def _fewer_answers(rows: Sequence[Row], *, alignment: str) -> Parts:
    return every(
        part
        for row in rows
        if row.fields["alignment"] == alignment
        for part in (row.metrics["answered"] >= 50, row.metrics["answered"] <= 65)
    )


def _both_readings(words: str, parts: Callable[..., Parts]) -> tuple[Claim, Claim]:
    return (
        Claim(words=f"{words}; {SOFTENED} alignment", parts=partial(parts, alignment=SOFTENED)),
        Claim(words=f"{words}; {PLAIN} alignment", parts=partial(parts, alignment=PLAIN)),
    )


LARGE_IS_VALUED = (
    *_both_readings(
        "With one large participant (0.8, 0.6), others think more of it than of each other",
        _large_valued,
    ),
    *_both_readings(
        "With one large participant (0.8, 0.6), its reputation rises and the others' falls",
        _ever_more,
    ),
)
FALLING_AMONG_EQUALS = _both_readings("Among equals reputations fall over time", _falling)
FEWER_ANSWERS = _both_readings(
    "Between 35 and 50 % of what VPDL answers is not answered, in every division", _fewer_answers
)
