"""NVIDIA FLARE as the relay: real server and clients with mutual TLS, killed and kept going."""

import contextlib
import json
import os
import signal
import threading
import time
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from safetensors.numpy import load

from securefair.collaboration.state import decode_state
from securefair.errors import ConfigError
from securefair.sites.operator.relay import COURIER, RUNTIME, export_job, harden, sites_of
from securefair.sites.rehearsal import rehearsal
from securefair.sites.rehearsal.processes import Troupe
from securefair.sites.rehearsal.proof import Proof, proof_of_concept
from securefair.sites.rehearsal.witness import Witness
from securefair.sites.site.records import MODEL, stored_pieces
from support.certificates import certificate

installed = pytest.mark.skipif(
    find_spec("nvflare") is None,
    reason="NVIDIA FLARE IS NOT INSTALLED: pip install 'securefair[flare]'",
)

minutes = pytest.mark.skipif(
    "SECUREFAIR_FLARE" not in os.environ, reason="minutes: `make soak` runs it"
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
        "import sys, securefair.sites.couriers.flare; "
        "print([m for m in ('torch', '_sealapi_cpp', 'numpy') if m in sys.modules])"
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


@minutes
@installed
def test_four_sites_decide_over_the_relay_as_one_process_does(tmp_path_factory):
    place = tmp_path_factory.mktemp("r")
    found = rehearsal.rehearse(place, courier="flare", sites=4, rounds=12, kills=0, faults=0.0)
    assert found.passed
    assert (found.rounds, found.refused) == (12, 0)


def canaries_of(troupe, own):
    """Patients' values, weights of the model, and logits that peers' numbers became; as bytes."""
    store = troupe._read(own.name)
    with store, store.view() as tx:
        weights, pieces = load(tx.memory.get(MODEL)), stored_pieces(tx)
    steps = [decode_state(pieces[name], {}) for name in pieces if name.startswith("kept step")]
    learnt = [logits for step in steps for logits, _ in step.values()]
    assert learnt
    arrays = [own.train.features, *weights.values(), *learnt]
    numbers = {float(value) for array in arrays for value in np.ravel(array)}
    telling = [value for value in numbers if len(repr(value)) > 12]  # 0.5 is in every log
    return [
        form for value in telling for form in (np.float64(value).tobytes(), repr(value).encode())
    ]


@minutes
@installed
def test_flare_may_lose_its_job_a_client_and_its_server(tmp_path_factory):
    """The sites go on unattended; what travelled holds none of what is theirs."""
    place, rounds = tmp_path_factory.mktemp("f"), 8
    data = rehearsal.hospitals(2)
    project, identities = rehearsal.project_between(data, "cycle", rounds, "rns")
    rehearsal.make_places(place, data, project, identities, "flare")
    expected = rehearsal.in_one_process(project, data, rounds, 0)
    witness = Witness()
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
        canaries = canaries_of(troupe, own)
        assert len(canaries) > 500
        assert not [one for one in canaries if one in logs]


@minutes
@installed
def test_wrong_and_expired_certificates_are_not_admitted(tmp_path_factory, monkeypatch):
    """The relay's own authority has signed one that is over, a stranger one of the same name."""
    place = tmp_path_factory.mktemp("c")
    now = datetime.now(UTC)
    prepared = Proof.command

    def command(proof, *arguments):
        if arguments[0] == "start":
            state = json.loads((proof.kits.parent / "state" / "cert.json").read_text())
            root = x509.load_pem_x509_certificate(state["root_cert"].encode()).subject
            key = serialization.load_pem_private_key(state["root_pri_key"].encode(), None)
            stranger = rsa.generate_private_key(public_exponent=65537, key_size=2048)
            for name, signer, until in (
                ("expired", key, now - timedelta(days=1)),
                ("strange", stranger, now + timedelta(days=20)),
            ):
                pair = certificate(name, root, signer, until)
                for file, data in zip(("client.crt", "client.key"), pair, strict=True):
                    (proof.kits / name / "startup" / file).write_bytes(data)
        prepared(proof, *arguments)

    monkeypatch.setattr(Proof, "command", command)
    sites = {name: place / name for name in ("good", "expired", "strange")}
    until = time.monotonic() + 300
    with proof_of_concept(place, sites, linger=0.0) as proof:
        while "waiting for expired, strange" not in proof.said:
            assert time.monotonic() < until, proof.said
            time.sleep(0.5)
        time.sleep(15.0)  # they go on trying
        assert proof.said[-1] == "waiting for expired, strange"
    assert not any("was submitted" in line for line in proof.said)
    for name, problem in (("expired", "has expired"), ("strange", "not the relay's")):
        log = (proof.kits / name / "log.txt").read_text(encoding="utf-8")
        assert "Successfully registered" not in log
        with pytest.raises(ConfigError, match=problem):  # FLARE itself says nothing
            harden(proof.kits / name, sites[name])
