"""The small closed surface: what `import securefair` gives, and what it costs."""

import doctest
import inspect
import re
import subprocess
import sys

import pytest

import securefair


@pytest.mark.parametrize("name", securefair.__all__)
def test_every_public_name_can_be_imported(name: str) -> None:
    assert getattr(securefair, name).__name__ == name


def test_the_lists_of_names_agree() -> None:
    """Names are written three times: for users, for the loader and for type checkers."""
    source = inspect.getsource(securefair).partition("if TYPE_CHECKING:")[2]
    imported = re.findall(r"^    from [\w.]+ import (.*)$", source, re.MULTILINE)
    assert sorted(", ".join(imported).split(", ")) == sorted(securefair.__all__)
    assert list(securefair._HOME) == securefair.__all__ == sorted(securefair.__all__)


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


def test_unknown_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Server'"):
        _ = securefair.Server


def test_import_loads_neither_torch_nor_tenseal() -> None:
    code = "import sys, securefair; print(sorted({'torch', 'tenseal', 'numpy'} & set(sys.modules)))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def test_the_module_docstring_runs() -> None:
    result = doctest.testmod(securefair)
    assert result.attempted >= 8
    assert result.failed == 0
