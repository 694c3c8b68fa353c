"""What commands and sites load before they do anything: names of modules, in a fresh process."""

import subprocess
import sys
from functools import cache

import pytest

TABLES = {"sklearn", "pandas", "scipy.stats", "scipy.optimize", "matplotlib", "duckdb", "onnx"}
"""Seconds of every start, where something that is needed at times is imported always."""

STARTS = {
    "a kept model and its folder": ("prediction.hospital_model prediction.folder", {"torch"}),
    "a site's status": ("deployment.site.status", {"torch"}),
    "a relay": ("deployment.operator.relay", {"torch"}),
    "results and reports": ("run.folder run.compare report.html user.template", {"torch"}),
    "measured sides of an exchange": ("profiling.fresh_side", {"torch", "scipy", "pyarrow"}),
    "runs and sites": ("library deployment.site.starting run.execute profiling.forecast", set()),
}


@cache
def loaded(modules):
    """All modules that a process has after importing some of ours."""
    ours = ", ".join(f"securefair.{one}" for one in modules.split())
    code = f"import sys, {ours}; print(*sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(shown.stdout.split())


@pytest.mark.parametrize(("modules", "others"), STARTS.values(), ids=STARTS)
def test_what_is_needed_at_times_is_not_imported_always(modules, others):
    assert loaded(modules) & (TABLES | others) == set()


def test_the_search_would_find_one():
    assert "torch" in loaded(STARTS["runs and sites"][0])
