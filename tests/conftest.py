"""Settings every test shares: reproducible property tests, one thread, cheap passphrases."""

import gc
import sys

import pytest

from support import session
from support.fits import share_fits


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Tests and modules stay until the end: the collector need not look at them again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_modifyitems(items):
    """Files of whole runs first: processes that take file after file should end together."""
    long = {
        item.path
        for item in items
        if item.get_closest_marker("slow")
        or item.path.parent.name in ("system", "papers", "ladder")
    }
    items.sort(key=lambda item: item.path not in long)


def pytest_collection_finish():
    """What is loaded by now stays: the collector need not look through it again and again."""
    if "securefair.worth" in sys.modules:  # else no test here makes a run
        share_fits()
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown():
    """Threads stay as they were."""
    try:
        return (yield)
    finally:
        session.one_thread_again()


NO_OPENFHE = "no interpreter here can import openfhe"


@pytest.fixture
def samples_in_slots(monkeypatch):
    """Both sides plan as with a backend that packs no coefficients."""
    from securefair.ckks.keys import Backend

    monkeypatch.setattr(Backend, "packs_coefficients", False)


def pytest_terminal_summary(terminalreporter):
    """Say aloud that the independent check of all encryption did not run."""
    skipped = terminalreporter.stats.get("skipped", [])
    count = sum(NO_OPENFHE in str(report.longrepr) for report in skipped)
    if count:
        terminalreporter.section("openfhe is missing", sep="!", red=True, bold=True)
        terminalreporter.line(
            f"{count} tests of the openfhe backend DID NOT RUN: {NO_OPENFHE}. "
            "They need CPython 3.10: `make openfhe` (docs/backends.md).",
            red=True,
            bold=True,
        )
