"""What the test of plausibility is worth against aimed answers, in figures."""

from __future__ import annotations

REFUSED = (
    "of answers with a part of 10 logits at one patient 100 % are refused, of 3 logits 99 %, of "
    "1 logit 51 %, of 0.3 none; these, in twelve pairs over 80 rounds, tell a binary feature right "
    "in 45 % of cases (guessing: 50 %)"
)
"""On the four hospitals of the demonstration by the default plan, of 40 patients in the last part.

tests/security/test_plausibility_rates.py and test_repeated_parts.py hold these figures.
"""
