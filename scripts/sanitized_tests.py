"""Run tests on the kernels of `make sanitize`, and on no others."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

# What finds the editable installation comes before every path, and so before the sanitised package.
sys.meta_path[:] = [one for one in sys.meta_path if "editable" not in type(one).__module__]

from securefair.ckks.backends import _native  # noqa: E402

if __name__ == "__main__":
    loaded = Path(_native.__file__)
    if "sanitized" not in loaded.parts:
        sys.exit(f"the sanitised kernels were not loaded but {loaded}")
    # Tests of one process: a sanitiser ends it at the first finding, which it
    # writes to the terminal.
    sys.exit(pytest.main(["-s", "-p", "no:cacheprovider", *sys.argv[1:]]))
