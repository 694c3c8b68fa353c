"""The core stands alone: its code and its tests never need `securefair.papers`."""

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import securefair

ROOT = Path(__file__).parents[2]
SOME = [
    f"tests/unit/{name}.py"
    for name in (
        "algorithms/test_vpdl",
        "averaging/test_shares",
        "circuit/test_forms",
        "ckks/test_primes",
        "cli/test_budget",
        "collaboration/test_state",
        "config/test_loading",
        "sites/site/test_steps",
        "exchange/test_compile",
        "fairness/test_reputation",
        "metrics/test_gain",
        "model/test_heads",
        "privacy/test_guarantees",
        "profiling/test_cost",
        "protocol/test_states",
        "report/test_sentences",
        "run/test_lock",
        "simulation/test_network",
        "storage/test_queues",
        "user/test_code",
    )
]

NEEDS_PAPERS = "tests/needs_papers.py"

# An editable installation finds its own modules first: this copy has to come before.
START = """
import runpy, sys
sys.meta_path[:] = [f for f in sys.meta_path if not type(f).__module__.startswith("_editable")]
sys.path.insert(0, {source!r})
del sys.argv[0]
runpy.run_module(sys.argv[0], run_name="__main__")
"""


@pytest.fixture(scope="module")
def core(tmp_path_factory):
    """A copy of the tree without the papers, and how to run Python in it."""
    folder = tmp_path_factory.mktemp("core")
    away = shutil.ignore_patterns(".*")  # but with what is compiled of the rest
    shutil.copytree(ROOT / "tests", folder / "tests", ignore=away)
    shutil.copytree(Path(securefair.__file__).parent, folder / "src/securefair", ignore=away)
    shutil.rmtree(folder / "src/securefair/papers")
    shutil.rmtree(folder / "tests/unit/papers")
    (folder / NEEDS_PAPERS).write_text("import securefair.papers\n")
    for name in ("pyproject.toml", "README.md", "docs", "SECURITY.md", "bench"):
        os.symlink(ROOT / name, folder / name)

    start = folder / "start.py"
    start.write_text(START.format(source=str(folder / "src")))

    def python(*arguments):
        command = [sys.executable, str(start), *arguments]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)

    return python


def imports(file, package):
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        if any(f"{name}.".startswith(f"{package}.") for name in names):
            return True
    return False


def test_tests_of_every_room_pass_and_only_one_that_needs_the_papers_fails(core):
    """Some of them: all take minutes."""
    options = ("-q", "-rfE", "-p", "no:cacheprovider", "--continue-on-collection-errors")
    result = core("pytest", *options, *SOME, NEEDS_PAPERS)
    failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", result.stdout, re.MULTILINE)
    assert failed == [NEEDS_PAPERS], result.stdout[-2000:]
    assert "No module named 'securefair.papers'" in result.stdout
    assert "[100%]" in result.stdout


def test_no_test_of_the_core_imports_the_papers():
    folders = [ROOT / "tests" / name for name in ("unit", "contract", "security", "support")]
    files = [file for folder in folders for file in folder.rglob("*.py")]
    found = [file for file in files if imports(file, "securefair.papers")]
    assert found
    assert {file.relative_to(ROOT).parts[:3] for file in found} == {("tests", "unit", "papers")}


def test_the_program_runs_and_knows_no_papers(core):
    result = core("securefair", "--help")
    assert result.returncode == 0, result.stderr
    assert "demo" in result.stdout
    assert "reproduce" not in result.stdout
