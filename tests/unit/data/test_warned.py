"""Filters of warnings, of several threads."""

import threading
import warnings

import pytest

from securefair.data.warned import filtered


def test_a_thread_waits_until_the_filters_of_another_are_put_back():
    within, done = threading.Event(), threading.Event()

    def reads():
        with filtered("error", UserWarning):
            done.set()

    other = threading.Thread(target=lambda: (within.wait(), reads()))
    other.start()
    with filtered("ignore", UserWarning):
        within.set()
        assert not done.wait(0.2)
        warnings.warn("nothing is told", UserWarning, stacklevel=1)
    other.join()
    assert done.is_set()


def test_filters_are_put_back_after_an_error():
    with pytest.raises(UserWarning), filtered("error", UserWarning):
        warnings.warn("told", UserWarning, stacklevel=1)
    with filtered("ignore", UserWarning):
        warnings.warn("nothing is told", UserWarning, stacklevel=1)
