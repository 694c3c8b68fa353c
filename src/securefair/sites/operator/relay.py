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
COMPLETED = "FINISHED:COMPLETED"


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
        "min_clients": len(sites),
        "mandatory_clients": list(sites),
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
        return [str(name) for name in meta["mandatory_clients"]]
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
        sites: that must be connected before the job is submitted.
        say: writes a line of the log.
        stop: ends the watch; None for never.

    Returns:
        How often the job was submitted.

    Raises:
        ConfigError: the relay would not admit this administrator.
        SecureFairError: FLARE is not installed.
    """
    check_certificate(kit, time.time())
    stop, submitted, running = stop or threading.Event(), 0, ""
    while not stop.is_set():
        try:
            with contextlib.closing(_session(kit)) as session:
                if running:
                    _abort(session, running)  # of a relay that went away meanwhile
                    running = ""
                while not stop.wait(LOOK_EVERY):
                    if not running:
                        if not _all_here(session, sites, say):
                            continue
                        running = session.submit_job(str(job.absolute()))
                        submitted += 1
                        say(f"job {running} was submitted")
                    status = session.get_job_meta(running).get("status", "")
                    if status == COMPLETED:
                        say("all sites have ended their rounds")
                        return submitted
                    if status.startswith("FINISHED"):
                        say(f"the job ended: {status}")
                        running = ""
        except _connection_errors() as error:
            say(f"the relay is away: {type(error).__name__} {error}"[:300])
            stop.wait(LOOK_EVERY)
    return submitted


def _all_here(session: Any, sites: Sequence[str], say: Callable[[str], None]) -> bool:
    here = {client.name for client in session.get_system_info().client_info}
    missing = sorted(set(sites) - here)
    if missing:
        say(f"waiting for {', '.join(missing)}")
    return not missing


def _session(kit: Path) -> Any:
    flare_api = _flare_api()
    return flare_api.new_secure_session(kit.name, str(kit.absolute()), timeout=10.0)


def _abort(session: Any, job: str) -> None:
    """End a job that may be over: a server that came back calls it running, and cannot end it."""
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
