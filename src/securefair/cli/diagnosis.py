"""What of securefair works on this machine, what is missing, and how to get it."""

from __future__ import annotations

import importlib
import os
import platform
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from typing import Literal

import msgspec

from securefair.errors import SecureFairError

Status = Literal["ok", "missing", "broken"]

EXTRAS = {
    "pyarrow": ("Parquet files", "parquet"),
    "torchvision": ("image data and networks", "vision"),
    "tensorboard": ("the TensorBoard logger", "tensorboard"),
    "mlflow": ("the MLflow logger", "mlflow"),
}
"""Optional packages: what they are for, and the extra that installs them."""


class HealthFinding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was looked at.

    Attributes:
        topic: what it belongs to.
        name: what was looked at.
        status: "ok"; "missing" where nothing that is there is hurt; "broken" where it should work.
        found: what is there, or why it does not work.
        required: whether securefair can do without.
        hint: how to get or mend it.
    """

    topic: str
    name: str
    status: Status
    found: str
    required: bool = False
    hint: str = ""


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """All findings; `healthy` unless something required does not work."""

    healthy: bool
    findings: list[HealthFinding]


def diagnose() -> Diagnosis:
    """Look at everything; takes a few seconds, because every backend is tried for real."""
    findings = list(_findings())
    healthy = not any(one.required and one.status != "ok" for one in findings)
    return Diagnosis(healthy=healthy, findings=findings)


def _findings() -> Iterator[HealthFinding]:
    yield from _software()
    yield from _machine()
    for name, required in (("rns", True), ("seal", True), ("clear", True), ("openfhe", False)):
        yield _backend(name, required=required)
    yield from _extras()


def _software() -> Iterator[HealthFinding]:
    yield HealthFinding(
        topic="Software",
        name="Python",
        status="ok",
        found=f"{platform.python_version()} on {platform.system()} {platform.machine()}",
        required=True,
    )
    try:
        own, wanted = version("securefair"), requires("securefair") or []
    except PackageNotFoundError:
        yield HealthFinding(
            topic="Software",
            name="securefair",
            status="missing",
            found="runs from its source folder, not installed",
            hint="pip install -e . makes the command `securefair` and builds the native kernels",
        )
        own, wanted = "", []
    if own:
        yield HealthFinding(
            topic="Software", name="securefair", status="ok", found=own, required=True
        )
    for name in _required_packages(wanted):
        yield _package(name)


def _required_packages(wanted: Sequence[str]) -> list[str]:
    """Names of the packages that are needed in any case."""
    plain = [line for line in wanted if "extra ==" not in line]
    names = ["".join(_leading_name(line)) for line in plain]
    return names or ["torch", "numpy", "tenseal", "msgspec", "pydantic", "scikit-learn"]


def _leading_name(requirement: str) -> Iterator[str]:
    for letter in requirement:
        if not (letter.isalnum() or letter in "-_."):
            return
        yield letter


MODULES = {"scikit-learn": "sklearn"}
"""Modules that are named otherwise than their package."""


def _package(name: str) -> HealthFinding:
    try:
        importlib.import_module(MODULES.get(name, name.replace("-", "_")))
    except ImportError as error:
        return HealthFinding(
            topic="Software",
            name=name,
            status="broken",
            found=str(error),
            required=True,
            hint=f"pip install --force-reinstall {name}",
        )
    return HealthFinding(
        topic="Software", name=name, status="ok", found=version(name), required=True
    )


def _kernels() -> HealthFinding:
    from securefair.ckks.backends import kernels

    info = kernels.describe()
    return HealthFinding(
        topic="Computing",
        name="Native kernels",
        status="ok" if info.native else "missing",
        found=f"{info.instruction_set}, {info.threads} threads"
        if info.native
        else "not built: kernels for devices compute instead, many times slower",
        hint="" if info.native else "Install a C++20 compiler (g++ 11 or later), then reinstall",
    )


def _backend(name: str, *, required: bool) -> HealthFinding:
    from securefair.ckks.backends import encrypts
    from securefair.exchange import trial

    try:
        error = trial.exchange_error(name)
    except SecureFairError as reason:
        return HealthFinding(
            topic="Encryption",
            name=name,
            status="broken" if required else "missing",
            found=reason.problem if reason.found is None else f"{reason.problem} ({reason.found})",
            required=required,
            hint=reason.hint or "",
        )
    told = "encrypted, opened" if encrypts(name) else "no encryption, for tests"
    return HealthFinding(
        topic="Encryption",
        name=name,
        status="ok",
        found=f"{told}; a small exchange was off by {error:.0e}",
        required=required,
    )


def _machine() -> Iterator[HealthFinding]:
    import torch

    yield _kernels()
    cores = len(os.sched_getaffinity(0))
    yield HealthFinding(
        topic="Computing",
        name="Processor",
        status="ok",
        found=f"{cores} cores, torch uses {torch.get_num_threads()} threads",
    )
    available = torch.cuda.is_available()
    yield HealthFinding(
        topic="Computing",
        name="GPU",
        status="ok" if available else "missing",
        found=torch.cuda.get_device_name() if available else "none that torch can use",
        hint=""
        if available
        else "Nothing needs one. With an NVIDIA GPU: install torch's CUDA build (pytorch.org)",
    )


def _extras() -> Iterator[HealthFinding]:
    for package, (purpose, extra) in EXTRAS.items():
        there = find_spec(package) is not None
        yield HealthFinding(
            topic="Optional",
            name=package,
            status="ok" if there else "missing",
            found=_installed(package) if there else f"needed for {purpose} only",
            hint="" if there else f"pip install 'securefair[{extra}]'",
        )


def _installed(package: str) -> str:
    for name in (package, f"{package}-skinny"):
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    return "installed"
