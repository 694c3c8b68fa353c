"""How a site that runs is stopped: it looks itself whether somebody wants that.

What a signal's handler raises lands anywhere: in a destructor or a callback, where it is lost, or
in the midst of a wait. So the handler only notes the signal, and wakes whoever waits. Python runs a
handler when its main thread comes to it, and on a busy machine some never were: so the signal is
noted by what the system's own handler writes, too (`signal.set_wakeup_fd`).
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from securefair.errors import SecureFairError
from securefair.sites.site.folder import STORE, read_settings
from securefair.storage import running_process

STOPS_WITHIN = 60.0
SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Stop:
    """Whether this process was asked to stop.

    Attributes:
        writes: end of a pipe; the number of a signal, as a byte, asks.
    """

    def __init__(self) -> None:
        self._asked = False
        self._wakers: list[Callable[[], None]] = []
        self._reads, self.writes = os.pipe()
        os.set_blocking(self.writes, False)
        self._watcher = threading.Thread(target=self._watch, name="stop", daemon=True)
        self._watcher.start()

    @property
    def asked(self) -> bool:
        """Whether it was."""
        return self._asked

    def ask(self) -> None:
        """Note it, and wake whoever waits. A handler may call this wherever it interrupts."""
        self._asked = True
        with contextlib.suppress(BlockingIOError):  # full: it was written before
            os.write(self.writes, bytes([SIGNALS[0]]))  # what was interrupted might hold a lock

    def check(self) -> None:
        """Between two steps.

        Raises:
            KeyboardInterrupt: it was asked for.
        """
        if self._asked:
            raise KeyboardInterrupt

    def wakes(self, wake: Callable[[], None]) -> None:
        """Call this too once it is asked for, from another thread; at once if it was already."""
        self._wakers.append(wake)
        if self._asked:
            wake()

    def close(self) -> None:
        """Nobody asks any more."""
        os.close(self.writes)
        self._watcher.join()
        os.close(self._reads)

    def _watch(self) -> None:
        woken = False
        while number := os.read(self._reads, 1):
            if number[0] not in SIGNALS or woken:
                continue
            self._asked = woken = True
            for wake in list(self._wakers):
                wake()


@contextlib.contextmanager
def stopped_by_signals() -> Iterator[Stop]:
    """Note SIGTERM or Ctrl-C for a block, in the main thread; a second one ends the process at
    once, wherever it is: a site's store bears that."""
    stop = Stop()

    def note(number: int, frame: object) -> None:
        del number, frame
        for one in heard:
            signal.signal(one, signal.SIG_DFL)
        stop.ask()

    # What is ignored stays so: a shell lets nobody's Ctrl-C reach what runs in its background.
    heard = [one for one in SIGNALS if signal.getsignal(one) is not signal.SIG_IGN]
    before = [signal.signal(one, note) for one in heard]
    written = signal.set_wakeup_fd(stop.writes, warn_on_full_buffer=False)
    try:
        yield stop
    finally:
        signal.set_wakeup_fd(written)
        for one, handler in zip(heard, before, strict=True):
            signal.signal(one, handler)
        stop.close()


def stop_site(folder: Path, seconds: float = STOPS_WITHIN) -> bool:
    """End a running site, and wait for that; whether there was one.

    What comes next takes the store, or copies it.

    Args:
        folder: of the site.
        seconds: for which it is waited: a site that computes ends after that.

    Raises:
        SecureFairError: there is no site in this folder, or it runs still.
    """
    read_settings(folder)
    owner = running_process(folder / STORE)
    if owner is None:
        return False
    with contextlib.suppress(ProcessLookupError):
        os.kill(owner, signal.SIGTERM)
    until = time.monotonic() + seconds
    while running_process(folder / STORE) == owner:
        if time.monotonic() > until:
            raise SecureFairError(
                "the site was asked to stop, and computes still",
                where=str(folder),
                hint="Leave its folder alone; wait, or stop it again, which ends it at once",
            )
        time.sleep(0.05)
    return True
