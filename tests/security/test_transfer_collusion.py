"""How many hospitals of a transfer must work together to find one teacher's fit.

What a student opens is the sum of its teachers' answers, from fits that never change. Hospitals
that work together know what each of them opened, and their own fits. They know one more fit where
its unit vector lies in the span of all that.
"""

from itertools import combinations

import numpy as np
import pytest

from securefair.model.transfer.peers import asked_peers


def know_another(names, asked, together):
    """Whether these hospitals can compute the fit of one that is not among them."""
    rows = [[float(name in asked[student]) for name in names] for student in together]
    rows += [[float(name == own) for name in names] for own in together]
    known = np.array(rows)
    rank = np.linalg.matrix_rank(known)
    units = (np.eye(len(names))[at] for at, name in enumerate(names) if name not in together)
    return any(np.linalg.matrix_rank(np.vstack([known, unit])) == rank for unit in units)


def named(hospitals):
    return [f"h{at}" for at in range(hospitals)]


@pytest.mark.parametrize(
    ("hospitals", "peers"), [(4, 8), (9, 8), (10, 8), (11, 4), (12, 3), (7, 2)]
)
def test_nobody_finds_a_fit_but_all_others_of_its_group(hospitals, peers):
    names = named(hospitals)
    asked = {name: asked_peers(names, name, peers, 3) for name in names}
    smallest = min(map(len, asked.values()))
    assert smallest >= min(peers, hospitals - 1)
    for fewer in range(1, smallest):
        assert not any(know_another(names, asked, group) for group in combinations(names, fewer))
    assert any(know_another(names, asked, group) for group in combinations(names, smallest))


@pytest.mark.parametrize("hospitals", [10, 12])
def test_on_a_ring_three_find_the_fit_of_a_fourth(hospitals):
    """As it was: eight neighbours each, in sets that overlap."""
    names = named(hospitals)
    near = [step for step in range(-4, 5) if step]
    asked = {
        name: {names[(at + step) % hospitals] for step in near} for at, name in enumerate(names)
    }
    assert any(know_another(names, asked, group) for group in combinations(names, 3))
    assert not any(know_another(names, asked, group) for group in combinations(names, 2))
