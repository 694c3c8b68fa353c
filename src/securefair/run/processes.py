"""The parts of a run in processes of their own, each on one thread.

Every algorithm on every seed is computed without the others, so a machine of many cores need not
do one after the other. The longest are begun first, so that no process has a long one left when
the others have nothing to do; what comes of them is given back in the order of one process.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import queue
import signal
import threading
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from securefair.records import RoundRecord
from securefair.report import Progress
from securefair.report.progress import PartProgress
from securefair.run.ahead import forkserver, wait_for
from securefair.run.parts import Heard, Part, carry_out
from securefair.run.results import Repetition

LOOK_AGAIN = 0.05
"""Seconds after which it is looked whether a process that says nothing is still there."""

_Event = tuple[int, str, tuple[Any, ...], dict[str, Any]]


@contextlib.contextmanager
def carrying_out(
    parts: Sequence[Part], progress: Progress, heard: Heard, processes: int
) -> Iterator[Iterator[Repetition]]:
    """What each part leaves behind, in their order; processes end with the context.

    Args:
        parts: of one run or several, in the order of one process.
        progress: shows the rounds of every part, when they are over.
        heard: is told of them, in the order of one process.
        processes: that share the parts; 1: all in this one, as is a run that cannot be sent.

    Raises:
        SecureFairError: as `carry_out`.
        ChildProcessError: a process was ended, as one is where memory is short.
    """
    if processes > 1 and len(parts) > 1 and _can_be_sent(parts):
        with _elsewhere(parts, progress, heard, min(processes, len(parts))) as every:
            yield every
    else:
        yield (carry_out(part, progress, heard) for part in parts)


@contextlib.contextmanager
def _elsewhere(
    parts: Sequence[Part], progress: Progress, heard: Heard, processes: int
) -> Iterator[Iterator[Repetition]]:
    context = forkserver([library for part in parts for library in part.loads])
    wait_for(context)
    events: multiprocessing.Queue[_Event] = context.Queue()
    earlier = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(processes, context, initializer=_begin, initargs=(events, parts))
    done: dict[int, tuple[Future[list[Repetition]], int]] = {}
    try:
        for numbers in jobs(parts):
            job = pool.submit(_carry_out, numbers)
            done.update({number: (job, at) for at, number in enumerate(numbers)})
        yield _in_order(parts, progress, heard, done, events)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in set(multiprocessing.active_children()) - earlier:
            child.terminate()  # what it has finished is written down


def jobs(parts: Sequence[Part]) -> list[list[int]]:
    """Numbers of parts that one process computes after each other, the longest first.

    Parts that share fits go together: another process would have to make them again.
    """
    together: dict[tuple[str, int], list[int]] = {}
    for number, part in enumerate(parts):
        key = ("part", number) if part.shared is None else ("shared", part.shared)
        together.setdefault(key, []).append(number)
    return sorted(
        together.values(),
        key=lambda numbers: max(parts[number].length for number in numbers),
        reverse=True,
    )


def _in_order(
    parts: Sequence[Part],
    progress: Progress,
    heard: Heard,
    done: Mapping[int, tuple[Future[list[Repetition]], int]],
    events: multiprocessing.Queue[_Event],
) -> Iterator[Repetition]:
    shown: dict[int, PartProgress] = {}
    waiting: dict[int, deque[RoundRecord]] = defaultdict(deque)
    finished: set[int] = set()

    def show(number: int, what: str, given: tuple[Any, ...], named: dict[str, Any]) -> None:
        if what == "start":
            shown[number] = progress.start(*given, **named)
            return
        getattr(shown[number], what)(*given)
        if what == "finish":
            finished.add(number)
        else:
            waiting[number].extend(given)

    for number, part in enumerate(parts):
        while True:
            while waiting[number]:
                heard(part, waiting[number].popleft())
            job, at = done[number]
            if number in finished and job.done():
                break
            for any_job, _ in (done[each] for each in range(len(parts))):
                if any_job.done() and any_job.exception() is not None:
                    _result(any_job)  # raises: nobody need wait for the others
            with contextlib.suppress(queue.Empty):
                show(*events.get(timeout=LOOK_AGAIN))
        yield _result(job)[at]


def _result(done: Future[list[Repetition]]) -> list[Repetition]:
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


def _begin(events: multiprocessing.Queue[_Event], parts: Sequence[Part]) -> None:
    from securefair.ckks.threads import set_threads

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started them ends them
    threading.Thread(target=_end_alone, daemon=True).start()
    set_threads(1)
    _given.update(events=events, parts=parts)  # sent at once, so what they share is shared here


def _end_alone() -> None:
    """End with whoever started this process, also where that was killed and could end nobody."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _carry_out(numbers: Sequence[int]) -> list[Repetition]:
    parts, events = _given["parts"], _given["events"]
    return [carry_out(parts[number], _Teller(number, events), _nobody) for number in numbers]


def _nobody(part: Part, record: RoundRecord) -> None:
    """Who hears of rounds is in the process that started this one."""


class _Teller:
    """Progress that is told in the process that shows it."""

    def __init__(self, number: int, events: multiprocessing.Queue[_Event]) -> None:
        self._number, self._events = number, events

    def start(self, *told: object, **further: object) -> PartProgress:
        self._events.put((self._number, "start", told, further))
        return self

    def advance(self, record: RoundRecord) -> None:
        self._events.put((self._number, "advance", (record,), {}))

    def finish(self) -> None:
        self._events.put((self._number, "finish", (), {}))
