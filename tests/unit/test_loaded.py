"""What commands and sites load before they do anything: names of modules, in a fresh process."""

import subprocess
import sys
from functools import cache

import numpy as np
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
    "measured sides of an exchange": (
        "profiling.fresh_side",
        {"torch", "scipy", "pyarrow", "pydantic_core"},
    ),
    "what kinds are called and read": (KINDS, {"torch", "scipy"}),
    "a kept model and its folder": ("prediction.hospital_model prediction.folder", {"torch"}),
    "a site's status": ("sites.site.status", {"torch"}),
    "what runs have cost patients": ("privacy.durable privacy.guarantees", {"torch"}),
    "a relay": ("sites.operator.relay", {"torch"}),
    "results and reports": ("run.folder report.html user.template", {"torch"}),
    "runs and sites": ("library sites.site.running run.execute profiling.forecast", {"torch"}),
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
    assert {"scipy", "pyarrow"} <= loaded()["runs and sites"]


HEAVY = ("torch", "scipy", "sklearn", "pandas", "polars", "pyarrow", "numpy", "jinja2", "duckdb",
         "matplotlib", "_sealapi_cpp", "openpyxl", "onnx", "warp")  # fmt: skip
TABLE = {"numpy", "scipy", "pyarrow"}
PAGE = {*TABLE, "jinja2"}

COMMANDS = {
    "--help": set(),
    "--version": set(),
    "run --help": set(),
    "site --help": set(),
    "profile --help": set(),
    "plan": {"numpy", "pyarrow"},
    "new study --data a.csv --data b.csv --label ill": TABLE,
    "check study/config.toml": TABLE,
    "run study/config.toml --quiet": {*PAGE, "sklearn", "pandas", "_sealapi_cpp"},
    "report runs/study": PAGE,
    "show runs/study/models/a": {"numpy", "pyarrow"},
    "predict runs/study/models/a a.csv": TABLE,
    "evaluate runs/study/models/a a.csv": {*PAGE, "pandas"},
}
"""In this order, as each goes on with what those before it wrote; with all that it may load."""

EACH = f"""
import io, os, sys

for line in sys.argv[1:]:
    if not os.fork():
        sys.argv, out, sys.stdout = ["securefair", *line.split()], sys.stdout, io.StringIO()
        from securefair.cli import main
        try:
            main()
        except SystemExit as end:
            assert not end.code, (line, end.code, sys.stdout.getvalue())
        print(*[name for name in {HEAVY} if name in sys.modules], file=out, flush=True)
        os._exit(0)
    assert not os.wait()[1], line
"""


@pytest.fixture(scope="module")
def loaded_by(tmp_path_factory):
    """For each command the heavy modules that its process has at its end."""
    folder = tmp_path_factory.mktemp("loaded")
    rng = np.random.default_rng(0)
    for name in "ab":
        ages = rng.integers(30, 80, 60)
        rows = [f"{age},{rng.normal(5, 1):.2f},{int(age > 55)}" for age in ages]
        (folder / f"{name}.csv").write_text("\n".join(["age,potassium,ill", *rows]))
    command = [sys.executable, "-c", EACH, *COMMANDS]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return dict(zip(COMMANDS, map(set, map(str.split, done.stdout.splitlines())), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_imports_what_it_needs(command, loaded_by):
    assert loaded_by[command] - COMMANDS[command] == set()


@pytest.mark.slow
def test_nothing_is_allowed_that_no_command_needs(loaded_by):
    for name in set.union(*COMMANDS.values()):
        assert any(name in found for found in loaded_by.values()), name
