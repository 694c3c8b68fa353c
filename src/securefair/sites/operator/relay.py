"""NVIDIA FLARE as a relay: the job that carries, a site's permissions, and a watch over the job.

The job is three JSON files that name classes by their path. It ships no code, so sites need not
allow any: they admit FLARE's runtime and this courier, and nothing else.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from securefair.errors import ConfigError, SecureFairError
from securefair.report import write_json
from securefair.sites.project.certificate import check_certificate
from securefair.sites.site.folder import DOOR

JOB = "securefair-courier"
COURIER = "securefair.sites.couriers.flare"
SETTINGS = "securefair.json"
RUNTIME = "nvflare.collab.runtime"
LOOK_EVERY = 3.0
COMPLETED, RUNNING = "FINISHED:COMPLETED", "RUNNING"
FEWEST = 2
"""Clients without which a job has nobody to carry to."""

STUCK_AFTER = 120.0
"""Seconds after which a job that does not run is submitted again: FLARE may never schedule it."""

_SITES = "securefair_sites"


def export_job(folder: Path, sites: Sequence[str]) -> Path:
    """Write the job of a project's sites.

    Args:
        folder: in which the job's folder is made.
        sites: names of all sites, which are those of their FLARE clients.

    Returns:
        The job's folder.
    """
    job = folder / JOB
    meta = {
        "name": JOB,
        "resource_spec": {},
        # Whoever is missing must stop nobody: `keep` submits the job again once it is there.
        "min_clients": FEWEST,
        "mandatory_clients": [],
        _SITES: list(sites),
        "deploy_map": {"app": ["@ALL"]},
    }
    server = {
        "format_version": 2,
        "workflows": [
            {
                "id": "controller",
                "path": f"{RUNTIME}.controller.CollabController",
                "args": {"server_obj_id": "_server"},
            }
        ],
        "components": [{"id": "_server", "path": f"{COURIER}.Relay", "args": {}}],
    }
    client = {
        "format_version": 2,
        "executors": [
            {
                "tasks": ["*"],
                "executor": {
                    "path": f"{RUNTIME}.executor.CollabExecutor",
                    "args": {"client_obj_id": "_client"},
                },
            }
        ],
        "components": [{"id": "_client", "path": f"{COURIER}.Carrier", "args": {}}],
    }
    write_json(job / "meta.json", meta)
    write_json(job / "app" / "config" / "config_fed_server.json", server)
    write_json(job / "app" / "config" / "config_fed_client.json", client)
    return job


def sites_of(job: Path) -> list[str]:
    """The sites of a job that `export_job` wrote.

    Raises:
        ConfigError: it is no such job.
    """
    try:
        meta = json.loads((job / "meta.json").read_text(encoding="utf-8"))
        return [str(name) for name in meta[_SITES]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(
            "this is no job of `securefair flare export`", where=str(job), found=str(error)
        ) from error


def harden(kit: Path, site: Path | None) -> list[Path]:
    """Narrow what a startup kit of FLARE may run to this courier, and tell it where the door is.

    Args:
        kit: folder of the startup kit of a client or of the server, with `startup` and `local`.
        site: folder of the client's site; None for the server.

    Returns:
        The files that were written.

    Raises:
        ConfigError: this is no startup kit, or the relay would not admit its certificate.
    """
    local = kit / "local"
    if not local.is_dir() or not (kit / "startup").is_dir():
        raise ConfigError(
            "this is no startup kit of FLARE",
            where=str(kit),
            expected="a folder with startup and local",
            hint="`nvflare package` makes one",
        )
    check_certificate(kit, time.time())
    resources = _read(local, "resources.json")
    resources |= {"class_allow_list": [RUNTIME, COURIER], "allow_log_streaming": False}
    policy = _read(local, "authorization.json")
    for rights in policy.get("permissions", {}).values():
        if isinstance(rights, dict):
            rights |= {"byoc": "none", "shell_commands": "none"}
    written = [
        write_json(local / "resources.json", resources),
        write_json(local / "authorization.json", policy),
    ]
    if site is not None:
        written.append(write_json(local / SETTINGS, {"door": str(site.absolute() / DOOR)}))
    return written


def keep(
    kit: Path,
    job: Path,
    sites: Sequence[str],
    say: Callable[[str], None],
    *,
    stop: threading.Event | None = None,
) -> int:
    """Submit the job, watch it, and submit it again whenever it ended before the sites did.

    The courier's own job says when all sites are over; what FLARE says of a job that lost a site,
    or a server that came back, is not believed.

    Args:
        kit: startup kit of a FLARE administrator; the folder has the administrator's name.
        job: folder that `export_job` wrote.
        sites: of the project. Two that are connected are enough; when another one comes, the job is
            submitted again with it.
        say: writes a line of the log.
        stop: ends the watch; None for never.

    Returns:
        How often the job was submitted.

    Raises:
        ConfigError: the relay would not admit this administrator.
        SecureFairError: FLARE is not installed.
    """
    check_certificate(kit, time.time())
    stop = stop or threading.Event()
    watch = RelayWatch(job, sites, say)
    while not stop.is_set():
        try:
            with contextlib.closing(_session(kit)) as session:
                watch.begin(session)
                while not stop.wait(LOOK_EVERY):
                    if watch.look(session, time.monotonic()):
                        return watch.submitted
        except _connection_errors() as error:
            say(f"the relay is away: {type(error).__name__} {error}"[:300])
            stop.wait(LOOK_EVERY)
    return watch.submitted


class RelayWatch:
    """What is known of the job between two looks.

    Args:
        job: folder that `export_job` wrote.
        sites: of the project.
        say: writes a line of the log; the same line only once.
    """

    def __init__(self, job: Path, sites: Sequence[str], say: Callable[[str], None]) -> None:
        self._job, self._sites, self._say = job, set(sites), say
        self._running, self._since = "", 0.0
        self._members: set[str] = set()  # of the job that runs, or ran last
        self._through: set[str] = set()  # sites that have ended their rounds
        self._said = ""
        self.submitted = 0

    def begin(self, session: Any) -> None:
        """The relay is there, perhaps again: what it says of a job of before is not believed."""
        self._end(session)

    def look(self, session: Any, now: float) -> bool:
        """Submit the job where that helps; whether all sites have ended their rounds.

        Args:
            session: of FLARE's administrator.
            now: seconds that only grow.
        """
        here = {client.name for client in session.get_system_info().client_info} & self._sites
        if self._running:
            self._judge(session, here, now)
        if self._through == self._sites:
            self._tell("all sites have ended their rounds")
            return True
        missing = sorted(self._sites - here)
        if not self._running:
            if len(here) >= FEWEST and here - self._through:
                self._running = session.submit_job(str(self._job.absolute()))
                self._members, self._since = here, now
                self.submitted += 1
                without = f", without {', '.join(missing)}" if missing else ""
                self._tell(f"job {self._running} was submitted{without}")
            elif missing:
                self._tell(f"waiting for {', '.join(missing)}")
        return False

    def _judge(self, session: Any, here: set[str], now: float) -> None:
        """What becomes of the job that was submitted last."""
        status = session.get_job_meta(self._running).get("status", "")
        if status == RUNNING:
            self._since = now
        if status == COMPLETED:
            self._through |= self._members
            self._running = ""
        elif status.startswith("FINISHED"):
            self._tell(f"the job ended: {status}")
            self._running = ""
        elif late := sorted(here - self._members):
            self._tell(f"{', '.join(late)} came: the job is submitted again")
            self._end(session)
        elif now - self._since > STUCK_AFTER:
            self._tell(f"THE RELAY IS STUCK: job {self._running} is {status or 'unknown'}")
            self._end(session)

    def _end(self, session: Any) -> None:
        """End a job that may be over: a server that came back calls it running, and cannot."""
        if self._running:
            _abort(session, self._running)
            self._running = ""

    def _tell(self, line: str) -> None:
        if line != self._said:
            self._said = line
            self._say(line)


def _session(kit: Path) -> Any:
    flare_api = _flare_api()
    return flare_api.new_secure_session(kit.name, str(kit.absolute()), timeout=10.0)


def _abort(session: Any, job: str) -> None:
    api_spec = _api_spec()
    with contextlib.suppress(
        api_spec.InternalError, api_spec.JobNotFound, api_spec.JobNotRunning, api_spec.CommandError
    ):
        session.abort_job(job)


def _flare_api() -> Any:
    try:
        from nvflare.fuel.flare_api import flare_api
    except ImportError as error:
        raise SecureFairError(
            "NVIDIA FLARE is not installed", hint="pip install 'securefair[flare]'"
        ) from error
    return flare_api


def _api_spec() -> Any:
    from nvflare.fuel.flare_api import api_spec

    return api_spec


def _connection_errors() -> tuple[type[Exception], ...]:
    api_spec = _api_spec()
    return (
        api_spec.AuthenticationError,
        api_spec.CommandError,
        api_spec.InternalError,
        api_spec.JobNotFound,
        api_spec.JobNotRunning,
        api_spec.NoReply,
        api_spec.SessionClosed,
        ConnectionError,
        TimeoutError,
    )


def _read(local: Path, name: str) -> dict[str, Any]:
    """A file of the kit, or its default."""
    path = local / name
    path = path if path.exists() else local / f"{name}.default"
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ConfigError("a file of the startup kit cannot be read", where=str(path)) from error
    return found
