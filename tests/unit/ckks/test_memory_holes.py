"""Arrays of an evaluation never overlap, and holes between them grow together."""

import mmap

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from securefair.ckks.memory import Arena
from support.examples import examples

PAGE = mmap.PAGESIZE
VALUES = PAGE // 4
"""Of a page."""


class Evaluation(RuleBasedStateMachine):
    """Arrays of any size that are made, read through views and dropped in any order."""

    arrays = Bundle("arrays")

    def __init__(self):
        super().__init__()
        self.arena = Arena(smallest=PAGE, first=16 * PAGE)
        self.made, self.kept = 0, {}

    @rule(target=arrays, pages=st.sampled_from([1, 2, 3, 5, 8, 13, 20]), less=st.integers(0, 5))
    def make(self, pages, less):
        x = self.arena.empty((pages * VALUES - less,))
        self.made += 1
        x[:] = self.made
        self.kept[self.made] = x
        return self.made

    @rule(name=consumes(arrays))
    def drop(self, name):
        del self.kept[name]

    @rule(name=arrays)
    def keep_a_view(self, name):
        self.kept[name] = self.kept[name].reshape(-1)[: len(self.kept[name]) // 2 + 1]

    @invariant()
    def nothing_overwrites_anything(self):
        assert all((x == name).all() for name, x in self.kept.items())

    @invariant()
    def holes_are_few(self):
        """None touches another, so there are no more than arrays and ends of regions."""
        regions = len(self.arena._regions)
        assert len(self.arena.holes) <= len(self.kept) + regions

    @rule()
    def what_fits_reserves_nothing(self):
        reserved, largest = self.arena.reserved, max(self.arena.holes, default=0)
        x = self.arena.empty((largest // 4,))
        x[:] = 0
        assert self.arena.reserved == reserved

    def teardown(self):
        self.kept.clear()
        assert sum(self.arena.holes) == self.arena.reserved
        assert len(self.arena.holes) == len(self.arena._regions)


Evaluation.TestCase.settings = settings(max_examples=examples(50), stateful_step_count=40)
TestEvaluation = Evaluation.TestCase
