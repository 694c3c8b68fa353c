"""The package stands alone: its code and its tests never need the laboratory, `lab/`."""

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import securefair
from support.trees import nodes_of, tree_of

ROOT = Path(__file__).parents[2]

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
    """A copy of the package without the laboratory, and how to run Python beside it."""
    folder = tmp_path_factory.mktemp("core")
    away = shutil.ignore_patterns(".*")  # but with what is compiled of the rest
    shutil.copytree(Path(securefair.__file__).parent, folder / "src/securefair", ignore=away)
    start = folder / "start.py"
    start.write_text(START.format(source=str(folder / "src")))

    def python(*arguments):
        command = [sys.executable, str(start), *arguments]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)

    return python


NAMES_ONE = {"import_module", "importlib.import_module", "pytest.importorskip", "__import__"}
PAGES = "tests/system/test_docs.py"
"""Skips itself where the laboratory, of which pages tell as well, is not there."""


def imported(path):
    """Packages that a file names in an import, wherever that stands."""
    for node in nodes_of(tree_of(path)):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in NAMES_ONE:
            names = [one.value for one in node.args[:1] if isinstance(one, ast.Constant)]
        else:
            continue
        yield from (name.partition(".")[0] for name in names)


def test_no_test_of_the_package_imports_the_laboratory():
    """Nor does what tests share; of the package itself, import-linter says so."""
    name, paths = "securefair_lab", sorted((ROOT / "tests").rglob("*.py"))
    naming = [path for path in paths if name in path.read_text("utf-8")]
    found = [path.relative_to(ROOT).as_posix() for path in naming if name in imported(path)]
    assert found == [PAGES]


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
