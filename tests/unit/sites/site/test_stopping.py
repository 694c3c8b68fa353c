"""A process that is asked to stop notes it, and wakes whoever waits."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from securefair.sites.site.stopping import SIGNALS, Stop, stopped_by_signals

LONG = 60.0


@pytest.fixture
def heard():
    """Both signals reach this process, also where it runs in a shell's background."""
    before = [signal.signal(one, signal.default_int_handler) for one in SIGNALS]
    yield
    for one, handler in zip(SIGNALS, before, strict=True):
        signal.signal(one, handler)


@pytest.mark.usefixtures("heard")
@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_is_noted_raises_nothing_and_wakes(number):
    changed, woken = threading.Condition(), []

    def wake():
        with changed:
            woken.append(True)
            changed.notify_all()

    before = [signal.getsignal(one) for one in SIGNALS]
    with stopped_by_signals() as stop:
        stop.wakes(wake)
        stop.check()
        threading.Timer(0.05, os.kill, (os.getpid(), number)).start()
        since = time.monotonic()
        with changed:
            assert changed.wait_for(lambda: woken, LONG)
        assert time.monotonic() - since < LONG
        assert stop.asked
        with pytest.raises(KeyboardInterrupt):
            stop.check()
        late = []
        stop.wakes(lambda: late.append(True))  # what begins to wait only then is told at once
        assert late == [True]
    assert [signal.getsignal(one) for one in SIGNALS] == before


def test_a_signal_may_interrupt_whoever_holds_the_lock_that_a_waker_takes():
    lock, woken = threading.Lock(), threading.Event()

    def wake():
        with lock:
            woken.set()

    with stopped_by_signals() as stop:
        stop.wakes(wake)
        with lock:
            os.kill(os.getpid(), signal.SIGTERM)
            assert stop.asked
            assert not woken.is_set()
        assert woken.wait(LONG)


def test_a_signal_whose_handler_never_runs_is_noted():
    """The system's own handler writes its number; others' numbers ask nothing."""
    with stopped_by_signals() as stop:
        woken = threading.Event()
        stop.wakes(woken.set)
        os.write(stop.writes, bytes([signal.SIGCHLD, SIGNALS[0]]))
        assert woken.wait(LONG)
        assert stop.asked


def test_where_signals_are_written_is_as_before():
    with stopped_by_signals() as stop:
        assert signal.set_wakeup_fd(stop.writes) == stop.writes
    assert signal.set_wakeup_fd(-1) == -1


def test_a_second_signal_ends_the_process_at_once():
    script = (
        "import time\nfrom securefair.sites.site.stopping import stopped_by_signals\n"
        "with stopped_by_signals() as stop:\n"
        "    print('ready', flush=True)\n"
        "    while not stop.asked: time.sleep(0.01)\n"
        "    print('asked', flush=True)\n"
        "    time.sleep(600)\n"
    )
    words = [sys.executable, "-c", script]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            for word in ("ready", "asked"):
                assert process.stdout.readline().strip() == word
                process.send_signal(signal.SIGTERM)
            assert process.wait(LONG) == -signal.SIGTERM
        finally:
            process.kill()


def test_what_is_ignored_stays_ignored():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with stopped_by_signals() as stop:
            os.kill(os.getpid(), signal.SIGINT)
            assert not stop.asked
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_it_leaves_no_thread_and_no_file_behind():
    threads, files = threading.active_count(), len(os.listdir("/dev/fd"))
    stop = Stop()
    stop.ask()
    stop.close()
    assert (threading.active_count(), len(os.listdir("/dev/fd"))) == (threads, files)
