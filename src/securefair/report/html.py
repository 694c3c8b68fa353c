"""One self-contained HTML page about a run: no network, no script of others, nothing to install."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import jinja2
from markupsafe import Markup

from securefair.config import RunConfig, to_toml
from securefair.metrics import no_gain_bound
from securefair.records import (
    BASELINE,
    CEILING,
    ExchangeRecord,
    GainResult,
    LedgerRow,
    ParticipantResult,
    RoundRecord,
    RunResult,
    TrafficRow,
)
from securefair.report import (
    averages,
    charts,
    clinician,
    disclosure,
    facts,
    privacy,
    scores,
    sentences,
    wording,
)
from securefair.report.files import write_text
from securefair.report.labels import stacked_tables

FILE_NAME = "report.html"


@dataclass(frozen=True)
class _Contender:
    """One algorithm as the figures show it; `style` picks its colour and dash."""

    key: str
    name: str
    rule: str
    style: str


def write_report(
    directory: Path,
    *,
    result: RunResult,
    smaller: RunResult | None = None,
    rounds: Sequence[RoundRecord],
    exchanges: Sequence[ExchangeRecord],
    ledger: Sequence[LedgerRow],
    traffic: Sequence[TrafficRow],
    config: RunConfig,
    versions: Mapping[str, str],
) -> Path:
    """Write `report.html` into the folder, atomically, and return its path.

    Args:
        directory: folder of the run; made if it is missing.
        result: conclusions; `result.algorithm` is the one that the page is about.
        smaller: conclusions of the same run with fewer training samples; None where there is none.
        rounds, exchanges, ledger, traffic: records of one repetition (the first seed), of any
            algorithms; may be empty, their sections are then left out.
        config: what was asked for; printed in full so that the run can be repeated.
        versions: name and version of everything that took part, as it should be printed.

    Raises:
        OSError: the folder cannot be written.
    """
    page = render(
        result=result,
        smaller=smaller,
        rounds=rounds,
        exchanges=exchanges,
        ledger=ledger,
        traffic=traffic,
        config=config,
        versions=versions,
    )
    return write_text(directory / FILE_NAME, page)


def render(
    *,
    result: RunResult,
    smaller: RunResult | None = None,
    rounds: Sequence[RoundRecord],
    exchanges: Sequence[ExchangeRecord],
    ledger: Sequence[LedgerRow],
    traffic: Sequence[TrafficRow],
    config: RunConfig,
    versions: Mapping[str, str],
) -> str:
    """The page as text; arguments as in `write_report`. Every name in it is escaped."""
    pages = environment()
    nouns = wording.nouns(config.data.source)
    names = [one.name for one in result.participants]
    subject = result.algorithm
    own_rounds = facts.rounds_of(rounds, subject) if facts.collaborative(result) else []
    # Reputations change in forced rounds only; without any (VPDL) they are constants.
    forms_reputations = any(record.forced for record in own_rounds)
    contenders = _contenders(result)
    style = _source("style.css")
    script = _source("reputation.js")
    ledger_rows = facts.ledger_of(ledger, subject)
    averaging = None if result.encryption is None else result.encryption.averaging
    senders = facts.sender_disclosures(ledger, subject) if averaging is not None else []
    page = pages.get_template("report.html.j2").render(
        title=config.report.title or result.name,
        nouns=nouns,
        result=result,
        config=config,
        names=names,
        subject=next(one for one in contenders if one.key == subject),
        contenders=contenders,
        learners=[one for one in contenders if one.key in facts.collaborative(result)],
        size=sentences.participants_note(result.participants, nouns),
        verdict=sentences.verdict(result, nouns),
        control_note=[*scores.worth(result, nouns)[:1], *sentences.control_note(result)],
        best_control=wording.algorithm_name(facts.best_control(result)),
        over_best=_over_best(result),
        worth=scores.worth(result, nouns),
        scores=scores.SCORES,
        score_rows=scores.score_rows(result),
        first=clinician.first_page(
            result, nouns, None if config.table is None else config.table.label
        ),
        hospital_scores=scores.hospital_rows(result),
        trust_rows=scores.trust_rows(result),
        smaller=None if smaller is None else scores.smaller_part(smaller, nouns),
        cautions=sentences.cautions(result, nouns),
        steps=sentences.steps(config, result, nouns),
        hospitals=[_hospital(result, contenders, at) for at in range(len(names))],
        gain_scale=charts.gain_scale(_all_gains(result)),
        bounds={
            one.key: no_gain_bound(result.algorithms[one.key].mcg, result.algorithms[one.key].cgs)
            for one in contenders
            if one.key in facts.collaborative(result)
        },
        panels=charts.panels(rounds, [one.key for one in contenders], names),
        rounds=own_rounds,
        heat=_heat(own_rounds) if forms_reputations else [],
        reputations=_reputations(own_rounds[-1], names, averaged=averaging is not None)
        if forms_reputations
        else [],
        taught=facts.taught(own_rounds) if forms_reputations else None,
        milestones=facts.milestones(own_rounds) if forms_reputations else [],
        sharing=facts.sharing_summary(own_rounds),
        exchanges=facts.exchange_summary(exchanges, subject),
        messages=facts.message_totals(traffic, subject),
        partners=facts.partner_totals(traffic, subject, names),
        ledger=ledger_rows,
        told=disclosure.told(result.encryption, ledger_rows, config.encryption.key_bits),
        ledger_sentences=[averages.disclosure(one) for one in senders]
        or [
            disclosure.let_out(rows)
            for name in names
            if (rows := [row for row in ledger_rows if row.teacher == name])
        ],
        averaging=averaging,
        teachers=facts.teacher_disclosures(ledger, subject),
        privacy=result.privacy,
        asked_pair=privacy.asked_pair,
        spending=privacy.spending(facts.rounds_of(rounds, subject)),
        encryption=result.encryption,
        rounding_cost=facts.rounding_cost(result.participants),
        encrypted=sentences.encrypts(result.encryption),
        encryption_sentence=sentences.encryption(result.encryption),
        cost=sentences.cost(result),
        not_protected=[
            sentences.simulated(nouns),
            *(
                sentences.not_protected(config, nouns, result.privacy)
                if averaging is None
                else averages.not_protected(averaging, nouns)
            ),
        ],
        configuration=to_toml(config),
        versions=versions,
        style=style,
        style_hash=_hash(style),
        script=script,
        script_hash=_hash(script),
    )
    return stacked_tables(page)


def _reputations(last: RoundRecord, names: Sequence[str], *, averaged: bool) -> list[str]:
    return averages.weights(last, names) if averaged else sentences.reputations(last, names)


def _contenders(result: RunResult) -> list[_Contender]:
    """Standalone first, whether or not it was recorded, then the rest in the run's order."""
    learners = facts.collaborative(result)
    early = [key for key in result.controls if key != BASELINE]
    early += [CEILING] if CEILING in result.algorithms else []
    # The run's own algorithm always has the strongest colour.
    styles = {BASELINE: "c0"} | dict.fromkeys(early, "early")
    styles |= {key: f"c{2 + at % 4}" for at, key in enumerate(learners)}
    styles |= {result.algorithm: "c1"} if learners else {}
    return [
        _Contender(
            key=key,
            name=wording.algorithm_name(key),
            rule=wording.algorithm_rule(key),
            style=styles[key],
        )
        for key in (BASELINE, *early, *learners)
    ]


def _over_best(result: RunResult) -> dict[str, GainResult]:
    """Mean gain of every algorithm over the best control, where this is not training alone."""
    if facts.best_control(result) == BASELINE:
        return {}
    found = {name: facts.over_best(result, name) for name in result.algorithms}
    return {name: gain for name, gain in found.items() if gain is not None}


def _hospital(result: RunResult, contenders: Sequence[_Contender], at: int) -> dict[str, object]:
    one: ParticipantResult = result.participants[at]
    scale = charts.gain_scale(_all_gains(result))
    rows: list[dict[str, object]] = []
    for contender in contenders:
        recorded = result.algorithms.get(contender.key)
        accuracy, gain, spread = one.standalone_accuracy, None, 0.0
        if recorded is not None:
            accuracy, spread = recorded.accuracy[at], recorded.accuracy_spread[at]
            gain = None if contender.key == BASELINE else recorded.gain[at]
        rows.append(
            {
                "contender": contender,
                "accuracy": accuracy,
                "bar": charts.accuracy_bar(accuracy, spread),
                "gain": gain,
                "gain_bar": None if gain is None else charts.gain_bar(gain, scale),
            }
        )
    return {"facts": one, "rows": rows}


def _all_gains(result: RunResult) -> list[float]:
    shown = [figure for key, figure in result.algorithms.items() if key != BASELINE]
    return [gain for figure in shown for gain in figure.gain]


def _heat(rounds: Sequence[RoundRecord]) -> list[dict[str, object]]:
    """What the slider steps through, kept small.

    Reputations have three digits, what a cell shows and a little more, and are null where they are
    those of the round before. Each row of `marks` has one digit for a teacher: 2 answered, 1 asked
    only, 0 not asked.
    """
    heat: list[dict[str, object]] = []
    before = None
    for record in rounds:
        reputation = [
            [None if value is None else round(value, 3) for value in row]
            for row in record.reputation
        ]
        heat.append(
            {
                "round": record.round,
                "forced": record.forced,
                "reputation": None if reputation == before else reputation,
                "marks": [
                    "".join(str(2 if yes else int(put)) for put, yes in zip(*pair, strict=True))
                    for pair in zip(record.asked, record.answered, strict=True)
                ],
            }
        )
        before = reputation
    return heat


def environment() -> jinja2.Environment:
    """The templates of all pages, which escape every name, with the words for numbers."""
    pages = jinja2.Environment(
        loader=jinja2.PackageLoader("securefair.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    pages.filters |= {
        "percent": wording.percent,
        "points": wording.points,
        "count": wording.count,
        "size": wording.data_size,
        "duration": wording.duration,
        "message_name": wording.message_name,
        "shade": charts.shade,
        "spread": wording.with_spread,
        "decimal": "{:.1f}".format,
    }
    pages.globals |= {
        "plural": wording.plural,
    }
    return pages


def _source(name: str) -> Markup:
    """A packaged style sheet or script, as it is: ours, so nothing in it needs escaping."""
    text = resources.files("securefair.report").joinpath("templates", name).read_text("utf-8")
    return Markup(text)


def _hash(text: str) -> str:
    """What a content security policy names an inline style or script by.

    The policy allows exactly these two and no network: a script that slipped in through a
    participant's name would not run even if escaping failed.
    """
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
