"""What was told is told in numbers and in bits."""

import msgspec
import pytest

from securefair.report.disclosure import let_out, told
from securefair.words import words_of

WORDS = words_of().about("hospitals")


def test_disclosure_counts_for_each_student(run):
    rows = [row for row in run.ledger if row.teacher == "Cleveland"]
    text = let_out(rows, WORDS)
    assert "546 parameters" in text
    assert "128 numbers per answer (23\u00a0% of that count)" in text
    for row in rows:
        assert f"{row.numbers_total:,} to {row.student} in {row.answers} answers" in text


def test_disclosure_says_whose_numbers_are_as_many_as_the_parameters(run):
    rows = [row for row in run.ledger if row.teacher == "Cleveland"]
    rows = [msgspec.structs.replace(row, numbers_total=545) for row in rows]
    assert "treat the model as known" not in let_out(rows, WORDS)
    rows[1] = msgspec.structs.replace(rows[1], numbers_total=546)
    text = let_out(rows, WORDS)
    assert f"In all, {rows[1].student} got at least as many numbers" in text


def test_disclosure_says_what_one_answer_determines(run):
    rows = [row for row in run.ledger if row.teacher == "Cleveland"]
    rows = [
        msgspec.structs.replace(row, determines=True, numbers_total=row.teacher_parameters)
        for row in rows
    ]
    assert "One answer tells as much as the whole model: treat the model as known" in let_out(
        rows, WORDS
    )
    rows = [msgspec.structs.replace(row, in_mean=True) for row in rows]
    assert "students know that mean, no single model" in let_out(rows, WORDS)
    assert "treat the model as known" not in let_out(rows, WORDS)


def test_disclosure_of_a_silent_teacher_and_of_a_crowd(make_run):
    rows = [row for row in make_run().ledger if row.teacher == "Cleveland"]
    silent = [msgspec.structs.replace(row, answers=0, numbers_total=0) for row in rows]
    assert let_out(silent, WORDS) == "Cleveland let out nothing."
    crowd = make_run(names=tuple(f"H{i}" for i in range(8))).ledger
    mine = [row for row in crowd if row.teacher == "H0"]
    rest = sorted(row.numbers_total for row in mine)[:3]
    assert f"{sum(rest):,} to 3 others" in let_out(mine, WORDS)


def test_disclosure_tells_unequal_answers_apart(run):
    rows = [row for row in run.ledger if row.teacher == "Cleveland"]
    rows[0] = msgspec.structs.replace(rows[0], numbers_per_answer=273)
    assert "128 to 273 numbers per answer (at most 50\u00a0%)" in let_out(rows, WORDS)


def test_bits_are_told_beside_numbers(run):
    facts = msgspec.structs.replace(
        run.result.encryption, numbers_disclosed=1280, bits_disclosed=23_040
    )
    silent = [row for row in run.ledger if row.teacher == "Cleveland"]
    numbers = sum(row.numbers_total for row in silent)
    text = told(facts, silent, 64.0, WORDS)
    assert f"{numbers:,} numbers were released, of 18 bits each at most" in text
    assert "No query, decline or weight" in text
    told_some = [msgspec.structs.replace(silent[0], control_bits=53.2), *silent[1:]]
    text = told(None, told_some, 64.0, WORDS)
    assert "told one peer at most 54 bits of it." in text
    assert "A key is renewed before it has told more than 64." in text  # a limit, and not told


@pytest.mark.parametrize("release", ["alignment", "weighted_sum"])
def test_numbers_of_sums_are_not_those_of_one_model(run, release):
    rows = [msgspec.structs.replace(row, release=release) for row in run.ledger[:1]]
    numbers = rows[0].numbers_total if release == "alignment" else 0
    assert f"In all, {numbers:,} number" in told(None, rows, 64.0, WORDS)
