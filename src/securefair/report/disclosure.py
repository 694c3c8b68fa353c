"""What was disclosed, in sentences: numbers of models, and bits of what was opened."""

from __future__ import annotations

import math
from collections.abc import Sequence

from securefair.records import WEIGHTED_SUM, EncryptionResult, LedgerRow
from securefair.report.wording import count, listing, percent, plural

_NAMED = 4  # students that a sentence names; the table has them all


def let_out(rows: Sequence[LedgerRow]) -> str:
    """What one teacher let out, in words.

    Args:
        rows: that teacher's ledger in one run, so that parameters and release agree in all rows.
    """
    teacher, parameters = rows[0].teacher, rows[0].teacher_parameters
    told = sorted((row for row in rows if row.answers), key=lambda row: -row.numbers_total)
    if not told:
        return f"{teacher} let out nothing."
    each = sorted({row.numbers_per_answer for row in told})
    share = percent(each[-1] / parameters, 0)
    size = (
        f"{plural(each[0], 'number')} per answer ({share} of that count)"
        if len(each) == 1
        else f"{count(each[0])} to {count(each[-1])} numbers per answer (at most {share})"
    )
    parts = [
        f"{count(row.numbers_total)} to {row.student} in {plural(row.answers, 'answer')}"
        for row in told[:_NAMED]
    ]
    if len(told) > _NAMED:
        rest = told[_NAMED:]
        total = sum(row.numbers_total for row in rest)
        parts.append(f"{count(total)} to {plural(len(rest), 'other')}")
    # The share of one answer is small; what counts in the end is the sum.
    enough = [row.student for row in told if row.determines or row.numbers_total >= parameters]
    known = ""
    who = listing(enough) if len(enough) <= _NAMED else plural(len(enough), "student")
    if any(row.determines for row in told):
        known = " One answer tells as much as the whole model" + (
            ", but it is opened in a mean with other teachers' answers only: students know that "
            "mean, no single model."
            if all(row.in_mean for row in told)
            else f": treat the model as known to {who}."
        )
    elif enough:
        known = (
            f" In all, {who} got at least as many numbers as the model has parameters: treat the "
            "model as known to them."
        )
    return (
        f"{teacher} has a model of {count(parameters)} parameters and let out {size}: "
        f"{listing(parts)}.{known}"
    )


def told(result: EncryptionResult | None, rows: Sequence[LedgerRow], key_bits: float | None) -> str:
    """What was told in one repetition, in numbers and in bits.

    Args:
        result: of the encryption, for the bits of a released number; None: nothing was encrypted.
        rows: the ledger of one algorithm.
        key_bits: the limit of them for one peer and key; None where keys have no such limit.
    """
    numbers = sum(row.numbers_total for row in rows if row.release != WEIGHTED_SUM)
    text = f"In all, {plural(numbers, 'number')} were released"
    if result is not None and result.bits_disclosed is not None and result.numbers_disclosed:
        each = result.bits_disclosed / result.numbers_disclosed
        text += f", of {count(round(each))} bits each at most"
    most = max((row.control_bits for row in rows), default=0.0)
    if most == 0:
        return text + ". No query, decline or weight depended on anything that was opened."
    text += (
        ". Queries, declines and weights depend on what was opened: they told one peer at most "
        f"{count(math.ceil(most))} bits of it."
    )
    if key_bits is None:
        return text
    return f"{text} A key is renewed before it has told more than {key_bits:g}."
