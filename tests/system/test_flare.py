"""NVIDIA FLARE as the relay: real server and clients with mutual TLS, killed and kept going."""

import contextlib
import json
import os
import signal
import threading
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from securefair.deployment import rehearsal
from securefair.deployment.proof import proof_of_concept
from securefair.deployment.relay import COURIER, RUNTIME, export_job, harden, sites_of
from securefair.deployment.troupe import Troupe
from securefair.errors import ConfigError

installed = pytest.mark.skipif(
    find_spec("nvflare") is None,
    reason="NVIDIA FLARE IS NOT INSTALLED: pip install 'securefair[flare]'",
)


def test_a_job_names_classes_and_ships_no_code(tmp_path):
    job = export_job(tmp_path, ["north", "south"])
    assert sites_of(job) == ["north", "south"]
    files = {path.relative_to(job).as_posix() for path in job.rglob("*") if path.is_file()}
    config = "app/config/config_fed_"
    assert files == {"meta.json", f"{config}server.json", f"{config}client.json"}
    client = json.loads((job / "app/config/config_fed_client.json").read_text())
    assert client["components"][0]["path"].startswith(COURIER)
    with pytest.raises(ConfigError, match="no job"):
        sites_of(tmp_path)


def test_a_hardened_kit_runs_this_courier_only(tmp_path):
    local = tmp_path / "local"
    for folder in (local, tmp_path / "startup"):
        folder.mkdir()
    (local / "resources.json.default").write_text('{"class_allow_list": ["os"], "other": 1}')
    policy = {"permissions": {"project_admin": "any", "lead": {"byoc": "any", "view": "any"}}}
    (local / "authorization.json.default").write_text(json.dumps(policy))
    harden(tmp_path, tmp_path / "site")
    resources = json.loads((local / "resources.json").read_text())
    assert resources == {
        "class_allow_list": [RUNTIME, COURIER],
        "allow_log_streaming": False,
        "other": 1,
    }
    rights = json.loads((local / "authorization.json").read_text())["permissions"]["lead"]
    assert rights == {"byoc": "none", "shell_commands": "none", "view": "any"}
    assert json.loads((local / "securefair.json").read_text())["door"].endswith("site/door")
    with pytest.raises(ConfigError, match="no startup kit"):
        harden(local, None)


@installed
def test_the_courier_imports_no_model_and_no_encryption():
    import subprocess
    import sys

    code = (
        "import sys, securefair.deployment.couriers.flare; "
        "print([m for m in ('torch', 'tenseal', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def processes(*words):
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            command = (entry / "cmdline").read_bytes().decode(errors="replace")
            if all(word in command for word in words):
                found.append(int(entry.name))
    return found


def kill(*words):
    found = processes(*words)
    assert found, words
    for process in found:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


@pytest.mark.slow
@installed
@pytest.mark.skipif("SECUREFAIR_FLARE" not in os.environ, reason="minutes: `make soak` runs it")
def test_flare_may_lose_its_job_a_client_and_its_server(tmp_path_factory):
    """The sites go on unattended; what travelled holds none of what is theirs."""
    place, rounds = tmp_path_factory.mktemp("f"), 8
    data = rehearsal._hospitals(2)
    project, identities = rehearsal._project(data, "cycle", rounds, "rns")
    rehearsal._make_places(place, data, project, identities, "flare")
    expected = rehearsal.in_one_process(project, data, rounds, 0)
    witness = rehearsal.witness_of(project)
    troupe = Troupe(place, project.names, 0, 0.0, rounds, witness)
    first, second = project.names
    ground = str(place / "flare")
    with proof_of_concept(place, {name: place / name for name in project.names}) as proof:
        until = time.monotonic() + 900
        play = threading.Thread(target=troupe.play, args=(0, expected.envelopes, until))
        play.start()

        def await_round(count):
            while play.is_alive() and len(troupe.records(first)) < count:
                time.sleep(0.5)
                assert time.monotonic() < until, proof.said

        await_round(1)
        kill(ground, f"prod_00/{second}", "worker_process")  # the job's process at one client
        await_round(3)
        kill(ground, f"prod_00/{second}", "client_train")  # the client, which its script restarts
        await_round(5)
        kill(ground, "prod_00/server", "server_train")  # and the server
        play.join()
    assert [len(troupe.records(name)) for name in project.names] == [rounds, rounds], proof.said
    for name in project.names:
        assert [one.decisions for one in troupe.records(name)] == [
            one.decisions for one in expected.records[name]
        ]
    assert sum("was submitted" in line for line in proof.said) >= 2
    logs = b"".join(
        path.read_bytes() for path in Path(ground).rglob("*.txt") if path.name.startswith("log")
    )
    assert b"func_name='deliver'" in logs
    for own in data:
        for value in own.train.features[0]:
            if abs(value) not in (0.0, 1.0):
                assert value.tobytes() not in logs
                assert repr(float(value)).encode() not in logs
