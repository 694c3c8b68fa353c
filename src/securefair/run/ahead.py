"""How many processes a run has, and what they are forked from: it loads their libraries once.

That takes two seconds, in which whoever starts it can load its own. So this loads nothing itself.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.forkserver
import multiprocessing.resource_tracker
import os
import signal
from collections.abc import Iterable
from multiprocessing.context import ForkServerContext

LOADING = "securefair.run.loading"
"""What is loaded first."""

PROCESSES = "securefair.run.processes"
"""What every process of a run loads."""

LOADED = "securefair.run.loaded"
"""What is loaded last: from then on processes are forked that hear of Ctrl-C."""

MOST_BY_ITSELF = 8
"""Processes that nobody asked for: each holds the data and half a gigabyte of libraries."""


def usual_processes(seeds: int) -> int:
    """One a seed, as long as there are cores."""
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    return max(1, min(seeds, cores, MOST_BY_ITSELF))


def forkserver(libraries: Iterable[str]) -> ForkServerContext:
    """Where processes begin; what they are forked from is started, if it is not there yet.

    Args:
        libraries: modules that it loads, besides ours. Who finds it started may want others: these
            are then loaded by each process that needs them.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([LOADING, PROCESSES, *sorted(set(libraries)), LOADED])
    multiprocessing.resource_tracker.ensure_running()  # or what follows would start and unblock
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:  # Ctrl-C is for whoever shows the run; it would end an import with a traceback
        multiprocessing.forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    return context


def wait_for(context: ForkServerContext) -> None:
    """Until what processes are forked from has loaded.

    Whoever is interrupted before leaves a process behind that is begun later all the same. This one
    has nothing to read that is gone by then, and so shows no traceback.
    """
    first = context.Process(target=os.getpid)
    first.start()
    first.join()
