"""Sites on hosts of their own: one gone for good, one twenty times slower, links slow and cut.

SECUREFAIR_HOSTS=3 takes two minutes. SECUREFAIR_HOSTS=8 is the long form (`make soak`): 20 rounds,
2 Mbit/s, six minutes without a network. It takes about half an hour, nearly all of it waiting.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from securefair.sites.rehearsal import rehearsal
from securefair.sites.rehearsal.processes import Troupe
from securefair.sites.rehearsal.witness import Witness
from securefair.sites.site.records import stored_records
from securefair.sites.site.running import export_site
from securefair.sites.site.status import status_of
from securefair.storage import Secret
from support.hosts import ALLOWED, Hosts

LONG = os.environ.get("SECUREFAIR_HOSTS") == "8"
SITES, ROUNDS, RATE, CUT, DEADLINE = (
    (8, 20, "2mbit", 360.0, 420.0)
    if LONG
    else (
        3,
        6,
        "20mbit",
        4.0,
        25.0,
    )
)
COURIER = Path(__file__).parents[1] / "support" / "tcp_courier.py"


@contextlib.contextmanager
def carried(hosts, place, names):
    """A courier on every host."""
    running = []
    try:
        for name in names:
            peers = [f"{one}={hosts.addresses[one]}" for one in names if one != name]
            door = str(place / name / "door")
            command = (sys.executable, str(COURIER), door, str(hosts.port), *peers)
            running.append(subprocess.Popen(hosts.command(name, *command)))
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def slowed(troupe, name, stop):
    """Let a site's process run for a twentieth of the time."""
    while not stop.is_set():
        process = troupe.running.get(name)
        if process is None:
            stop.wait(0.2)
            continue
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGSTOP)
            stop.wait(0.95)
            os.kill(process.pid, signal.SIGCONT)
        stop.wait(0.05)


def sent(place, names):
    return {name: sum(peer.bytes_out for peer in status_of(place / name).peers) for name in names}


@pytest.mark.slow
@pytest.mark.skipif("SECUREFAIR_HOSTS" not in os.environ, reason="minutes: `make soak` runs it")
@pytest.mark.skipif(not ALLOWED, reason="NO NETWORK NAMESPACES: they take root, ip and tc")
def test_rounds_go_on_over_slow_links_without_who_is_gone(tmp_path_factory):
    place = tmp_path_factory.mktemp("h")
    data = rehearsal.hospitals(SITES)
    project, identities = rehearsal.project_between(
        data, "cycle", ROUNDS, "rns", round_seconds=DEADLINE
    )
    rehearsal.make_places(place, data, project, identities, "flare")
    *staying, slow, gone = project.names
    staying.append(slow)
    troupe = Troupe(place, project.names, 0, 0.0, ROUNDS, Witness())
    stop, until = threading.Event(), time.monotonic() + 2400
    with Hosts(project.names, RATE) as hosts, carried(hosts, place, project.names):
        play = threading.Thread(target=troupe.play, args=(0, 1, until), daemon=True)
        play.start()

        def await_rounds(name, count):
            while len(troupe.records(name)) < count:
                time.sleep(0.5)
                assert play.is_alive()
                assert time.monotonic() < until

        for name in project.names:
            await_rounds(name, 1)
        uploaded = sent(place, staying)
        threading.Thread(target=slowed, args=(troupe, slow, stop), daemon=True).start()
        await_rounds(gone, 2)
        process = troupe.running.pop(gone)
        process.kill()
        process.join()
        await_rounds(staying[0], ROUNDS // 2)
        hosts.connect(False)
        time.sleep(CUT)
        hosts.connect(True)
        play.join()
        stop.set()
    passphrase = Secret((place / "passphrase").read_bytes())
    for name in staying:
        store = troupe._read(name)
        with store, store.view() as tx:
            records = stored_records(tx)
        assert [record.round for record in records] == list(range(ROUNDS))
        assert gone in records[-1].away
        assert slow not in records[-1].away
        results = export_site(place / name, passphrase, place / f"{name} results")
        assert f"Away at the end: {gone}." in results.page.read_text(encoding="utf-8")
    for name, size in sent(place, staying).items():
        assert (size - uploaded[name]) / (ROUNDS - 1) <= 5e6
