"""What was disclosed, in sentences: numbers of models, and bits of what was opened."""

from __future__ import annotations

import math
from collections.abc import Sequence

from securefair.records import WEIGHTED_SUM, EncryptionResult, LedgerRow, RoundRecord
from securefair.releases import release_of
from securefair.words import Words

SUM_OF_TWO = 2
"""Parts of a sum that hardly hides one."""

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
            # Fits that are added up, not answers. In a group everybody asks everybody: a sum has as
            # many parts as its teacher has students.
            sums = not any(release_of(row.release).exchanged for row in told)
            of_two = sums and len(told) <= SUM_OF_TWO
            return [words("ledger.in_sum_of_two") if of_two else words("ledger.in_mean")]
        return [words("ledger.whole", who=who)]
    return [words("ledger.enough", who=who)] if enough else []


def told(
    result: EncryptionResult | None,
    rows: Sequence[LedgerRow],
    key_bits: float | None,
    words: Words,
    rounds: Sequence[RoundRecord] = (),
) -> str:
    """What was told in one repetition, in numbers and in bits.

    A sum is opened once, however many ledgers count its numbers: each sender's does.

    Args:
        result: of the encryption, for the bits of a released number; None: nothing was encrypted.
        rows: the ledger of one algorithm.
        key_bits: the limit of them for one peer and key; None where keys have no such limit.
        words: of a language.
        rounds: of that algorithm, which say how many sums were opened; none: as many as a receiver
            got of one sender.
    """
    bits = None
    if result is not None and result.bits_disclosed is not None and result.numbers_disclosed:
        bits = words.count(round(result.bits_disclosed / result.numbers_disclosed))
    single = [row for row in rows if row.release != WEIGHTED_SUM]
    total = sum(row.numbers_total for row in single)
    if result is not None and result.averaging is not None:
        cosines = words("ledger.cosines_told", cosines=words.either("counts.cosines", total))
        weighted = [row for row in rows if row.release == WEIGHTED_SUM]
        opened = _sums(weighted, rounds, words)
        if weighted and not result.averaging.hides_parameters:
            opened = [
                words(
                    "ledger.handed",
                    count=words.count(sum(row.answers for row in weighted)),
                    numbers=words.either("counts.numbers", weighted[0].numbers_per_answer),
                )
            ]
        text = " ".join([cosines, *opened])
    elif single and all(row.in_mean for row in single):
        text = " ".join(_sums(single, rounds, words))
        text += "" if bits is None else f" {words('ledger.number_bits', bits=bits)}"
    else:
        numbers = words.either("counts.numbers", total)
        key = "ledger.released" if bits is None else "ledger.released_bits"
        text = words(key, numbers=numbers, **({} if bits is None else {"bits": bits}))
    most = max((row.control_bits for row in rows), default=0.0)
    if most == 0:
        return f"{text} {words('ledger.no_control')}"
    text = f"{text} {words('ledger.told', bits=words.count(math.ceil(most)))}"
    if key_bits is None:
        return text
    return f"{text} {words('ledger.renewed', bits=words.figure(f'{key_bits:g}'))}"


def _sums(rows: Sequence[LedgerRow], rounds: Sequence[RoundRecord], words: Words) -> list[str]:
    """How many sums were opened, and of how many numbers; nothing where nobody is in one."""
    if not rows:
        return []
    answers, numbers = dict[str, int](), dict[str, int]()
    for row in rows:  # the same sums, once more for every sender
        answers[row.student] = max(answers.get(row.student, 0), row.answers)
        numbers[row.student] = max(numbers.get(row.student, 0), row.numbers_total)
    opened = sum(any(row) for record in rounds for row in record.answered)
    sums = words.either("counts.sums", opened if rounds else sum(answers.values()))
    sizes = {row.numbers_per_answer for row in rows if row.answers}
    # A row of several answers has their mean, unless every sum is of whole models.
    alike = all(row.answers <= 1 or row.release == WEIGHTED_SUM for row in rows)
    if alike and len(sizes) == 1:
        each = words.either("counts.numbers", *sizes)
        return [words("ledger.summed", sums=sums, numbers=each)]
    together = words.either("counts.numbers", sum(numbers.values()))
    return [words("ledger.summed_unequal", sums=sums, numbers=together)]
