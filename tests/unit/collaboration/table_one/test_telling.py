"""What is said of Table 1, before it is made and on its page, is what its two sums tell."""

import numpy as np

from securefair.data import Samples
from securefair.report.described import described_notes
from securefair.words import words_of
from support import described as support


def three():
    rng = np.random.default_rng(0)
    return {name: Samples(rng.uniform(-1, 1, (30, 2)), rng.integers(0, 2, 30), 2) for name in "abc"}


def test_the_first_sum_is_said_to_tell_of_cells_that_are_kept_back():
    """`CountsExchange.decide` opens it for every cell, told or not."""
    notes = " ".join(described_notes(support.described(None, three()), words_of()))
    assert "of every other cell how many of them have three patients or more in it" in notes


def test_before_anybody_signs_a_cell_is_said_to_need_three_patients():
    _, _, agreement, _ = support.agreed_on(None, three())
    assert "that 3 of 3 hospitals have three patients or more in" in agreement.summary
