"""A search for inputs that exceed a planned bound finds none, and would find a bound too small.

Offline: `python scripts/worst_inputs.py rns --evaluations 2000`.
"""

from dataclasses import replace

import pytest

from contract.worst_inputs import Search
from securefair.circuit.spec import ExchangeSpec
from support.examples import examples

SPECS = {
    hidden: ExchangeSpec(features=3, hidden=hidden, classes=2, samples=24, q=8) for hidden in (0, 2)
}
EVALUATIONS = examples(60)


@pytest.mark.parametrize("hidden", [0, pytest.param(2, marks=pytest.mark.slow)])
def test_no_inputs_exceed_the_planned_bound(hidden):
    search = Search(SPECS[hidden], "rns")
    worst = search.worst(EVALUATIONS, seed=hidden)
    assert search.answered > EVALUATIONS / 3
    assert 0 < worst <= 1


def test_a_bound_that_is_too_small_is_exceeded():
    search = Search(SPECS[0], "rns")
    search.student.plan = replace(
        search.student.plan, error_bound=search.student.plan.error_bound / 16
    )
    assert search.worst(EVALUATIONS, seed=1) > 1
