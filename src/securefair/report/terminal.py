"""The end of a run on a terminal: who gained, what crossed the wire, what was disclosed."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from securefair.config import RunConfig
from securefair.records import LedgerRow, RunResult, TrafficRow
from securefair.report import facts, sentences
from securefair.report.wording import (
    Nouns,
    algorithm_name,
    count,
    data_size,
    message_name,
    nouns,
    percent,
    points,
)

_PAIRS = 12  # pairs that the disclosure table lists; beyond that, one line a teacher


def summary(
    result: RunResult,
    *,
    ledger: Sequence[LedgerRow],
    traffic: Sequence[TrafficRow],
    config: RunConfig,
) -> RenderableType:
    """Everything a run concludes, for `rich.console.Console.print`.

    Args:
        result: conclusions; the tables are about `result.algorithm`.
        ledger, traffic: of one repetition; may be empty, their tables are then left out.
        config: what was asked for.
    """
    words = nouns(config.data.source)
    parts: list[RenderableType] = [
        Text(sentences.verdict(result, words), style="bold"),
        *(Text(note, style="dim") for note in sentences.cautions(result, words)),
        Text(),
        _participants(result, words),
    ]
    if facts.collaborative(result):
        parts.append(_algorithms(result))
    messages = facts.message_totals(traffic, result.algorithm)
    if messages:
        parts.append(_traffic(messages))
    if facts.ledger_of(ledger, result.algorithm):
        parts.append(_disclosure(ledger, result.algorithm))
    if facts.collaborative(result):
        secret = sentences.encrypts(result.encryption)
        parts.append(Text(sentences.encryption(result.encryption), style="" if secret else "bold"))
    return Group(*parts)


def _participants(result: RunResult, words: Nouns) -> Table:
    name = algorithm_name(result.algorithm)
    collaborates = result.algorithm != "standalone"
    table = _table(words.participants.capitalize())
    table.add_column(words.participant.capitalize())
    headings = [words.samples.capitalize(), "of them test", "Most common answer", "Alone"]
    if collaborates:
        headings += [f"With {name}", "Gain, points"]
    for heading in headings:
        table.add_column(Text(heading), justify="right")
    for one in result.participants:
        row: list[RenderableType] = [
            Text(one.name),
            count(one.samples),
            count(one.test_samples),
            percent(one.majority_accuracy),
            percent(one.standalone_accuracy),
        ]
        if collaborates:
            row += [percent(one.accuracy), _gain(one.gain, one.gain_spread)]
        table.add_row(*row)
    return table


def _algorithms(result: RunResult) -> Table:
    table = _table("Algorithms (gains in percentage points)")
    table.add_column("Algorithm")
    for heading in ("Mean accuracy (MVA)", "Mean gain (MCG)", "Spread of gains (CGS)"):
        table.add_column(heading, justify="right")
    for key, figure in result.algorithms.items():
        alone = key == "standalone"
        table.add_row(
            Text(algorithm_name(key)),
            percent(figure.mva),
            "" if alone else _gain(figure.mcg, figure.mcg_spread),
            "" if alone else f"{figure.cgs * 100:.1f}",
        )
    return table


def _traffic(messages: Sequence[facts.MessageTotal]) -> Table:
    table = _table("What crossed the wire", show_footer=True)
    table.add_column("Message", footer="All")
    table.add_column("Number", justify="right", footer=count(sum(m.count for m in messages)))
    table.add_column("Bytes", justify="right", footer=data_size(sum(m.bytes for m in messages)))
    for one in messages:
        table.add_row(Text(message_name(one.message)), count(one.count), data_size(one.bytes))
    return table


def _disclosure(ledger: Sequence[LedgerRow], algorithm: str) -> Table:
    table = _table("What was disclosed (numbers about a teacher's model)")
    rows = facts.ledger_of(ledger, algorithm)
    table.add_column("Teacher")
    if len(rows) > _PAIRS:
        for heading in ("Students", "Numbers", "Model's parameters"):
            table.add_column(heading, justify="right")
        for total in facts.teacher_disclosures(ledger, algorithm):
            table.add_row(
                Text(total.teacher),
                count(total.students),
                count(total.numbers),
                count(total.parameters),
            )
        return table
    table.add_column("to student")
    for heading in ("Answers", "Numbers each", "Numbers", "Model's parameters"):
        table.add_column(heading, justify="right")
    for row in rows:
        table.add_row(
            Text(row.teacher),
            Text(row.student),
            count(row.answers),
            count(row.numbers_per_answer),
            count(row.numbers_total),
            count(row.teacher_parameters),
        )
    return table


def _gain(gain: float, spread: float) -> Text:
    text = points(gain) + (f" \u00b1 {spread * 100:.1f}" if spread else "")
    return Text(text, style="green" if gain > 0 else "red" if gain < 0 else "")


def _table(title: str, *, show_footer: bool = False) -> Table:
    return Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        show_footer=show_footer,
    )
