"""The unit of a site, started by a systemd: two hospitals over a folder, from start to end."""

import contextlib
import json
import re
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from securefair.cli.ending import EXIT_INTERRUPTED, EXIT_PASSING, EXIT_USAGE
from securefair.sites.site.stopping import STOPS_WITHIN
from securefair.storage.unlock import CREDENTIAL
from support.booted import ON_DISK, PLACE, booted, missing
from support.operators import PASSPHRASE, SETTINGS

pytestmark = [
    pytest.mark.slow,  # a systemd, and the sites of two hospitals
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
]

NOBODY = 65534
ROUNDS = 20  # most are left to the last test, as few go by at a time: see `rounds_go_by`
AGAIN = 0.5  # seconds from an end to the next start; the unit's own are 30
WARD = Path(PLACE) / "ward"
TESTS = Path(__file__).parents[1]
NAMES = ("north", "south")


class Ward:
    """Two hospitals' units on one machine; what a person types there."""

    def __init__(self, machine):
        self.machine = machine

    def securefair(self, *words):
        return self.machine.run(sys.executable, "-m", "securefair", *words, user=NOBODY)

    def over(self, name):
        """Rounds, as its log says: that takes no interpreter."""
        words = ("journalctl", "--no-pager", "--output=cat", f"--unit=securefair-{name}")
        said = re.findall(rf"round (\d+) of {ROUNDS} is over", self.machine.run(*words))
        return int(said[-1]) if said else 0

    def systemctl(self, verb, name, *options, check=True):
        words = ("systemctl", "--no-pager", verb, f"securefair-{name}", *options)
        return self.machine.run(*words, check=check)

    def unit(self, name, *properties):
        found = self.machine.show(f"securefair-{name}", *properties)
        return tuple(found[one] for one in properties)

    def is_tried_again(self, name, before):
        """As systemd counts; a start by hand sets that to 0."""
        self.machine.until(
            lambda: int(self.unit(name, "NRestarts")[0]) > before, f"{name} starts by itself"
        )

    @contextlib.contextmanager
    def rounds_go_by(self):
        """For a block, after which south computes no more: north ends no round without it.

        On a busy machine all rounds were over before the last of these tests.
        """
        self.systemctl("kill", "south", "--signal=CONT")
        yield
        self.systemctl("kill", "south", "--signal=STOP")

    def goes_on(self, *names):
        """Until one more round is over."""
        goals = {name: self.over(name) + 1 for name in names}
        with self.rounds_go_by():
            for name, goal in goals.items():
                self.machine.until(
                    lambda name=name, goal=goal: self.over(name) >= goal,
                    f"{name} ends round {goal}",
                )
        for name in names:
            assert self.unit(name, "ActiveState", "SubState") == ("active", "running")

    def seals(self, name, passphrase):
        """As the first lines of the unit say, but for the keyboard."""
        credential = WARD / name / "passphrase.cred"
        words = ("systemd-creds", "encrypt", f"--name={CREDENTIAL}", "-", credential)
        self.machine.run("rm", "-f", credential)
        self.machine.run(*words, given=passphrase)


@pytest.fixture(scope="module")
def ward():
    table = SETTINGS[SETTINGS.index("[table]") :]
    settings = f"{table}[distillation]\nq = 16\n[training]\nrounds = {ROUNDS}\n"
    making = (
        "import sys; from pathlib import Path; sys.path.insert(0, sys.argv[1]);"
        "from securefair.storage import KeystoreCost, keystore;"
        "keystore.DEFAULT_COST = KeystoreCost(log2_n=10);"  # else half a second at every start
        "from support.operators import PASSPHRASE, found;"
        "found(Path(sys.argv[2]), settings=sys.argv[3], wishes=('--algorithm', 'vpdl'))"
    )
    # A disk holds the key of credentials; other tests may write in memory.
    with TemporaryDirectory(dir=ON_DISK) as folder, booted(Path(folder)) as machine:
        machine.run("install", "-d", "-m", "700", "-o", NOBODY, "-g", NOBODY, WARD)
        machine.run(sys.executable, "-c", making, TESTS, WARD, settings, user=NOBODY)
        ward = Ward(machine)
        for name in NAMES:
            ward.seals(name, PASSPHRASE)
            # By another name, as there are two on this machine, and sooner after an end. Each with
            # one thread of torch and kernels too: with two, they wait for the other site's.
            unit = f"/run/units/securefair-{name}.service"
            machine.run("cp", WARD / name / "securefair-site.service", unit)
            machine.run("mkdir", f"{unit}.d")
            soon = f"[Service]\nRestartSec={AGAIN}\nEnvironment=OMP_NUM_THREADS=1\n"
            machine.path(f"{unit}.d/soon.conf").write_text(soon, "ascii")
        # As enabled: systemd forgets how a unit ended that nobody wants.
        wanted = "/run/units/multi-user.target.wants"
        machine.run("mkdir", wanted)
        for name in NAMES:
            unit = f"securefair-{name}.service"
            machine.run("ln", "-s", f"../{unit}", f"{wanted}/{unit}")
        machine.run("systemctl", "daemon-reload")
        for name in NAMES:
            ward.systemctl("start", name)
        yield ward


def test_rounds_go_by_and_the_status_says_so(ward):
    ward.goes_on(*NAMES)
    for name in NAMES:
        said = ward.systemctl("status", name)
        assert re.search(rf"round \d+ of {ROUNDS} is over", said)
        assert "Active: active (running)" in said


def test_it_has_no_more_rights_than_its_unit_leaves(ward):
    (pid,) = ward.unit("north", "MainPID")
    lines = ward.machine.run("cat", f"/proc/{pid}/status").splitlines()
    status = dict(line.split(":\t", 1) for line in lines)
    assert status["Uid"].split() == [str(NOBODY)] * 4
    assert int(status["CapBnd"], 16) == int(status["CapEff"], 16) == 0
    assert (status["NoNewPrivs"].strip(), status["Seccomp"].strip()) == ("1", "2")
    inside = ("nsenter", f"--target={pid}", "--mount", "--net", "--wd=/")
    share = Path(ward.machine.run("sh", "-c", f"echo {WARD}/shared/heart-*").strip())
    written = {
        folder: ward.machine.run(
            *inside,
            "sh",
            "-c",
            f"touch {folder}/trace 2>&1 && rm {folder}/trace && echo yes",
            check=False,
        ).strip()
        for folder in (WARD / "north", share, WARD / "south", "/etc", "/usr")
    }
    can = [folder for folder, said in written.items() if said == "yes"]
    assert can == [WARD / "north", share], written
    assert all("Read-only" in said for said in written.values() if said != "yes"), written
    links = ward.machine.run(*inside, "cat", "/proc/net/dev").splitlines()[2:]
    assert [line.split(":")[0].strip() for line in links] == ["lo"]


def test_it_is_restarted_and_goes_on(ward):
    before, since = ward.over("north"), time.monotonic()
    ward.systemctl("restart", "north")
    assert time.monotonic() - since < STOPS_WITHIN
    assert ward.unit("north", "Result", "NRestarts") == ("success", "0")
    assert ward.over("north") >= before
    ward.goes_on("north")


def test_it_starts_again_by_itself_where_it_was_killed(ward):
    before, (pid, tried) = ward.over("north"), ward.unit("north", "MainPID", "NRestarts")
    ward.systemctl("kill", "north", "--signal=KILL")
    ward.is_tried_again("north", int(tried))
    assert ward.over("north") >= before
    ward.goes_on("north")
    assert ward.unit("north", "MainPID") != (pid,)


def test_a_share_that_is_not_mounted_is_waited_for(ward):
    ward.machine.run("mv", WARD / "shared", WARD / "unmounted")
    ward.systemctl("restart", "north")
    # Mounted between two starts: of what is mounted later, a start sees nothing.
    ward.machine.until(
        lambda: ward.unit("north", "SubState") == ("auto-restart",), "north is to start again"
    )
    ward.machine.run("mv", WARD / "unmounted", WARD / "shared")
    said = ward.machine.run("journalctl", "--no-pager", "--unit=securefair-north")
    assert f"status={EXIT_PASSING}/" in said
    assert "the shared folder is not there" in said
    ward.is_tried_again("north", 0)
    ward.goes_on("north")


def test_a_stop_by_its_own_command_is_no_failure(ward):
    (tried,) = ward.unit("north", "NRestarts")
    ward.securefair("site", "stop", WARD / "north")
    ward.machine.until(
        lambda: ward.unit("north", "ActiveState") == ("inactive",), "north is stopped"
    )
    time.sleep(2 * AGAIN)
    found = ward.unit("north", "ActiveState", "Result", "ExecMainStatus", "NRestarts")
    assert found == ("inactive", "success", str(EXIT_INTERRUPTED), tried)


def test_what_it_refuses_is_not_tried_again(ward):
    ward.systemctl("stop", "north")
    ward.seals("north", "wrong horse battery staple")
    ward.systemctl("start", "north")
    ward.machine.until(
        lambda: ward.unit("north", "ActiveState") == ("failed",), "north refuses to start"
    )
    time.sleep(2 * AGAIN)  # it would have been tried again after half of that
    found = ward.unit("north", "ActiveState", "ExecMainStatus", "NRestarts")
    assert found == ("failed", str(EXIT_USAGE), "0")
    assert "passphrase" in ward.systemctl("status", "north", check=False)
    ward.seals("north", PASSPHRASE)
    ward.systemctl("start", "north")
    ward.goes_on("north")


def test_the_end_is_an_end(ward):
    ward.systemctl("kill", "south", "--signal=CONT")
    for name in NAMES:
        ended = ("inactive", "success", "0")
        ward.machine.until(
            lambda name=name, ended=ended: (
                ward.unit(name, "ActiveState", "Result", "ExecMainStatus") == ended
            ),
            f"{name} is through with all rounds",
            seconds=300,
        )
        said = ward.securefair("site", "status", WARD / name, "--json")
        assert json.loads(said)["rounds_over"] == ROUNDS
        assert ward.machine.path(f"{WARD}/{name}/results/report.html").is_file()
