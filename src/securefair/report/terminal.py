"""The end of a run on a terminal: who gained, what crossed the wire, what was disclosed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from securefair.collaboration.kinds import wording_of
from securefair.collaboration.telling import caveats
from securefair.collaboration.verdict import headline
from securefair.collaboration.wording import encrypts, exposes
from securefair.model.outcomes import outcome_named
from securefair.records import STANDALONE, LedgerRow, RunResult, TrafficRow
from securefair.report import facts, privacy, scores, sentences
from securefair.report.fitting import FittingTable, TableColumn
from securefair.report.wording import (
    algorithm_name,
    count,
    data_size,
    message_name,
    points,
    whom,
    with_spread,
)
from securefair.words import Words, words_of

_BITS = "Control\nbits"  # of opened values, to one peer
_PAIRS = 12  # pairs that the disclosure table lists; beyond that, one line a teacher


def summary(
    result: RunResult,
    *,
    ledger: Sequence[LedgerRow],
    traffic: Sequence[TrafficRow],
    source: str,
    smaller: RunResult | None = None,
) -> RenderableType:
    """Everything a run concludes, for `rich.console.Console.print`.

    Args:
        result: conclusions; the tables are about `result.algorithm`.
        ledger, traffic: of one repetition; may be empty, their tables are then left out.
        source: where the data come from (`data.source`).
        smaller: the same with fewer training samples; None where that was not asked for.
    """
    words = words_of().about(whom(source))
    parts: list[RenderableType] = [
        Text(headline(result, words), style="bold"),
        *(Text(note) for note in scores.worth(result, words)[1:]),
        *(Text(note) for note in sentences.control_note(result, words)),
        *(Text(note, style="dim") for note in sentences.found_in(result)),
        *(Text(note, style="dim") for note in sentences.cautions(result, words)),
        Text(),
    ]
    of_classes = outcome_named(result.outcome).tells_classes
    if of_classes:
        parts.append(_participants(result, words))
    if facts.collaborative(result):
        if of_classes:
            parts.append(_algorithms(result))
        parts += _scores(result, words)
    if smaller is not None:
        part = scores.smaller_part(smaller, words)
        parts += [Text(part.title, style="bold"), *(Text(note) for note in part.notes), Text()]
        parts += _score_table(part.rows, scores.titles_of(result, words))
    messages = facts.message_totals(traffic, result.algorithm, result.encryption)
    if messages:
        parts.append(_traffic(messages))
    if facts.ledger_of(ledger, result.algorithm):
        disclosed = _averaged if wording_of(result.algorithm).averages else _disclosure
        parts.append(disclosed(ledger, result.algorithm))
    if result.privacy:
        parts.append(privacy.promised(result.privacy))
        parts += [Text(note, style="dim") for note in caveats(result.privacy, words)]
    if facts.collaborative(result):
        secret, exposed = encrypts(result.encryption), exposes(result.encryption)
        style = "" if secret and not exposed else "bold"
        parts.append(Text(sentences.encryption(result.encryption, words), style=style))
        if secret:
            parts.append(Text(sentences.cost(result, words)))
    return Group(*parts)


def _participants(result: RunResult, words: Words) -> FittingTable:
    people = result.participants
    columns = [
        TableColumn(words("table.participant"), [one.name for one in people], numbers=False),
        TableColumn(words("gained.samples"), [count(one.samples) for one in people], dispensable=1),
        TableColumn(
            "of them\nfor test", [count(one.test_samples) for one in people], dispensable=3
        ),
        TableColumn(
            "Most common\nanswer", [_percent(p.majority_accuracy) for p in people], dispensable=2
        ),
        TableColumn("Alone", [_percent(one.standalone_accuracy) for one in people]),
    ]
    title = f"{words.nouns['participants'].capitalize()} (accuracy in %"
    control = facts.best_control(result)
    if facts.collaborative(result):
        if control != STANDALONE:
            accuracies = [_percent(one) for one in result.algorithms[control].accuracy]
            columns.append(TableColumn(_in_two(algorithm_name(control)), accuracies))
        name = algorithm_name(result.algorithm)
        columns.append(TableColumn(name, [_percent(one.accuracy) for one in people]))
        over = facts.over_best(result, result.algorithm)
        gains = over and [_gain(*one) for one in zip(over.gain, over.gain_spread, strict=True)]
        columns.append(TableColumn("Gain over\nbest control", gains or []))
        title += ", gains in points"
    return FittingTable(f"{title})", columns)


def _algorithms(result: RunResult) -> FittingTable:
    names, figures = list(result.algorithms), list(result.algorithms.values())
    learners = facts.collaborative(result)
    columns = [
        TableColumn("Algorithm", [algorithm_name(name) for name in names], numbers=False),
        TableColumn(
            "Mean accuracy\n(MVA)",
            [with_spread(_percent(figure.mva), figure.mva_spread) for figure in figures],
        ),
        TableColumn(
            "Mean gain\n(MCG)",
            [
                "" if name == STANDALONE else _gain(figure.mcg, figure.mcg_spread)
                for name, figure in result.algorithms.items()
            ],
        ),
        TableColumn(
            "Spread of\ngains (CGS)",
            [
                f"{figure.cgs * 100:.1f}" if name in learners else ""
                for name, figure in result.algorithms.items()
            ],
            dispensable=1,
        ),
    ]
    best = facts.best_control(result)
    if best != STANDALONE:
        gains = [facts.over_best(result, name) if name in learners else None for name in names]
        over = [_gain(one.mean, one.mean_spread) if one else "" for one in gains]
        columns.insert(3, TableColumn(f"Mean gain over\n{algorithm_name(best).lower()}", over))
    return FittingTable("Algorithms (accuracy in %, gains in points)", columns)


def _scores(result: RunResult, words: Words) -> list[RenderableType]:
    """What predictions are worth, and what everyone makes of its peers."""
    parts = _score_table(scores.score_rows(result, words), scores.titles_of(result, words))
    trust = scores.trust_rows(result, words)
    if trust:
        columns = [TableColumn("", [row.name for row in trust], numbers=False)]
        for at, heading in enumerate(("Weight of\npeers", "Weights", "Left out")):
            cells = [row.cells[at] for row in trust]
            if any(cells):
                columns.append(TableColumn(heading, cells, dispensable=at, numbers=at < 1))
        parts.append(FittingTable("What own patients say of the peers", columns))
    return parts


def _score_table(
    rows: Sequence[scores.ScoreRow], titles: Mapping[str, str]
) -> list[RenderableType]:
    if not rows:
        return []
    columns = [TableColumn("Algorithm", [row.name for row in rows], numbers=False)]
    for at, heading in enumerate(titles.values()):
        cells = [row.cells[at] for row in rows]
        columns.append(TableColumn(heading.replace(" ", "\n"), cells, dispensable=at))
    title = "Predictions (\u00b1 standard errors over patients)"
    return [FittingTable(title, columns, note=words_of()("predictions.certain"), mark="[")]


def _traffic(messages: Sequence[facts.MessageTotal]) -> FittingTable:
    return FittingTable(
        "What crossed the wire",
        [
            TableColumn(
                "Message",
                [
                    message_name(
                        one.message,
                        one.algorithm,
                        summed=one.summed,
                        unencrypted=one.unencrypted,
                    )
                    for one in messages
                ],
                "All",
                False,
            ),
            TableColumn(
                "Number",
                [count(one.count) for one in messages],
                count(sum(one.count for one in messages)),
            ),
            TableColumn(
                "Bytes",
                [data_size(one.bytes) for one in messages],
                data_size(sum(one.bytes for one in messages)),
            ),
        ],
    )


def _disclosure(ledger: Sequence[LedgerRow], algorithm: str) -> FittingTable:
    rows = facts.ledger_of(ledger, algorithm)
    title = "What was disclosed (numbers about a teacher's model)"
    if len(rows) > _PAIRS:
        totals = facts.teacher_disclosures(ledger, algorithm)
        return FittingTable(
            title,
            [
                TableColumn("Teacher", [one.teacher for one in totals], numbers=False),
                TableColumn("Students", [count(one.students) for one in totals]),
                TableColumn("Numbers", [count(one.numbers) for one in totals]),
                TableColumn("Model's\nparameters", [count(one.parameters) for one in totals]),
                TableColumn(_BITS, [count(math.ceil(one.bits)) for one in totals], dispensable=1),
            ],
        )
    return FittingTable(
        title,
        [
            TableColumn("Teacher", [row.teacher for row in rows], numbers=False),
            TableColumn("to student", [row.student for row in rows], numbers=False),
            TableColumn("Answers", [count(row.answers) for row in rows]),
            TableColumn(
                "Numbers\neach", [count(row.numbers_per_answer) for row in rows], dispensable=1
            ),
            TableColumn("Numbers\nin all", [count(row.numbers_total) for row in rows]),
            TableColumn(
                "Model's\nparameters",
                [count(row.teacher_parameters) for row in rows],
                dispensable=3,
            ),
            TableColumn(_BITS, [count(math.ceil(row.control_bits)) for row in rows], dispensable=2),
        ],
    )


def _averaged(ledger: Sequence[LedgerRow], algorithm: str) -> FittingTable:
    totals = facts.sender_disclosures(ledger, algorithm)
    return FittingTable(
        "What was disclosed",
        [
            TableColumn("Of", [one.sender for one in totals], numbers=False),
            TableColumn("Cosines\ntold", [count(one.cosines) for one in totals]),
            TableColumn("Sums with\nits model", [count(one.sums) for one in totals]),
            TableColumn("for so many\nreceivers", [count(one.receivers) for one in totals]),
            TableColumn(
                "Model's\nparameters", [count(one.parameters) for one in totals], dispensable=2
            ),
            TableColumn(_BITS, [count(math.ceil(one.bits)) for one in totals], dispensable=1),
        ],
    )


def _in_two(name: str) -> str:
    """A heading of at most two lines."""
    return name.replace(" ", "\n", 1)


def _percent(fraction: float) -> str:
    """A share in per cent; the table's title names the unit."""
    return f"{fraction * 100:.1f}"


def _gain(gain: float, spread: float) -> Text:
    text = with_spread(points(gain), spread)
    return Text(text, style="green" if gain > 0 else "red" if gain < 0 else "")
