"""What every session of tests sets first: one thread, properties that repeat, cheap passphrases."""

import os
from functools import cache

# Heads are so small that threads mostly wait for each other: twenty times slower with two. torch
# reads it when it is loaded; it is not loaded here, as the process that only divides the tests
# needs none of it.
os.environ["OMP_NUM_THREADS"] = "1"

import typer.testing
from hypothesis import HealthCheck, settings

from securefair.storage import KeystoreCost, keystore
from support.examples import USUAL, examples

# Every invocation would make all commands anew, which takes longer than many a command.
typer.testing._get_command = cache(typer.testing._get_command)

EVERYWHERE = {
    "deadline": None,
    "print_blob": True,
    "suppress_health_check": [HealthCheck.too_slow],
}
# `make test` draws half of them, `make soak` many, and others every time. Properties with a
# number of their own take it from `support.examples`.
soaking = examples(USUAL) > USUAL
settings.register_profile(
    "ours", derandomize=not soaking, max_examples=examples(USUAL), **EVERYWHERE
)
settings.load_profile("ours")


# Half a second and 128 MiB for every keystore that a test opens; `test_sites` makes one in earnest.
keystore.DEFAULT_COST = KeystoreCost(log2_n=10)


def one_thread_again():
    """A command that a test invoked has set threads for its process, and for its variables: all
    tests that come later would take them over."""
    if os.environ.get("OMP_NUM_THREADS") != "1":
        from securefair.ckks.threads import set_threads

        set_threads(1)
