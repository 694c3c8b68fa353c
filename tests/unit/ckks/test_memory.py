"""Memory is used again, by nobody while somebody reads it, and is given back."""

import gc
import mmap
import os
import resource
import threading
import warnings
import weakref
from collections import deque
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from securefair.ckks import memory
from securefair.ckks.memory import Arena, empty, used_again

PAGE = mmap.PAGESIZE
VALUES = PAGE // 4
"""Of a page."""


def place(x):
    return x.__array_interface__["data"][0]


def resident():
    """Bytes of memory that this process has in use."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE


@pytest.fixture
def arena():
    return Arena(smallest=0, first=64 * PAGE)


@pytest.fixture
def arenas(monkeypatch):
    """All that are made from now on, for arrays of any size."""
    made = []

    def make():
        made.append(Arena(smallest=0, first=64 * PAGE))
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
    assert arena.reserved == 64 * PAGE


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


def test_the_smallest_hole_is_taken_and_its_rest_stays_a_hole(arena):
    sizes = (5, 1, 3, 1, 4, 1)
    arrays = [arena.empty((n * VALUES,)) for n in sizes]
    where = [place(x) for x in arrays]
    del arrays[4], arrays[2], arrays[0]
    assert arena.holes == [5 * PAGE, 3 * PAGE, 4 * PAGE, 49 * PAGE]
    kept = [arena.empty((n * VALUES,)) for n in (3, 3, 1, 6)]
    assert [place(x) for x in kept] == [where[2], where[4], where[4] + 3 * PAGE, where[5] + PAGE]
    assert arena.holes == [5 * PAGE, 43 * PAGE]


@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1), (2, 1, 0), (1, 0, 2)])
def test_holes_that_touch_become_one(arena, order):
    arrays = {n: arena.empty((20 * VALUES,)) for n in range(3)}
    arrays[3], where = arena.empty((4 * VALUES,)), place(arrays[0])
    for n in order:
        del arrays[n]
    assert arena.holes == [60 * PAGE]
    assert place(arena.empty((60 * VALUES,))) == where


def test_arrays_take_whole_pages(arena):
    first, second = arena.empty((1,)), arena.empty((VALUES + 1,))
    assert place(second) - place(first) == PAGE
    assert arena.holes == [61 * PAGE]


def test_small_arrays_are_the_usual_ones():
    arena = Arena(smallest=4 * 64)
    assert arena.empty((63,)).flags.owndata
    assert not arena.empty((64,)).flags.owndata
    assert Arena(smallest=0).empty((3, 0)).flags.owndata


def test_each_region_doubles_all(arena):
    kept, reserved = [], []
    for n in (64, 1, 64, 1000):
        kept.append(arena.empty((n * VALUES,)))
        reserved.append(arena.reserved // PAGE)
    assert reserved == [64, 128, 256, 1256]
    del kept
    assert sorted(arena.holes) == [n * PAGE for n in (64, 64, 128, 1000)]  # never across regions


def test_what_is_not_used_is_not_touched():
    before = resident()
    large = Arena(first=1 << 30)
    x = large.empty((8 << 18,))
    x[:] = 1
    assert resident() - before < 64 << 20
    assert large.reserved == 1 << 30


@pytest.mark.skipif(
    not Path("/sys/kernel/mm/transparent_hugepage").exists(), reason="no huge pages here"
)
def test_huge_pages_are_asked_for(arena):
    x, flags = arena.empty((VALUES,)), []
    for line in Path("/proc/self/smaps").read_text().splitlines():
        first, *rest = line.split()
        if "-" in first:
            start, stop = (int(part, 16) for part in first.split("-"))
        elif first == "VmFlags:" and start <= place(x) < stop:
            flags = rest
    assert "hg" in flags


def test_what_is_dropped_while_others_close_goes_back(arena):
    """A thread drops an array, and another one closes the arena before it is entered as free."""

    class Closing(deque):
        def append(self, entry):
            arena.close()
            super().append(entry)

    x, y = arena.empty((64 * VALUES,)), arena.empty((64 * VALUES,))
    x[:] = y[:] = 1
    given = []
    x_region = arena._regions[0]
    x_region.give_back = lambda start, stop: given.append((start, stop))
    arena._left = Closing()
    del x
    assert (0, 64 * PAGE) in given
    assert not arena._left
    assert (y == 1).all()


def test_where_untouched_memory_counts_no_more_is_reserved_than_needed(monkeypatch):
    granted = []

    class Strict(memory._Region):
        def __init__(self, size):
            if sum(granted) + size > 100 * PAGE:
                raise OSError("no more")
            super().__init__(size)
            granted.append(size)

    monkeypatch.setattr(memory, "_Region", Strict)
    arena = Arena(smallest=0, first=64 * PAGE)
    kept = [arena.empty((60 * VALUES,)), arena.empty((30 * VALUES,))]
    assert granted == [64 * PAGE, 30 * PAGE]
    kept.append(arena.empty((20 * VALUES,)))  # the usual one, or the usual refusal
    assert kept[2].flags.owndata
    assert arena.reserved == 94 * PAGE


def test_a_process_of_limited_memory_gets_what_it_needs():
    """As `ulimit -v` has it: regions are no larger than arrays, and others get what is left."""

    def limited():
        with Path("/proc/self/statm").open() as file:
            used = int(file.read().split()[0]) * PAGE
        resource.setrlimit(resource.RLIMIT_AS, (used + (320 << 20), resource.RLIM_INFINITY))
        arena = Arena(smallest=0, first=300 << 20)
        kept = [arena.empty((100 << 18,)), arena.empty((64 << 18,)), np.empty(100 << 18, np.int32)]
        for x in kept:
            x[:: 1 << 18] = 7
        try:
            arena.empty((1 << 30,))
        except MemoryError:
            return arena.reserved == 164 << 20
        return False

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # forking beside threads, 3.12 on
        child = os.fork()
    if child == 0:
        right = False
        try:
            right = limited()
        finally:
            os._exit(0 if right else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


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


@pytest.mark.parametrize("first", [0, 1 << 30])
def test_memory_is_given_back_at_the_end(monkeypatch, first):
    """Each array in a region of its own, and all in one."""
    monkeypatch.setattr(memory, "Arena", partial(Arena, first=first))
    size, before = 64 << 20, resident()
    with used_again():
        kept, other, third = (empty(size // 4) for _ in range(3))
        for x in (kept, other, third):
            x[:] = 7
        del x, other  # free at the end
        assert resident() - before > 2.5 * size
    assert 1.5 * size < resident() - before < 2.5 * size
    assert (kept == 7).all()  # still its own
    region = weakref.ref(kept.base._region)
    del third  # beside one that is in use
    assert 0.5 * size < resident() - before < 1.5 * size
    assert (kept == 7).all()
    del kept
    assert resident() - before < 0.5 * size
    assert region() is None


def test_so_it_is_after_a_failure(arenas):
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


def test_every_thread_has_memory_of_its_own(arenas):
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
