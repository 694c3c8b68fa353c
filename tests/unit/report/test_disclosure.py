"""What was told is told in numbers and in bits."""

import msgspec
import pytest

from securefair.records import AveragingResult
from securefair.report.disclosure import let_out, told
from securefair.words import words_of

WORDS = words_of().about("hospitals")
AVERAGING = AveragingResult(
    averaging="masked",
    hides_weights=False,
    hides_parameters=True,
    parameters=116,
    average_error_bound=2e-8,
    cosine_error_bound=0.06,
    min_senders=2,
    kept_own=0,
    lost=0,
)


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
    assert "as known" not in let_out(rows, WORDS)
    rows[1] = msgspec.structs.replace(rows[1], numbers_total=546)
    text = let_out(rows, WORDS)
    assert f"In all, {rows[1].student} got at least as many numbers" in text


def test_disclosure_says_what_one_answer_determines(run):
    rows = [row for row in run.ledger if row.teacher == "Cleveland"]
    rows = [
        msgspec.structs.replace(row, determines=True, numbers_total=row.teacher_parameters)
        for row in rows
    ]
    text = let_out(rows, WORDS)
    assert "One answer tells as much as the whole fit that answers: treat that fit as known" in text
    assert "the private fit, not the model that stays at home" in text
    rows = [msgspec.structs.replace(row, in_mean=True) for row in rows]
    assert "students know that mean, no single model" in let_out(rows, WORDS)
    assert "as known" not in let_out(rows, WORDS)


def test_a_sum_over_two_is_not_said_to_hide_a_model(make_run):
    """Of three hospitals each opens a sum over two, which tells roughly either (docs/sums)."""
    for names, roughly in (("abc", True), ("abcd", False)):
        rows = [row for row in make_run(names=tuple(names)).ledger if row.teacher == "a"]
        rows = [
            msgspec.structs.replace(row, determines=True, in_mean=True, release="summed_fits")
            for row in rows
        ]
        text = let_out(rows, WORDS)
        assert ("in a sum over two only: each student knows roughly either fit" in text) == roughly
        assert ("no single model" in text) != roughly
        answers = [msgspec.structs.replace(row, release="projection") for row in rows]
        assert "no single model" in let_out(answers, WORDS)  # one equation for two unknowns


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


def opened(run, *times):
    """Rounds in which as many receivers opened something."""
    width = len({row.student for row in run.ledger})
    return [
        msgspec.structs.replace(
            run.rounds[0],
            answered=[[at < one and to != at for to in range(width)] for at in range(width)],
        )
        for one in times
    ]


def test_a_sum_is_opened_once_however_many_are_in_it(run):
    summed = {"in_mean": True, "numbers_per_answer": 14, "numbers_total": 14, "answers": 1}
    rows = [msgspec.structs.replace(row, **summed) for row in run.ledger]
    text = told(None, rows, None, WORDS, opened(run, 3))
    assert text.startswith("Opened in all: 3 sums of 14 numbers each. ")
    everyone = len({row.student for row in rows})
    assert f"{everyone} sums of 14 numbers each" in told(None, rows, None, WORDS)
    facts = msgspec.structs.replace(
        run.result.encryption, numbers_disclosed=100, bits_disclosed=6400
    )
    assert "each. A number has 64 bits at most. No" in told(facts, rows, None, WORDS)


def test_of_sums_that_may_differ_only_all_numbers_are_told(run):
    summed = {"in_mean": True, "numbers_per_answer": 194, "numbers_total": 388, "answers": 2}
    student = run.ledger[0].student
    rows = [msgspec.structs.replace(row, **summed) for row in run.ledger if row.student == student]
    assert len(rows) > 1
    text = told(None, rows, None, WORDS, opened(run, 1, 1))
    assert text.startswith("Opened in all: 2 sums, with 388 numbers together. ")


def test_cosines_are_told_and_sums_of_models_opened(run):
    facts = msgspec.structs.replace(run.result.encryption, averaging=AVERAGING)
    cosine, *_, other = [
        msgspec.structs.replace(row, release="alignment", answers=3, numbers_total=3)
        for row in run.ledger
    ]
    models = {"release": "weighted_sum", "numbers_per_answer": 116, "answers": 3}
    rows = [cosine, other, *(msgspec.structs.replace(row, **models) for row in run.ledger)]
    text = told(facts, rows, None, WORDS, opened(run, 3, 3, 3))
    assert text.startswith("Told in all: 6 cosines. Opened in all: 9 sums of 116 numbers each. ")
    assert "sums" not in told(facts, rows[:2], None, WORDS, opened(run, 0))
    bare = msgspec.structs.replace(AVERAGING, hides_parameters=False)
    text = told(msgspec.structs.replace(facts, averaging=bare), rows, None, WORDS)
    handed = 3 * len(run.ledger)
    assert f"Models handed over in the open: {handed}, of 116 numbers each." in text
    assert "sums" not in text
