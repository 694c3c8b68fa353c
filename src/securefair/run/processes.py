"""The parts of a run in processes of their own, each on one thread.

Every algorithm on every seed is computed without the others, so a machine of many cores need not
do one after the other. What is heard of their rounds is put into the order of one process.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import queue
import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from securefair.records import RoundRecord
from securefair.report import Progress
from securefair.run.checkpoint import Checkpoint
from securefair.run.parts import Part, carry_out
from securefair.run.results import Repetition

LOOK_AGAIN = 0.2
"""Seconds after which it is looked whether a process that says nothing is still there."""

MOST_BY_ITSELF = 8
"""Processes that nobody asked for: each holds the data and half a gigabyte of libraries."""

_Event = tuple[int, str, tuple[Any, ...], dict[str, Any]]


def usual_processes(seeds: int) -> int:
    """One a seed, as long as there are cores."""
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    return max(1, min(seeds, cores, MOST_BY_ITSELF))


@contextlib.contextmanager
def carrying_out(
    parts: Sequence[Part],
    told: Callable[[Part], Progress],
    checkpoint: Checkpoint | None,
    processes: int,
) -> Iterator[Iterator[Repetition]]:
    """What each part leaves behind, in their order; processes end with the context.

    Args:
        parts: of one run.
        told: who hears of the rounds of a part.
        checkpoint: where every round is written down; None: in memory only.
        processes: that share the parts; 1: all in this one, as is a run that cannot be sent.

    Raises:
        SecureFairError: as `carry_out`.
        ChildProcessError: a process was ended, as one is where memory is short.
    """
    if processes > 1 and len(parts) > 1 and _can_be_sent(parts):
        with _elsewhere(parts, told, checkpoint, min(processes, len(parts))) as every:
            yield every
    else:
        yield (carry_out(part, told(part), checkpoint) for part in parts)


@contextlib.contextmanager
def _elsewhere(
    parts: Sequence[Part],
    told: Callable[[Part], Progress],
    checkpoint: Checkpoint | None,
    processes: int,
) -> Iterator[Iterator[Repetition]]:
    context = multiprocessing.get_context("forkserver")
    libraries = sorted({library for part in parts for library in part.loads})
    context.set_forkserver_preload([__name__, *libraries])  # once, for a second run as well
    events: multiprocessing.Queue[_Event] = context.Queue()
    earlier = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(
        processes, context, initializer=_begin, initargs=(events, parts, checkpoint)
    )
    try:
        done = [pool.submit(_carry_out, number) for number in range(len(parts))]
        yield _in_order(parts, told, done, events)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in set(multiprocessing.active_children()) - earlier:
            child.terminate()  # what it has finished is written down


def _in_order(
    parts: Sequence[Part],
    told: Callable[[Part], Progress],
    done: Sequence[Future[Repetition]],
    events: multiprocessing.Queue[_Event],
) -> Iterator[Repetition]:
    waiting: dict[int, deque[_Event]] = {number: deque() for number in range(len(parts))}
    for number, part in enumerate(parts):
        progress = told(part)
        what = ""
        while what != "finish":
            while not waiting[number]:
                if done[number].done() and done[number].exception() is not None:
                    _result(done[number])  # raises
                with contextlib.suppress(queue.Empty):
                    event = events.get(timeout=LOOK_AGAIN)
                    waiting[event[0]].append(event)
            _, what, given, named = waiting[number].popleft()
            getattr(progress, what)(*given, **named)
        yield _result(done[number])


def _result(done: Future[Repetition]) -> Repetition:
    try:
        return done.result()
    except BrokenProcessPool:
        raise ChildProcessError(
            "a process of this run was ended, as one is where memory is short (fewer: --processes)"
        ) from None


def _can_be_sent(parts: Sequence[Part]) -> bool:
    """Whether other processes can be given them: a model that is brought may hold anything."""
    brought = [(part.models, [own.teacher for own in part.data]) for part in parts]
    try:
        pickle.dumps(brought)  # all else is ours, and data may be large
    except (pickle.PicklingError, AttributeError, TypeError):
        return False
    return True


# --- in the other processes ---

_given: dict[str, Any] = {}


def _begin(
    events: multiprocessing.Queue[_Event], parts: Sequence[Part], checkpoint: Checkpoint | None
) -> None:
    from securefair.ckks.threads import set_threads

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started them ends them
    set_threads(1)
    _given.update(events=events, parts=parts, checkpoint=checkpoint)


def _carry_out(number: int) -> Repetition:
    part: Part = _given["parts"][number]
    return carry_out(part, _Teller(number, _given["events"]), _given["checkpoint"])


class _Teller:
    """Progress that is told in the process that shows it."""

    def __init__(self, number: int, events: multiprocessing.Queue[_Event]) -> None:
        self._number, self._events = number, events

    def start(self, algorithm: str, rounds: int, seed: int | None = None, *, done: int = 0) -> None:
        self._events.put((self._number, "start", (algorithm, rounds, seed), {"done": done}))

    def advance(self, record: RoundRecord) -> None:
        self._events.put((self._number, "advance", (record,), {}))

    def finish(self) -> None:
        self._events.put((self._number, "finish", (), {}))
