"""The small closed surface: what `import securefair` gives, and what it costs."""

import ast
import doctest
import inspect
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import securefair

HERE = Path(securefair.__file__).parent
PACKAGES = [
    import_module(".".join(("securefair", *file.parent.relative_to(HERE).parts)))
    for file in sorted(HERE.rglob("__init__.py"))
    if "on_first_use(__name__)" in file.read_text("utf-8")
]
"""Which load their names when they are first used."""

each_package = pytest.mark.parametrize("package", PACKAGES, ids=lambda one: one.__name__)


@pytest.mark.parametrize("name", securefair.__all__)
def test_every_public_name_can_be_imported(name: str) -> None:
    assert getattr(securefair, name).__name__ == name


def homes_of(package: ModuleType) -> dict[str, str]:
    """The module of each name, as type checkers read it."""
    return {
        alias.name: node.module
        for block in ast.parse(inspect.getsource(package)).body
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for node in block.body
        for alias in node.names
        if alias.asname == alias.name
    }


@each_package
def test_every_name_is_found_where_it_is_said_to_be(package: ModuleType) -> None:
    """A name of a module as well would be the one or the other, by what was imported before."""
    homes = homes_of(package)
    assert set(package.__all__) == set(homes)
    for name, home in homes.items():
        assert getattr(package, name) is getattr(import_module(home), name)


@each_package
def test_names_are_listed_once_whether_or_not_they_are_loaded(package: ModuleType) -> None:
    listed = dir(package)
    assert {*package.__all__, "__name__"} <= set(listed)
    assert len(listed) == len(set(listed))


@each_package
def test_unknown_names_are_refused(package: ModuleType) -> None:
    with pytest.raises(AttributeError, match=f"'{package.__name__}' has no attribute 'Server'"):
        _ = package.Server


@pytest.mark.parametrize("name", securefair.__all__)
def test_public_docstrings_are_complete(name: str) -> None:
    """Every argument, field and method of a public name is said something about."""
    public = getattr(securefair, name)
    text = inspect.getdoc(public) or ""
    if not getattr(public, "_is_protocol", False):
        arguments = inspect.signature(public).parameters
        assert [one for one in arguments if not re.search(rf"\b{one}\b", text)] == []
    if inspect.isclass(public):
        own = [one for one in vars(public) if not one.startswith("_")]
        members = [one for one in own if callable(vars(public)[one])]
        members += [one for one in own if isinstance(vars(public)[one], property)]
        assert [one for one in members if not getattr(public, one).__doc__] == []


def test_import_loads_neither_torch_nor_seal() -> None:
    heavy = {"torch", "_sealapi_cpp", "numpy"}
    code = f"import sys, securefair; print(sorted({heavy} & set(sys.modules)))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def test_the_module_docstring_runs() -> None:
    result = doctest.testmod(securefair)
    assert result.attempted >= 8
    assert result.failed == 0
