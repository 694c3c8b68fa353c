"""The small closed surface: what `import securefair` gives, and what it costs."""

import doctest
import subprocess
import sys

import pytest

import securefair


@pytest.mark.parametrize("name", securefair.__all__)
def test_every_public_name_can_be_imported(name: str) -> None:
    assert getattr(securefair, name).__name__ == name


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
