"""What was disclosed, in sentences: numbers of models, and bits of what was opened."""

from __future__ import annotations

import math
from collections.abc import Sequence

from securefair.records import WEIGHTED_SUM, EncryptionResult, LedgerRow
from securefair.words import Words

_NAMED = 4  # students that a sentence names; the table has them all


def let_out(rows: Sequence[LedgerRow], words: Words) -> str:
    """What one teacher let out, in words.

    Args:
        rows: that teacher's ledger in one run, so that parameters and release agree in all rows.
        words: of a language.
    """
    teacher, parameters = rows[0].teacher, rows[0].teacher_parameters
    told = sorted((row for row in rows if row.answers), key=lambda row: -row.numbers_total)
    if not told:
        return words("ledger.nothing", name=teacher)
    each = sorted({row.numbers_per_answer for row in told})
    share = words.percent(each[-1] / parameters)
    size = (
        words("ledger.size", numbers=words.either("counts.numbers", each[0]), share=share)
        if len(each) == 1
        else words(
            "ledger.sizes", least=words.count(each[0]), most=words.count(each[-1]), share=share
        )
    )
    parts = [
        words(
            "ledger.part",
            number=words.count(row.numbers_total),
            student=row.student,
            answers=words.either("counts.answers", row.answers),
        )
        for row in told[:_NAMED]
    ]
    if len(told) > _NAMED:
        rest = told[_NAMED:]
        total = sum(row.numbers_total for row in rest)
        others = words.either("counts.others", len(rest))
        parts.append(words("ledger.rest", number=words.count(total), others=others))
    text = words(
        "ledger.let_out",
        name=teacher,
        parameters=words.count(parameters),
        size=size,
        parts=words.listing(parts),
    )
    return " ".join([text, *_known(told, parameters, words)])


def _known(told: Sequence[LedgerRow], parameters: int, words: Words) -> list[str]:
    """Who knows a teacher's model by now: the share of one answer is small, the sum counts."""
    enough = [row.student for row in told if row.determines or row.numbers_total >= parameters]
    who = (
        words.listing(enough)
        if len(enough) <= _NAMED
        else words.either("counts.students", len(enough))
    )
    if any(row.determines for row in told):
        if all(row.in_mean for row in told):
            return [words("ledger.in_mean")]
        return [words("ledger.whole", who=who)]
    return [words("ledger.enough", who=who)] if enough else []


def told(
    result: EncryptionResult | None,
    rows: Sequence[LedgerRow],
    key_bits: float | None,
    words: Words,
) -> str:
    """What was told in one repetition, in numbers and in bits.

    Args:
        result: of the encryption, for the bits of a released number; None: nothing was encrypted.
        rows: the ledger of one algorithm.
        key_bits: the limit of them for one peer and key; None where keys have no such limit.
        words: of a language.
    """
    total = sum(row.numbers_total for row in rows if row.release != WEIGHTED_SUM)
    numbers = words.either("counts.numbers", total)
    if result is not None and result.bits_disclosed is not None and result.numbers_disclosed:
        each = result.bits_disclosed / result.numbers_disclosed
        text = words("ledger.released_bits", numbers=numbers, bits=words.count(round(each)))
    else:
        text = words("ledger.released", numbers=numbers)
    most = max((row.control_bits for row in rows), default=0.0)
    if most == 0:
        return f"{text} {words('ledger.no_control')}"
    text = f"{text} {words('ledger.told', bits=words.count(math.ceil(most)))}"
    if key_bits is None:
        return text
    return f"{text} {words('ledger.renewed', bits=words.figure(f'{key_bits:g}'))}"
