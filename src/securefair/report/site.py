"""What one site reports of its rounds, as Markdown and as a page: what *it* may know.

Both show the same facts. A page of a simulated run knows all participants; here only one row of
every table of that page is known, and the page is made of the same blocks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from securefair.collaboration.wording import SiteWording
from securefair.model.outcomes import outcome_named
from securefair.prediction import ModelCard, ModelEvaluation
from securefair.prediction.card import shown_of
from securefair.records import STANDALONE, RoundRecord
from securefair.report import averages, charts, facts, figures, sentences, wording
from securefair.report.drawn import drawn
from securefair.report.figures import Contender, GainRow
from securefair.report.pages import rendered
from securefair.report.presence import PeerLife
from securefair.words import THIN, words_of

OWN = "own"
"""Key of the site's own model among the contenders of its page."""

PART = "weight of peers"
"""Of what a transfer measures (`TransferHost.measured`): the part of settings with peers."""


@dataclass(frozen=True, kw_only=True)
class SitePeer:
    """One peer, as this site knows it.

    Attributes:
        name: of the peer.
        answered, missed: rounds with an answer of it, or with its model where models are averaged,
            and others in which it was asked in vain, offered a model or was away.
        presence: at the end.
        weight: reputation or weight after the last round; None where none was formed.
        received, told: numbers from it and to it.
        bytes_in, bytes_out: of envelopes from it and for it.
        fault: why nothing of it is taken any more; empty otherwise.
    """

    name: str
    answered: int
    missed: int
    presence: PeerLife
    weight: float | None
    received: int
    told: int
    bytes_in: int
    bytes_out: int
    fault: str


@dataclass(frozen=True, kw_only=True)
class SiteRound:
    """One round of the site.

    Attributes:
        number: from 0.
        answers: peers whose answers or models entered its own.
        measured: of its own model.
        note: who was away, and why a step failed.
    """

    number: int
    answers: tuple[str, ...]
    measured: Mapping[str, float]
    note: str


@dataclass(frozen=True, kw_only=True)
class SiteFacts:
    """Everything that a site's report says.

    Attributes:
        name, project: of the site and its project.
        title, rule: of the kind of collaboration.
        weighs: reputations or weights of peers change from round to round.
        averages: models are averaged: reputations are weights.
        agreed: what sites send each other, whether encrypted, and what students open.
        said: how its page reads of what passed.
        role: a sentence; empty for a site that asks and answers.
        asks: it asks peers at all.
        learns: it asks them to learn from them.
        planned: rounds of the project.
        peers: in the project's order.
        rounds: that are over and have a record.
        seen: the same rounds as records with one row, the site's; reputations are in the order of
            `peers`.
        sums: numbers and peers of every sum that it opened, where it got no others.
        shared: what its model was a part of, a sentence; empty where models are not averaged.
        student_limit, teacher_limit: most numbers to one peer and to all.
        promised: to its own patients, a sentence; None: nothing.
        gaps: what the promise does not cover.
        refused: how often something was refused, by reason and peer.
        audit_rows, audit_head: of the audit log.
        recovered: nobody knows all that it let out.
        card: of its own model.
    """

    name: str
    project: str
    title: str
    rule: str
    weighs: bool
    averages: bool
    agreed: str
    said: SiteWording
    role: str
    asks: bool
    learns: bool
    planned: int
    peers: tuple[SitePeer, ...]
    rounds: tuple[SiteRound, ...]
    seen: tuple[RoundRecord, ...]
    sums: tuple[tuple[int, int], ...]
    shared: str
    student_limit: int | None
    teacher_limit: int | None
    promised: str | None
    gaps: tuple[str, ...]
    refused: Mapping[str, int]
    audit_rows: int
    audit_head: str
    recovered: bool
    card: ModelCard

    @property
    def over(self) -> int:
        """Rounds that are over, with those that it missed and skipped."""
        return self.rounds[-1].number + 1

    @property
    def got(self) -> int:
        """Numbers that it opened; one sum is one, however many peers are in it."""
        if self.sums:
            return sum(numbers for numbers, _ in self.sums)
        return sum(peer.received for peer in self.peers)

    @property
    def measured(self) -> Mapping[str, str]:
        """What was measured in every round: its name, and what people read."""
        known = {PART: words_of()("sites.settings")}
        if self.card.model.outcome and not self.card.model.classes:
            headline = outcome_named(self.card.model.outcome).headline
            known |= {
                "accuracy": words_of().templates.get(f"scores.{headline}", headline),
                "cross_entropy": words_of()("sites.training_loss"),
            }
        return {name: known.get(name, name.replace("_", "-")) for name in self.rounds[-1].measured}

    @property
    def notes(self) -> list[str]:
        """What tells figures of these rounds from others that are called nearly the same."""
        weighed = any(peer.weight is not None for peer in self.peers)
        said = ["sites.weight_note"] if weighed and PART in self.rounds[-1].measured else []
        ranged = self.card.model.outcome and outcome_named(self.card.model.outcome).ranged
        return [words_of()(key) for key in (*said, *(["sites.loss_note"] if ranged else []))]


_RECOVERED = (
    "This site was recovered: nobody knows what it let out before, and these figures lack it. "
)


def site_markdown(site: SiteFacts) -> str:
    """`report.md`; the model's scores are in its card."""
    numbers = words_of().phrase(site.said.numbers).lower()
    lines = [
        f"# {site.name} in project {site.project}",
        "",
        _verdict(site),
        "",
        f"{site.title}: {site.rule}. {_over(site)} {site.role}"
        f"{_RECOVERED * site.recovered}This is what this site knows; there is no report of all "
        "sites.",
        "",
        f"All sites agreed on this: {site.agreed}.",
        "",
        "## Peers",
        "",
        _told(site),
        "",
        f"| peer | rounds with its {'model' if site.averages else 'answer'} | rounds without | "
        f"at the end | {numbers} from it | "
        f"{numbers} to it (at most {site.student_limit}) | weight |",
        "|---|---:|---:|---|---:|---:|---:|",
    ]
    for peer in site.peers:
        weight = "" if peer.weight is None else f"{peer.weight:.2f}"
        lines.append(
            f"| {peer.name} | {peer.answered} | {peer.missed} | {peer.presence} | "
            f"{peer.received} | {peer.told} | {weight} |"
        )
    headings = " | ".join(site.measured.values())
    lines += [
        "",
        "## Rounds",
        "",
        f"| round | {'models' if site.averages else 'answers'} from | {headings} | note |",
    ]
    lines.append(f"|---:|---|{'---:|' * len(site.measured)}---|")
    for one in site.rounds:
        values = " | ".join(f"{one.measured[name]:.3f}" for name in site.measured)
        answers = ", ".join(one.answers) or "nobody"
        lines.append(f"| {one.number + 1} | {answers} | {values} | {one.note} |")
    if site.notes:
        lines += ["", " ".join(site.notes)]
    if site.promised is not None:
        lines += ["", "## Privacy of the own patients", "", site.promised, ""]
        lines += [f"- {gap}" for gap in site.gaps]
    if site.refused:
        lines += ["", "## Refused", ""]
        lines += [f"- {what}: {count}" for what, count in site.refused.items()]
    lines += ["", f"Audit log: {site.audit_rows} rows, head {site.audit_head}", ""]
    return "\n".join(lines)


def site_page(site: SiteFacts) -> str:
    """`report.html`, complete in itself; every name in it is escaped."""
    contenders = _contenders(site)
    rows = _gains(site.card, contenders) if site.card.model.classes else []
    seen = list(site.seen)
    names = [peer.name for peer in site.peers]
    told_of = averages.weights_of if site.averages else sentences.reputations_of
    words = words_of().about("hospitals")
    return rendered(
        "site.html.j2",
        site=site,
        over=_over(site),
        verdict=_verdict(site),
        told=_told(site),
        numbers=words.phrase(site.said.numbers),
        alerts=_alerts(site),
        words=words,
        contenders=contenders,
        learners=[one for one in contenders if one.key == OWN],
        hospitals=[{"facts": _tested(site.card), "rows": rows}],
        gain_scale=charts.gain_scale([row.gain for row in rows if row.gain is not None]),
        repetitions=1,
        scores=_scores(site.card),
        pictures=drawn(site.card.model.pictures, words, label=site.card.label or ""),
        panels=charts.panels(seen, [OWN], [site.name]) if site.card.model.classes else [],
        names=names,
        weighed=any(peer.weight is not None for peer in site.peers),
        students=[site.name],
        rounds=seen,
        heat=figures.slider_steps(seen) if site.weighs else [],
        changed=facts.milestones(seen) if site.weighs else [],
        reputations=told_of(site.name, seen[-1].reputation[0], names, words),
        averaging=site.averages,
        plural=wording.plural,
    )


def _told(site: SiteFacts) -> str:
    """What passed, and what it tells, in sentences."""
    said = [words_of().phrase(site.said.tells), site.shared]
    if site.sums:
        sums = [
            f"{wording.plural(count, 'sum')} of {wording.plural(numbers, 'number')} over "
            f"{wording.plural(peers, 'peer')}"
            for (numbers, peers), count in Counter(site.sums).items()
        ]
        said.append(
            f"This site opened {wording.listing(sums)}. The table counts the numbers of a sum with "
            "every peer in it."
        )
    return " ".join(filter(None, said))


def _over(site: SiteFacts) -> str:
    return f"{site.over} of {site.planned} rounds are over."


def _contenders(site: SiteFacts) -> list[Contender]:
    """Training alone first, then the other controls, then the own model."""
    order = sorted(site.card.controls, key=lambda name: name != STANDALONE)
    styles = {name: "c0" if name == STANDALONE else "early" for name in order}
    return [
        *(
            Contender(name, wording.algorithm_name(name), wording.algorithm_rule(name), style)
            for name, style in styles.items()
        ),
        Contender(OWN, site.title, site.rule, "c1")
        if site.learns
        else Contender(OWN, "Own model", "of own patients alone", "c1"),
    ]


def _gains(card: ModelCard, contenders: Sequence[Contender]) -> list[GainRow]:
    tested = {**card.controls, OWN: card.model}
    accuracy = {name: one.scores.get("accuracy") or 0.0 for name, one in tested.items()}
    alone = accuracy.get(STANDALONE)
    gains = {
        name: None if alone is None or name == STANDALONE else value - alone
        for name, value in accuracy.items()
    }
    scale = charts.gain_scale([gain for gain in gains.values() if gain is not None])
    return [figures.gain_row(one, accuracy[one.key], gains[one.key], scale) for one in contenders]


@dataclass(frozen=True)
class _Tested:
    """What the block of a hospital's bars says of its patients."""

    name: str
    samples: int
    test_samples: int
    majority_accuracy: float


def _tested(card: ModelCard) -> _Tested:
    counts = list(card.train_by_class.values())
    common = max(range(len(counts)), key=counts.__getitem__)
    confusion = card.model.confusion
    tested = sum(map(sum, confusion)) or card.model.patients  # rows: patients may have several
    return _Tested(
        name=card.hospital,
        samples=sum(card.train_by_class.values()) + tested,
        test_samples=tested,
        majority_accuracy=sum(confusion[common]) / tested if confusion else 0.0,
    )


def _scores(card: ModelCard) -> list[tuple[str, list[str]]]:
    """Rows of models, cells of scores; the first row is of headings."""
    models: dict[str, ModelEvaluation] = {"Own model": card.model}
    if card.uncalibrated is not None:
        models["Own model as fitted"] = card.uncalibrated
    models |= {card.titles.get(name, name): one for name, one in card.controls.items()}
    shown = shown_of(card.model)
    rows = [("Model", [title for _, title, _ in shown])]
    for title, one in models.items():
        cells = []
        for name, _, form in shown:
            value = one.scores.get(name)
            text = "undefined" if value is None else form.format(value)
            cells.append(text.replace("%", f"{THIN}%"))
        rows.append((title, cells))
    return rows


def _verdict(site: SiteFacts) -> str:
    """The card's, on this site's own test patients alone; none where it was to learn nothing."""
    card = site.card
    if not site.learns:
        return words_of()("sites.learned_nothing")
    tested = wording.plural(card.model.patients, "own test patient")
    if card.verdict is None:
        return words_of()("verdict.nobody")
    return f"{card.verdict.sentence} That is measured on {tested}."


def _alerts(site: SiteFacts) -> list[str]:
    """What an operator must not overlook."""
    found = [_RECOVERED.strip()] if site.recovered else []
    if site.asks and not any(one.answers for one in site.rounds):
        alone = ": the model is of this site's patients alone" if site.learns else ""
        what = "No model" if site.averages else "Nothing"
        found.append(f"{what} came from any peer{alone}.")
    for life in PeerLife:
        names = [peer.name for peer in site.peers if peer.presence is life]
        if names and life is not PeerLife.HERE:
            found.append(f"{life.capitalize()} at the end: {wording.listing(names)}.")
    return found + [f"{peer.name}: {peer.fault}." for peer in site.peers if peer.fault]
