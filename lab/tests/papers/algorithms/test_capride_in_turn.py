"""Students in turn: who comes first learns as by VPDL, who comes later from those before it."""

from __future__ import annotations

import torch

from securefair_lab.algorithms import Vpdl
from securefair_lab.papers.algorithms.capride_in_turn import CaprideInTurn
from securefair_lab.papers.capride_code import weight
from securefair_lab.papers.cycle_data import CIFAR10
from securefair_lab.papers.cycle_settings import Setting


def test_the_first_learns_as_by_vpdl_and_the_last_does_not() -> None:
    people = Setting(size="smoke", data=None, dataset=CIFAR10, split="homogeneous", n=3)(0)
    together, in_turn = Vpdl(), CaprideInTurn()
    start = together.init(people, 0)
    one, _ = together.round(start, people)
    other, record = in_turn.round(in_turn.init(people, 0), people)
    first, last = (
        (own.train_states.vectors[0], own.train_states.vectors[-1]) for own in (one, other)
    )
    torch.testing.assert_close(first[0], last[0])
    assert not torch.allclose(first[1], last[1])
    assert record.answered == [[False, True, True], [True, False, True], [True, True, False]]


def test_two_divisions_weigh_as_the_published_code() -> None:
    assert [round(weight(n, 2)) for n in (2, 5, 10)] == [200, 50, 22]
    assert [weight(n, 1) for n in (2, 5, 10)] == [200, 200, 200]
