"""Settings every test shares: reproducible property tests, one thread, cheap passphrases."""

import gc
import os
from functools import cache

# Heads are so small that threads mostly wait for each other: twenty times slower with two. torch
# reads it when it is loaded; it is not loaded here, as the process that only divides the tests
# needs none of it.
os.environ["OMP_NUM_THREADS"] = "1"

import pytest
import typer.testing
from hypothesis import HealthCheck, settings

from securefair.storage import Cost, keystore
from support.examples import USUAL, examples

# Every invocation would make all commands anew, which takes longer than many a command.
typer.testing._get_command = cache(typer.testing._get_command)

EVERYWHERE = {
    "deadline": None,
    "print_blob": True,
    "suppress_health_check": [HealthCheck.too_slow],
}
# `make test-core` draws half of them, `make soak` many, and others every time. Properties with a
# number of their own take it from `support.examples`.
soaking = examples(USUAL) > USUAL
settings.register_profile(
    "ours", derandomize=not soaking, max_examples=examples(USUAL), **EVERYWHERE
)
settings.load_profile("ours")


# Half a second and 128 MiB for every keystore that a test opens; `test_sites` makes one in earnest.
keystore.DEFAULT_COST = Cost(log2_n=10)


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
        if item.get_closest_marker("slow") or item.path.parent.name == "system"
    }
    items.sort(key=lambda item: item.path not in long)


def pytest_collection_finish():
    """What is loaded by now stays: the collector need not look through it again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown():
    """A command that a test invoked has set threads for its process, and for its variables: all
    tests that come later would take them over."""
    try:
        return (yield)
    finally:
        if os.environ.get("OMP_NUM_THREADS") != "1":
            from securefair.ckks.threads import set_threads

            set_threads(1)


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
