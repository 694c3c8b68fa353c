"""The package stands alone: its code and its tests never need the laboratory, `lab/`."""

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
        "worth/test_gain",
        "averaging/test_shares",
        "circuit/test_forms",
        "ckks/test_primes",
        "cli/test_budget",
        "collaboration/test_kinds",
        "config/test_loading",
        "sites/site/test_steps",
        "exchange/test_compile",
        "worth/test_reputation",
        "model/test_heads",
        "privacy/test_guarantees",
        "profiling/test_cost",
        "protocol/test_states",
        "report/test_sentences",
        "run/test_lock",
        "storage/test_queues",
        "user/test_code",
    )
]

NEEDS_LAB = "tests/needs_lab.py"

# An editable installation finds its own modules first: this copy has to come before. That of the
# laboratory is a folder on the path.
START = """
import runpy, sys
sys.meta_path[:] = [f for f in sys.meta_path if not type(f).__module__.startswith("_editable")]
sys.path[:] = [{source!r}, *(path for path in sys.path if "lab/src" not in path)]
del sys.argv[0]
runpy.run_module(sys.argv[0], run_name="__main__")
"""


@pytest.fixture(scope="module")
def core(tmp_path_factory):
    """A copy of the tree without the laboratory, and how to run Python in it."""
    folder = tmp_path_factory.mktemp("core")
    away = shutil.ignore_patterns(".*")  # but with what is compiled of the rest
    shutil.copytree(ROOT / "tests", folder / "tests", ignore=away)
    shutil.copytree(Path(securefair.__file__).parent, folder / "src/securefair", ignore=away)
    (folder / NEEDS_LAB).write_text("import securefair_lab\n")
    for name in ("pyproject.toml", "README.md", "docs", "SECURITY.md", "bench"):
        os.symlink(ROOT / name, folder / name)

    start = folder / "start.py"
    start.write_text(START.format(source=str(folder / "src")))

    def python(*arguments):
        command = [sys.executable, str(start), *arguments]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)

    return python


def test_tests_of_every_room_pass_and_only_one_that_needs_the_laboratory_fails(core):
    """Some of them: all take minutes."""
    options = ("-q", "-rfE", "-p", "no:cacheprovider")
    result = core("pytest", *options, "--continue-on-collection-errors", *SOME, NEEDS_LAB)
    failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", result.stdout, re.MULTILINE)
    assert failed == [NEEDS_LAB], result.stdout[-2000:] + result.stderr[-2000:]
    assert "No module named 'securefair_lab'" in result.stdout
    assert "[100%]" in result.stdout


def test_the_program_runs_and_knows_no_laboratory(core):
    result = core("securefair", "--help")
    assert result.returncode == 0, result.stderr
    assert "demo" in result.stdout
    assert "reproduce" not in result.stdout


def test_a_data_set_of_the_laboratory_ends_with_one_line(core, tmp_path):
    config = tmp_path / "digits.toml"
    partition = '[data.partition]\nkind = "homogeneous"\nparticipants = 3\n'
    config.write_text(f'[run]\nname = "x"\n[data]\nsource = "digits"\n{partition}')
    result = core("securefair", "check", str(config))
    assert result.returncode == 2
    assert "Traceback" not in result.stderr
    assert result.stderr.splitlines()[-1] == (
        "securefair: data.source: data set digits belongs to securefair-lab, which is not "
        "installed. pip install securefair-lab"
    )
