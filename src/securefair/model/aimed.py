"""What the test of plausibility is worth against aimed answers, in figures."""

from __future__ import annotations

_REPEATED = ((14, 57), (32, 62), (80, 88))
"""Rounds, and per cent of binary features read right by then: by 1, 4 and 12 pairs of aimed parts
of size 0.3, of 40 patients of the four hospitals of the demonstration, by the default plan."""


REFUSED = (
    "of answers with a part of 10 logits at one patient 100 % are refused, of 3 logits 99 %, of "
    "1 logit 51 %, of 0.3 none"
)
"""On the same hospitals; tests/security/test_plausibility_rates.py holds these figures."""


def aimed_answers(rounds: int) -> str:
    """How many aimed answers are refused, and what the others tell in so many rounds."""
    read = next((share for until, share in _REPEATED if rounds <= until), _REPEATED[-1][1])
    return (
        f"{REFUSED}; repeated, these tell a binary feature right in {read} % of cases in {rounds} "
        "rounds (guessing: 50 %)"
    )
