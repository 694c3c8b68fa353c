"""Scripts that no test runs import what is there: they take minutes, their names need not."""

import ast
import importlib
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
FOLDERS = ("bench", "examples", "scripts")
SCRIPTS = sorted(path for name in FOLDERS for path in (ROOT / name).rglob("*.py"))
OURS = {"securefair": ROOT / "src", "securefair_lab": ROOT / "lab" / "src"}


def bound(tree):
    """Names that a module's own statements bind, and what it takes from others."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {one.asname or one.name.partition(".")[0] for one in node.names}
    return names


@cache
def file_of(module, beside):
    """The file of a module of ours; None of one that is installed, or not there."""
    base = OURS.get(module.partition(".")[0], beside) / module.replace(".", "/")
    places = (base.with_name(f"{base.name}.py"), base / "__init__.py")
    return next((place for place in places if place.exists()), None)


@cache
def names_of(path):
    """What may be imported from a file: its names, and modules below it."""
    names = bound(ast.parse(path.read_text("utf-8")))
    if path.name == "__init__.py":
        names |= {one.stem for one in path.parent.iterdir()}
    return names


def missing(source, beside):
    """What a script takes from us that is not there."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.ImportFrom) or node.module is None:
            continue
        path = file_of(node.module, beside)
        if path is None:
            if node.module.partition(".")[0] in OURS:
                yield node.module
            continue
        for one in node.names:
            there = one.name in names_of(path)
            if not there and "__getattr__" in names_of(path):  # loads names when asked
                there = hasattr(importlib.import_module(node.module), one.name)
            if not there:
                yield f"{node.module}.{one.name}"


def test_there_are_scripts():
    assert {path.parent.name for path in SCRIPTS} >= set(FOLDERS)


def test_scripts_import_what_is_there():
    found = {path.name: list(missing(path.read_text("utf-8"), path.parent)) for path in SCRIPTS}
    assert {name: names for name, names in found.items() if names} == {}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "from securefair.worth.verdict import Against, Difference",
            "securefair.worth.verdict.Difference",
        ),
        ("from worth_data import DATA_SETS, NONE_SUCH", "worth_data.NONE_SUCH"),
        ("from securefair.worth import verdict, verdicts", "securefair.worth.verdicts"),
    ],
)
def test_a_name_that_is_gone_is_seen(line, expected):
    assert list(missing(line, ROOT / "bench")) == [expected]
