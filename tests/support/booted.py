"""A systemd as the first process of namespaces of its own, with units of its own and no others.

It boots nothing of this machine: the targets that a site's unit names are empty here, and of its
services only the journal runs. What it writes lies in file systems that go with it.
"""

import contextlib
import os
import shlex
import shutil
import stat
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
SYSTEMD = Path("/lib/systemd/systemd")
PROGRAMS = ("unshare", "nsenter", "setpriv", "systemctl", "systemd-creds", "journalctl")
UNIFIED = ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")
PLACE, ON_DISK = "/srv", "/var/tmp"
"""Where its services may have folders: what lies in /tmp they do not see."""
EMPTY = ("sysinit", "basic", "shutdown", "network-online", "time-sync", "multi-user", "trial")
WITHIN = 60
DIES = ("setpriv", "--pdeathsig", "KILL")
"""With whoever waits for it."""

_JOURNAL = {
    "systemd-journald.socket": """\
[Unit]
DefaultDependencies=no
[Socket]
ListenStream=/run/systemd/journal/stdout
ListenDatagram=/run/systemd/journal/socket
PassCredentials=yes
""",
    "systemd-journald.service": """\
[Unit]
DefaultDependencies=no
Requires=systemd-journald.socket
[Service]
Type=notify
ExecStart=/lib/systemd/systemd-journald
Sockets=systemd-journald.socket
StandardOutput=null
""",
}

_INSIDE = """\
set -e
mount --make-rprivate /
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/lock /var/lib/systemd {place}
mkdir -p /run/systemd/journald.conf.d
printf '[Journal]\\nStorage=volatile\\nReadKMsg=no\\n' > /run/systemd/journald.conf.d/trial.conf
cp -r "$1/units" /run/units
mount --bind "$1/state" /var/lib/systemd
for folder in /tmp /var/tmp {place}; do mount -t tmpfs -o mode=1777 tmpfs $folder; done
{seen}
umount -R /sys/fs/cgroup 2>/dev/null || true
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount --make-rshared /
exec env container=trial SYSTEMD_UNIT_PATH=/run/units:/run/systemd/transient \\
    {systemd} --system --unit=trial.target --log-target=journal --show-status=no
"""


def missing():
    """What keeps a systemd from being started here, in one line; None: nothing."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "ONLY ROOT ON LINUX MAY START A SYSTEMD"
    lacking = [name for name in PROGRAMS if shutil.which(name) is None]
    if lacking or not SYSTEMD.exists():
        return f"THERE IS NO SYSTEMD HERE: {', '.join(lacking) or SYSTEMD}"
    kind = ["stat", "--file-system", "--format=%T", ON_DISK]
    if subprocess.run(kind, capture_output=True, text=True, check=False).stdout.strip() == "tmpfs":
        return f"NO DISK IS THERE FOR KEYS: {ON_DISK} IS IN MEMORY"
    if Path(sys.prefix).is_relative_to("/tmp"):
        return "SERVICES DO NOT SEE THIS PYTHON: IT LIES IN /tmp"
    if _unified() is None:
        return "THERE IS NO UNIFIED HIERARCHY OF CGROUPS HERE"
    tried = subprocess.run(["unshare", *_SPACES, "true"], capture_output=True, check=False)
    return "NAMESPACES CANNOT BE MADE HERE" if tried.returncode else None


_SPACES = ("--pid", "--mount", "--ipc", "--uts", "--cgroup", "--fork", "--mount-proc")


def _unified():
    """A folder of the unified hierarchy that takes processes."""
    for folder in map(Path, UNIFIED):
        if (folder / "cgroup.procs").exists() and os.access(folder, os.W_OK):
            return folder
    return None


def _seen():
    """What lets every user see this Python and these sources, where folders above are root's."""
    shut = {}
    for path in map(Path, (sys.base_prefix, sys.prefix, ROOT)):
        for above in reversed(path.parents):
            if not above.stat().st_mode & stat.S_IXOTH:
                shut.setdefault(above, []).append(path)
                break
    for at, (above, paths) in enumerate(shut.items()):
        kept = [(shlex.quote(str(path)), f"/run/seen/{at}-{n}") for n, path in enumerate(paths)]
        for path, aside in kept:
            yield f"mkdir -p {aside}; mount --rbind {path} {aside}"
        yield f"mount -t tmpfs -o mode=755 tmpfs {shlex.quote(str(above))}"
        for path, aside in kept:
            yield f"mkdir -p {path}; mount --rbind {aside} {path}"


class Booted:
    """A systemd that runs."""

    def __init__(self, first):
        self._first = first

    def run(self, *words, user=None, check=True, given=None):
        """A command beside it, as root or as a user; what it wrote."""
        inside = ["nsenter", f"--target={self._first}", "--all", "--wd=/"]
        if user is not None:
            inside += ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
            inside += ["--bounding-set=-all", "--inh-caps=-all"]
        done = subprocess.run(
            [*inside, *map(str, words)],
            input=given,
            capture_output=True,
            text=True,
            timeout=10 * WITHIN,
            check=False,
        )
        assert not check or done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout

    def path(self, inside):
        """One of its files, as seen from outside."""
        return Path(f"/proc/{self._first}/root{inside}")

    def show(self, unit, *names):
        """Properties of a unit, as texts."""
        options = [f"--property={name}" for name in names]
        lines = self.run("systemctl", "show", unit, *options).splitlines()
        return dict(line.split("=", 1) for line in lines)

    def until(self, holds, what, seconds=WITHIN):
        """Wait until something holds, or fail with what the journal says."""
        ends = time.monotonic() + seconds
        while not (found := holds()):
            assert time.monotonic() < ends, (what, self.run("journalctl", "--no-pager"))
            time.sleep(0.1)
        return found


@contextlib.contextmanager
def booted(folder):
    """A systemd, for a block.

    Args:
        folder: for what it boots with; new.
    """
    units = folder / "units"
    units.mkdir()
    for name in EMPTY:
        (units / f"{name}.target").write_text("[Unit]\nDefaultDependencies=no\n", "ascii")
    with (units / "trial.target").open("a", encoding="ascii") as target:
        target.write("Wants=systemd-journald.service multi-user.target\n")
    for name, text in _JOURNAL.items():
        (units / name).write_text(text, "ascii")
    (folder / "state").mkdir()  # of the key of credentials, which no file system in memory may hold
    group = _unified() / f"securefair-trial-{os.getpid()}"
    group.mkdir()
    script = _INSIDE.format(place=PLACE, systemd=SYSTEMD, seen="\n".join(_seen()))
    joining = 'echo $$ > "$1"/cgroup.procs; shift; exec "$@"'
    inside = ("unshare", *_SPACES, "--kill-child", "sh", "-c", script, "sh", folder)
    words = [str(word) for word in (*DIES, "sh", "-c", joining, "sh", group, *inside)]
    log = folder / "boot"
    with log.open("wb") as out:
        outer = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
        )
    try:
        yield Booted(_first(outer, log))
    finally:
        outer.kill()
        outer.wait()
        _remove(group)


def _first(outer, log):
    """The process that is systemd there, once it takes commands."""
    ends = time.monotonic() + WITHIN
    while time.monotonic() < ends and outer.poll() is None:
        children = Path(f"/proc/{outer.pid}/task/{outer.pid}/children").read_text().split()
        if children and Path(f"/proc/{children[0]}/root/run/systemd/private").exists():
            return int(children[0])
        time.sleep(0.05)
    raise AssertionError(f"systemd did not boot: {log.read_text(errors='replace')}")


def _remove(group):
    """The group and those in it, once what was killed has gone."""
    ends = time.monotonic() + WITHIN
    while group.exists() and time.monotonic() < ends:
        for folder, _, _ in os.walk(group, topdown=False):
            with contextlib.suppress(OSError):
                Path(folder).rmdir()
        time.sleep(0.05)
