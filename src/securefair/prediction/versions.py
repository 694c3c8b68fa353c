"""Versions of what computes, as models, runs and sites state them."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

PRINTED_PACKAGES = ("securefair", "torch", "numpy", "tenseal", "msgspec", "scikit-learn")


def versions() -> Mapping[str, str]:
    """Versions of what computes here."""
    found = {}
    for package in PRINTED_PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found | {"Python": platform.python_version()}
