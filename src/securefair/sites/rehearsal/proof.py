"""FLARE's proof of concept on this machine (mutual TLS, real processes), for rehearsals and tests.

The server and every client are started from provisioned kits that are hardened as in earnest.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from securefair.errors import SecureFairError
from securefair.sites.operator.relay import export_job, harden

ADMINISTRATOR = "admin@nvidia.com"
"""Of a proof of concept, as FLARE names it."""


@dataclass(frozen=True)
class Proof:
    """A running relay.

    Attributes:
        folder: of FLARE's workspace.
    """

    folder: Path

    @property
    def log(self) -> Path:
        """What the watch over the job said."""
        return self.folder.with_name("keep.txt")

    @property
    def said(self) -> list[str]:
        """Its lines."""
        return self.log.read_text(encoding="utf-8").splitlines() if self.log.exists() else []

    @property
    def kits(self) -> Path:
        """Folder of all startup kits."""
        return self.folder / "example_project" / "prod_00"

    def command(self, *arguments: str) -> None:
        """Run `nvflare poc ...`.

        Raises:
            SecureFairError: it failed.
        """
        program = Path(sys.executable).with_name("nvflare")
        path = f"{program.parent}{os.pathsep}{os.environ.get('PATH', '')}"
        environment = {"NVFLARE_POC_WORKSPACE": str(self.folder), "PATH": path}
        try:
            done = subprocess.run(
                [str(program), "poc", *arguments],
                env=os.environ | environment,
                capture_output=True,
                text=True,
                check=False,
            )
        except OSError as error:
            raise SecureFairError(
                "NVIDIA FLARE is not installed",
                where=str(program),
                hint="pip install 'securefair[flare]'",
            ) from error
        if done.returncode:
            lines = (done.stdout + done.stderr).strip().splitlines()
            raise SecureFairError("FLARE failed", where=arguments[0], found=" ".join(lines[-3:]))


@contextlib.contextmanager
def proof_of_concept(
    folder: Path, sites: Mapping[str, Path], *, linger: float = 60.0
) -> Iterator[Proof]:
    """Start server and clients, and watch over the courier's job, for a block.

    Args:
        folder: empty or missing; it holds FLARE's workspace and logs afterwards.
        sites: folder of each site, by name.
        linger: seconds for which the job may end by itself after the block.

    Raises:
        SecureFairError: FLARE is not installed, or does not start.
    """
    proof = Proof(folder / "flare")
    names = list(sites)
    proof.command("prepare", "--force", "-c", *names)
    for name, site in sites.items():
        harden(proof.kits / name, site)
    harden(proof.kits / "server", None)
    job = export_job(folder / "job", names)
    watch = None
    try:
        proof.command("start", "--no-wait")
        with proof.log.open("wb") as log:
            watch = subprocess.Popen(
                [
                    *(sys.executable, "-m", "securefair", "flare", "keep"),
                    *(str(proof.kits / ADMINISTRATOR), str(job)),
                ],
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        yield proof
        with contextlib.suppress(subprocess.TimeoutExpired):
            watch.wait(timeout=linger)  # it ends by itself where all sites have
    finally:
        if watch is not None:
            watch.kill()
            watch.wait()
        with contextlib.suppress(SecureFairError):
            proof.command("stop")
        _await_end(proof.folder)


def _await_end(folder: Path, seconds: float = 20.0) -> None:
    """Wait for FLARE's processes of this workspace, and end those that stay."""
    until = time.monotonic() + seconds
    while (left := _processes(folder)) and time.monotonic() < until:
        time.sleep(0.5)
    while left:  # scripts among them start again what ends
        for process in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.5)
        left = _processes(folder)


def _processes(folder: Path) -> list[int]:
    """Processes whose command line names the workspace."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            command = (entry / "cmdline").read_bytes()
            if os.fsencode(folder) in command:
                found.append(int(entry.name))
    return found
