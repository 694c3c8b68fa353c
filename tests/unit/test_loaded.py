"""What commands and sites load before they do anything: names of modules, in a fresh process."""

import subprocess
import sys
from functools import cache

import pytest

TABLES = {"sklearn", "pandas", "scipy.stats", "scipy.optimize", "matplotlib", "duckdb", "onnx"}
"""Seconds of every start, where something that is needed at times is imported always."""

KINDS, NOISE = "collaboration.kinds", "privacy.randomness"
USED = {
    KINDS: "[kinds.kind_of(name).reads for name in kinds.REGISTERED]",
    NOISE: "randomness.SystemNoise().gaussian(2, 1.0)",
}
"""What is done with a module before anyone looks, where its import alone says little."""

STARTS = {
    "measured sides of an exchange": ("profiling.fresh_side", {"torch", "scipy", "pyarrow"}),
    "what kinds are called and read": (KINDS, {"torch", "scipy"}),
    "a kept model and its folder": ("prediction.hospital_model prediction.folder", {"torch"}),
    "a site's status": ("sites.site.status", {"torch"}),
    "what runs have cost patients": ("privacy.durable privacy.guarantees", {"torch"}),
    "a relay": ("sites.operator.relay", {"torch"}),
    "results and reports": ("run.folder run.compare report.html user.template", {"torch"}),
    "runs and sites": ("library sites.site.starting run.execute profiling.forecast", set()),
    "noise for patients": (NOISE, {"polars"}),
}
"""What must load least comes first: one process starts all of them, one after the other."""


@cache
def loaded():
    """For each start, all modules that the process has by then."""
    code = "import contextlib, importlib, io, sys\n"
    for modules, _ in STARTS.values():
        code += f"for name in {modules.split()}: importlib.import_module('securefair.' + name)\n"
        if modules in USED:
            package, module = modules.split(".")
            code += f"from securefair.{package} import {module}\n"
            code += f"with contextlib.redirect_stdout(io.StringIO()): {USED[modules]}\n"
        code += "print(*sys.modules)\n"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return dict(zip(STARTS, map(set, map(str.split, shown.stdout.splitlines())), strict=True))


@pytest.mark.parametrize("start", STARTS)
def test_what_is_needed_at_times_is_not_imported_always(start):
    """Nor by a start before it."""
    assert loaded()[start] & (TABLES | STARTS[start][1]) == set()


def test_the_search_would_find_one():
    assert "torch" in loaded()["runs and sites"]
