"""Make a release: checks, changelog, source and wheel, list of components, commit and tag.

`make release VERSION=0.2.0` runs it. It refuses to start on a tree that differs from its commit,
and leaves the tree as it was when anything fails. Nothing is pushed or published.
"""

from __future__ import annotations

import argparse
import datetime
import json
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path.cwd()
VERSION_FILE = ROOT / "src/securefair/__init__.py"
LABORATORY = ROOT / "lab/pyproject.toml"
CHANGELOG = ROOT / "CHANGELOG.md"
DIST = ROOT / "dist"

_VERSION = re.compile(r'^__version__ = "(.*)"$', re.MULTILINE)
_NEEDED = re.compile(r'"securefair==.*?"')
_UNRELEASED = "## [Unreleased]\n"


class RefusedError(Exception):
    """What stands in the way of a release; nothing was changed."""


def run(*command: str | Path) -> str:
    """The output of a program that must succeed; its errors are shown."""
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def dated_changelog(text: str, version: str, day: datetime.date) -> str:
    """The changelog with what was unreleased under the version, and room for the next."""
    if text.count(_UNRELEASED) != 1:
        raise RefusedError("CHANGELOG.md needs one section [Unreleased]")
    before, rest = text.split(_UNRELEASED)
    entries = rest.split("\n## ")[0]
    if not re.search(r"^- ", entries, re.MULTILINE):
        raise RefusedError("CHANGELOG.md says nothing of this release under [Unreleased]")
    return f"{before}{_UNRELEASED}\n## [{version}] - {day.isoformat()}\n{rest}"


def released_version(text: str) -> str:
    """The version that a source file states."""
    (version,) = _VERSION.findall(text)
    return str(version)


def pinned_laboratory(text: str, version: str) -> str:
    """The laboratory's pyproject.toml, needing that version of the package."""
    pinned, count = _NEEDED.subn(f'"securefair=={version}"', text)
    if count != 1:
        raise RefusedError("lab/pyproject.toml needs one line securefair==VERSION")
    return pinned


def check_version(version: str, current: str) -> None:
    """Refuse what is no version, or not newer; the first release may keep the number it has."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise RefusedError(f"a version has the form 1.2.3, not {version!r}")
    if [*map(int, version.split("."))] < [*map(int, current.split("."))]:
        raise RefusedError(f"{version} is older than {current}")


def check_repository(version: str) -> None:
    """Refuse a tree with changes, another branch, a version that has a tag, another address."""
    if changed := run("git", "status", "--porcelain"):
        raise RefusedError(f"the tree differs from its commit:\n{changed}")
    if (branch := run("git", "branch", "--show-current")) != "main":
        raise RefusedError(f"releases are made from main, not from {branch or 'a detached commit'}")
    if run("git", "tag", "--list", f"v{version}"):
        raise RefusedError(f"there is a tag v{version} already")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    address = project["urls"]["Homepage"]
    known = run("git", "remote", "get-url", "origin") if run("git", "remote") else "no remote"
    if re.sub(r"^.*[@/](?=[^/:]+[/:][^/]+/[^/]+$)|\.git$", "", known).replace(":", "/") != (
        address.removeprefix("https://")
    ):
        raise RefusedError(
            f"pyproject.toml says the project is at {address}, but origin is {known}:\n"
            "set [project.urls] and the README's links to the address of the repository"
        )


def build(version: str, torch_index: str) -> None:
    """Source and wheels into dist/, tried in an environment of their own, with components."""
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", DIST)
    run(sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", DIST, ROOT / "lab")
    (wheel,) = DIST.glob(f"securefair-{version}-*.whl")
    (laboratory,) = DIST.glob(f"securefair_lab-{version}-*.whl")
    with tempfile.TemporaryDirectory() as folder:
        python = Path(folder) / "bin/python"
        run(sys.executable, "-m", "venv", "--without-pip", folder)
        pip = (sys.executable, "-m", "pip", "--python", python)
        torch = ("--require-hashes", "--no-deps", "--index-url", torch_index)
        run(*pip, "install", "--quiet", *torch, "--requirement", "constraints/torch.txt")
        # The versions of the checks: what was tested is what is listed.
        pins = Path(folder) / "pins.txt"
        frozen = run(sys.executable, "-m", "pip", "freeze")
        pins.write_text("\n".join(re.findall(r"^[\w.-]+==.*$", frozen, re.MULTILINE)))
        run(*pip, "install", "--quiet", "--constraint", pins, wheel)
        run(*pip, "check")
        run(python, "scripts/smoke.py")
        bill = DIST / f"securefair-{version}.cdx.json"
        command = (sys.executable, "-m", "cyclonedx_py", "environment", "--output-reproducible")
        run(*command, "--pyproject", "pyproject.toml", "--output-file", bill, python)
        # After the list, which is of what a hospital installs.
        run(*pip, "install", "--quiet", "--constraint", pins, laboratory)
        run(*pip, "check")
        run(python, "-m", "securefair", "reproduce", "--list")
    listed = json.loads(bill.read_text(encoding="utf-8"))
    listed["metadata"]["component"]["version"] = version  # pyproject.toml has none to read
    bill.write_text(json.dumps(listed, indent=2) + "\n", encoding="utf-8")


def release(version: str, checks: str, torch_index: str, day: datetime.date) -> None:
    """All steps, in the order in which they can fail."""
    source = VERSION_FILE.read_text(encoding="utf-8")
    laboratory = LABORATORY.read_text(encoding="utf-8")
    history = CHANGELOG.read_text(encoding="utf-8")
    check_version(version, released_version(source))
    check_repository(version)
    dated = dated_changelog(history, version, day)
    pinned = pinned_laboratory(laboratory, version)
    subprocess.run(shlex.split(checks), check=True)
    try:
        VERSION_FILE.write_text(_VERSION.sub(f'__version__ = "{version}"', source), "utf-8")
        LABORATORY.write_text(pinned, encoding="utf-8")
        CHANGELOG.write_text(dated, encoding="utf-8")
        build(version, torch_index)
        run("git", "commit", "--quiet", "--all", "--message", f"Release {version}")
        run("git", "tag", "--annotate", f"v{version}", "--message", f"securefair {version}")
    except BaseException:
        VERSION_FILE.write_text(source, encoding="utf-8")
        LABORATORY.write_text(laboratory, encoding="utf-8")
        CHANGELOG.write_text(history, encoding="utf-8")
        raise
    print(f"dist/ holds version {version} of both. To publish: git push origin main v{version}")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("version", help="such as 0.2.0")
    parser.add_argument("--torch-index", required=True, help="where torch's CPU builds are")
    parser.add_argument("--checks", default="make lint test", help="what must pass first")
    arguments = parser.parse_args()
    try:
        today = datetime.datetime.now(datetime.UTC).date()
        release(arguments.version, arguments.checks, arguments.torch_index, today)
    except RefusedError as error:
        sys.exit(f"No release: {error}")
    except subprocess.CalledProcessError as error:
        sys.exit(f"No release: {shlex.join(map(str, error.cmd))} failed")


if __name__ == "__main__":
    main()
