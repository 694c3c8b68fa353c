"""Blocks are used again, by nobody while somebody reads them, and are given back."""

import gc
import os
import threading
import tracemalloc
import warnings
import weakref
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from securefair.ckks import memory
from securefair.ckks.memory import Arena, empty, used_again
from support.examples import examples


def place(x):
    return x.__array_interface__["data"][0]


@pytest.fixture
def arena():
    return Arena(smallest=0, spare=1 << 20)


@pytest.fixture
def arenas(monkeypatch):
    """All that are made from now on, for arrays of any size."""
    made = []

    def make():
        made.append(Arena(smallest=0, spare=1 << 20))
        return made[-1]

    monkeypatch.setattr(memory, "Arena", make)
    return made


def test_what_is_dropped_is_used_again(arena):
    x = arena.empty((2, 3, 64))
    assert (x.shape, x.dtype, x.flags.writeable, x.flags.c_contiguous) == (
        (2, 3, 64),
        np.dtype(np.int32),
        True,
        True,
    )
    where = place(x)
    del x
    assert place(arena.empty((384,))) == where
    assert arena.held == 4 * 384


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x[1:],
        lambda x: x.reshape(-1)[::2],
        lambda x: x.view(np.uint32).T,
        lambda x: np.require(x[0], None, ["C", "W"]),
        lambda x: memoryview(x),
        lambda x: np.frombuffer(memoryview(x[1]).cast("B"), dtype=np.uint8),
    ],
)
def test_any_view_keeps_it(arena, view):
    x = arena.empty((2, 64))
    where, kept = place(x), view(x)
    del x
    other = arena.empty((2, 64))
    assert place(other) != where
    del kept
    assert place(arena.empty((2, 64))) == where


def test_a_block_serves_what_nearly_fills_it(arena):
    where = place(arena.empty((96,)))
    assert place(arena.empty((97,))) != where
    assert place(arena.empty((64,))) == where
    assert place(arena.empty((63,))) != where


def test_the_closest_block_is_taken(arena):
    blocks = [arena.empty((n,)) for n in (120, 100, 110)]
    where = place(blocks[1])
    del blocks
    assert place(arena.empty((100,))) == where


def test_small_arrays_are_the_usual_ones():
    arena = Arena(smallest=4 * 64)
    assert arena.empty((63,)).flags.owndata
    assert not arena.empty((64,)).flags.owndata
    assert arena.held == 4 * 64


def test_no_more_is_held_than_was_needed_at_a_time_and_the_spare():
    arena = Arena(smallest=0, spare=400)
    many = [arena.empty((100,)) for _ in range(5)]
    del many
    assert arena.held == 2000  # all free
    assert arena.empty((450,)).nbytes == 1800
    assert arena.held == 2200  # one small one is left beside it
    assert arena.empty((1000,)).nbytes == 4000
    assert arena.held == 4000


@given(
    steps=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 60)), max_size=60),
    spare=st.integers(0, 300),
)
@settings(max_examples=examples(100))
def test_no_two_arrays_share_memory_and_the_limit_holds(steps, spare):
    arena, arrays, most = Arena(smallest=40, spare=spare), {}, 0
    for name, size in steps:
        arrays.pop(name, None)
        arrays[name] = arena.empty((size,))
        arrays[name][:] = name
        most = max(most, sum(memory.WASTE * a.nbytes for a in arrays.values() if a.nbytes >= 40))
        assert arena.held <= most + spare
        assert all((values == name).all() for name, values in arrays.items())


def test_only_inside_and_only_this_thread(arenas):
    assert empty(64).flags.owndata
    with used_again():
        x = empty(64)
        others = []
        thread = threading.Thread(target=lambda: others.append(empty(64)))
        thread.start()
        thread.join()
        assert not x.flags.owndata
        assert others[0].flags.owndata
    assert empty(64).flags.owndata


def test_one_inside_another_is_the_same(arenas):
    with used_again():
        where = place(empty(64))
        with used_again():
            assert place(empty(64)) == where
        assert place(empty(64)) == where
    assert len(arenas) == 1


def test_blocks_are_given_back_at_the_end(arenas):
    size = 8 << 20
    tracemalloc.start()
    try:
        with used_again():
            kept = empty(size // 4)
            kept[:] = 7
            empty(size // 4)  # free at once
            assert tracemalloc.get_traced_memory()[0] > 2 * size
        assert size < tracemalloc.get_traced_memory()[0] < 1.5 * size
        assert (kept == 7).all()  # still its own
        del kept
        assert tracemalloc.get_traced_memory()[0] < size
    finally:
        tracemalloc.stop()


def test_so_they_are_after_a_failure(arenas):
    def fail():
        with used_again():
            empty(64)
            raise ValueError("no answer")

    with pytest.raises(ValueError, match="no answer"):
        fail()
    assert not arenas[0].open
    assert empty(64).flags.owndata


def test_an_arena_goes_with_its_last_array():
    arena = Arena(smallest=0)
    x, gone = arena.empty((64,)), weakref.ref(arena)
    arena.close()
    del arena
    assert gone() is not None
    del x
    assert gone() is None


def test_garbage_in_a_cycle_comes_back(arena):
    cycle = [arena.empty((64,))]
    cycle.append(cycle)
    where = place(cycle[0])
    del cycle
    gc.collect()
    assert place(arena.empty((64,))) == where


def test_other_threads_may_drop_arrays(arena):
    """What they let go of while this thread takes comes back once and whole."""
    waiting, wrong, stop = [], [], threading.Event()

    def drop():
        while not stop.is_set() or waiting:
            if waiting:
                number, x = waiting.pop()
                wrong.extend([number] if (x != number).any() else [])

    thread = threading.Thread(target=drop)
    thread.start()
    for number in range(2000):
        x = arena.empty((256,))
        x[:] = number
        waiting.append((number, x))
        del x
    stop.set()
    thread.join()
    assert wrong == []
    where = {place(x) for x in [arena.empty((256,)) for _ in range(10)]}
    assert len(where) == 10


def test_every_thread_has_blocks_of_its_own(arenas):
    wrong = []

    def work(seed):
        rng, kept = np.random.default_rng(seed), {}
        with used_again():
            for step in range(300):
                name = int(rng.integers(8))
                kept.pop(name, None)
                kept[name] = empty(int(rng.integers(1, 200)))
                kept[name][:] = 1000 * seed + name
                wrong.extend((seed, step) for n, x in kept.items() if (x != 1000 * seed + n).any())

    threads = [threading.Thread(target=partial(work, seed)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len(arenas) == 4


def test_a_forked_process_has_copies(arenas):
    with used_again():
        x, y = empty(1000), empty(1000)
        x[:], where = 1, place(y)
        del y
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # forking beside threads, 3.12 on
            child = os.fork()
        if child == 0:
            again = empty(1000)
            again[:], x[:] = 2, 2
            os._exit(0 if place(again) == where else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert place(empty(1000)) == where
        assert (x == 1).all()
