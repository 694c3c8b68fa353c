"""One self-contained HTML page about a run: no network, no script of others, nothing to install."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from securefair.collaboration.kinds import REGISTERED, kind_of, toml_of, unread_keys, wording_of
from securefair.collaboration.verdict import headline
from securefair.collaboration.wording import encrypts, exposes
from securefair.config import RunConfig
from securefair.model.outcomes import outcome_named
from securefair.prediction import HospitalModel
from securefair.prediction.effects import ColumnEstimate
from securefair.records import (
    CEILING,
    STANDALONE,
    AlgorithmResult,
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
    drawn,
    facts,
    figures,
    privacy,
    scores,
    sentences,
    wording,
)
from securefair.report.estimates import estimate_rows
from securefair.report.figures import Contender
from securefair.report.pages import rendered
from securefair.words import ENGLISH, Words, words_of
from securefair.worth import cgs_over_seeds, no_gain_bound

FILE_NAME = "report.html"


def file_name(language: str) -> str:
    """Of a report: "report.html", and "report.de.html" where it is not in English."""
    return FILE_NAME if language == ENGLISH else f"report.{language}.html"


def render_report(
    *,
    result: RunResult,
    smaller: RunResult | None = None,
    rounds: Sequence[RoundRecord],
    exchanges: Sequence[ExchangeRecord],
    ledger: Sequence[LedgerRow],
    traffic: Sequence[TrafficRow],
    config: RunConfig,
    versions: Mapping[str, str],
    models: Sequence[HospitalModel] = (),
    estimates: Mapping[str, Sequence[ColumnEstimate]] | None = None,
    language: str = ENGLISH,
) -> str:
    """The page as text. Every name in it is escaped.

    Args:
        result: conclusions; `result.algorithm` is the one that the page is about.
        smaller: conclusions of the same run with fewer training samples; None where there is none.
        rounds, exchanges, ledger, traffic: records of one repetition (the first seed), of any
            algorithms; may be empty, their sections are then left out.
        config: what was asked for; printed in full so that the run can be repeated.
        versions: name and version of everything that took part, as it should be printed.
        models: of one repetition, for what they look at; may be empty.
        estimates: of the coefficients of these, by participant.
        language: of the page. What a check found in tables and what failed stands in it as it was
            recorded, in English.
    """
    words = words_of(language).about(wording.whom(config.data.source))
    names = [one.name for one in result.participants]
    subject = result.algorithm
    own_rounds = facts.rounds_of(rounds, subject) if facts.collaborative(result) else []
    # Reputations change in forced rounds only; without any (VPDL) they are constants.
    forms_reputations = any(record.forced for record in own_rounds)
    contenders = _contenders(result, words)
    score_rows, hospital_scores = (
        scores.score_rows(result, words),
        scores.hospital_rows(result, words),
    )
    trust_rows = scores.trust_rows(result, words)
    ledger_rows = facts.ledger_of(ledger, subject)
    averaging = None if result.encryption is None else result.encryption.averaging
    senders = facts.sender_disclosures(ledger, subject) if averaging is not None else []
    gains_in = outcome_named(result.outcome).headline
    told_by = kind_of(subject).tell if subject in REGISTERED else None
    account = told_by(config, result, words) if told_by else sentences.alone(result, words)
    return rendered(
        "report.html.j2",
        title=config.report.title or result.name,
        result=result,
        config=config,
        names=names,
        students=names,
        repetitions=len(result.seeds),
        subject=next(one for one in contenders if one.key == subject),
        contenders=contenders,
        learners=[one for one in contenders if one.key in facts.collaborative(result)],
        size=words(
            "page.size",
            people=words.count(len(names)),
            number=words.count(sum(one.samples for one in result.participants)),
            source=words.under("page.sources").get(config.data.source, config.data.source),
        ),
        words=words,
        verdict=headline(result, words),
        control_note=sentences.control_note(result, words),
        problems=facts.problems_of(result),
        best_control=wording.algorithm_name(facts.best_control(result), words),
        over_best=_over_best(result),
        worth=scores.worth(result, words)[1:],
        scores=scores.titles_of(result, words),
        score_rows=score_rows,
        lower=scores.lower_note(result, words),
        scored=scores.titles_of(result, words).get(gains_in, gains_in),
        pictures=drawn.drawn(
            [one for one in result.algorithms[subject].pictures if one.behind],
            words,
            label=(config.table and config.table.label) or words("ward.label"),
        ),
        of_classes=outcome_named(result.outcome).tells_classes,
        certain=scores.certain_note([*score_rows, *hospital_scores], words),
        first=clinician.first_page(
            result, words, None if config.table is None else config.table.label, models
        ),
        hospital_scores=hospital_scores,
        trust_rows=trust_rows,
        trust_columns=scores.trust_columns(trust_rows, words),
        estimate_rows=estimate_rows(estimates or {}, words),
        smaller=None if smaller is None else scores.smaller_part(smaller, words),
        found=sentences.found_in(result),
        cautions=sentences.cautions(result, words),
        account=account,
        limits=[
            *sentences.everywhere(words, ranges_told=config.tells_ranges),
            *account.limits,
        ],
        hospitals=[_hospital(result, contenders, at) for at in range(len(names))],
        gain_scale=charts.gain_scale(_all_gains(result)),
        bounds={
            one.key: _no_gain_bound(result.algorithms[one.key], len(result.seeds))
            for one in contenders
            if one.key in facts.collaborative(result)
        },
        panels=charts.panels(rounds, [one.key for one in contenders], names),
        rounds=own_rounds,
        heat=figures.slider_steps(own_rounds) if forms_reputations else [],
        reputations=_reputations(own_rounds[-1], names, words, averaged=averaging is not None)
        if forms_reputations
        else [],
        taught=facts.taught(own_rounds) if forms_reputations else None,
        milestones=facts.milestones(own_rounds) if forms_reputations else [],
        sharing=facts.sharing_summary(own_rounds),
        exchanges=facts.exchange_summary(exchanges, subject),
        messages=facts.message_totals(traffic, subject, result.encryption),
        partners=facts.partner_totals(traffic, subject, names),
        ledger=ledger_rows,
        told=disclosure.told(
            result.encryption,
            ledger_rows,
            None
            if "encryption.key_bits" in unread_keys(config.run.collaborative)
            else config.encryption.key_bits,
            words,
            own_rounds,
        ),
        reputations_decide=wording_of(subject).reputations,
        ledger_sentences=[averages.disclosure(one, words) for one in senders]
        or [
            disclosure.let_out(rows, words)
            for name in names
            if (rows := [row for row in ledger_rows if row.teacher == name])
        ],
        averaging=averaging,
        teachers=facts.teacher_disclosures(ledger, subject),
        privacy=result.privacy,
        asked_pair=privacy.asked_pair,
        spending=privacy.spending(facts.rounds_of(rounds, subject)),
        encryption=result.encryption,
        rounding_cost=facts.rounding_cost(result.participants)
        if outcome_named(result.outcome).tells_classes
        else None,  # it is of accuracies
        encrypted=encrypts(result.encryption),
        summed=facts.adds_up(result.encryption),
        exposed=exposes(result.encryption),
        encryption_sentence=sentences.encryption(result.encryption, words),
        cost=sentences.cost(result, words),
        configuration=toml_of(config),
        versions=versions,
    )


def _reputations(
    last: RoundRecord, names: Sequence[str], words: Words, *, averaged: bool
) -> list[str]:
    told = averages.weights if averaged else sentences.reputations
    return told(last, names, words)


def _no_gain_bound(one: AlgorithmResult, seeds: int) -> float:
    """Of the participants of all seeds: a mean over seeds hides those that lose on some."""
    return no_gain_bound(one.mcg, cgs_over_seeds(one.gain, one.gain_spread, seeds))


def _contenders(result: RunResult, words: Words) -> list[Contender]:
    """Standalone first, whether or not it was recorded, then the rest in the run's order."""
    learners = facts.collaborative(result)
    early = [key for key in result.controls if key != STANDALONE]
    early += [CEILING] if CEILING in result.algorithms else []
    # The run's own algorithm always has the strongest colour.
    styles = {STANDALONE: "c0"} | dict.fromkeys(early, "early")
    styles |= {key: f"c{2 + at % 4}" for at, key in enumerate(learners)}
    styles |= {result.algorithm: "c1"} if learners else {}
    return [
        Contender(
            key=key,
            name=wording.algorithm_name(key, words),
            rule=wording.algorithm_rule(key, words),
            style=styles[key],
        )
        for key in (STANDALONE, *early, *learners)
    ]


def _over_best(result: RunResult) -> dict[str, GainResult]:
    """Mean gain of every algorithm over the best control, where this is not training alone."""
    if facts.best_control(result) == STANDALONE:
        return {}
    found = {name: facts.over_best(result, name) for name in result.algorithms}
    return {name: gain for name, gain in found.items() if gain is not None}


def _hospital(result: RunResult, contenders: Sequence[Contender], at: int) -> dict[str, object]:
    one: ParticipantResult = result.participants[at]
    scale = charts.gain_scale(_all_gains(result))
    rows = []
    for contender in contenders:
        recorded = result.algorithms.get(contender.key)
        accuracy, gain, spread = one.standalone_accuracy, None, 0.0
        if recorded is not None:
            accuracy, spread = recorded.accuracy[at], recorded.accuracy_spread[at]
            gain = None if contender.key == STANDALONE else recorded.gain[at]
        rows.append(figures.gain_row(contender, accuracy, gain, scale, spread))
    return {"facts": one, "rows": rows}


def _all_gains(result: RunResult) -> list[float]:
    shown = [figure for key, figure in result.algorithms.items() if key != STANDALONE]
    return [gain for figure in shown for gain in figure.gain]
