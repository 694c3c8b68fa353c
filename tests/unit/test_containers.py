"""The files for containers are read, not run: nothing here can start a container."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from typer.main import get_command

from securefair.cli import app

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "containers"
KNOWN = {"FROM", "RUN", "COPY", "WORKDIR", "ENV", "USER", "VOLUME", "STOPSIGNAL"} | {
    "ENTRYPOINT",
    "CMD",
}


def instructions():
    """Instruction and argument, continued lines joined."""
    text = (FOLDER / "Containerfile").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        word, _, rest = line.strip().partition(" ")
        yield word, rest.strip()


LINTER = Path(sys.executable).with_name("hadolint")


@pytest.mark.skipif(not LINTER.exists(), reason="HADOLINT IS NOT INSTALLED: run make setup")
def test_a_linter_finds_nothing():
    file = FOLDER / "Containerfile"
    done = subprocess.run([LINTER, "--no-color", file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    worse = file.read_text(encoding="utf-8").replace("WORKDIR /source", "WORKDIR source")
    done = subprocess.run([LINTER, "-"], input=worse, capture_output=True, text=True, check=False)
    assert "DL3000" in done.stdout


def test_every_instruction_is_known_and_the_image_runs_as_nobody():
    found = list(instructions())
    assert {word for word, _ in found} <= KNOWN
    assert found[0][0] == "FROM"
    images = [rest.split(" ")[0] for word, rest in found if word == "FROM"]
    assert all(re.fullmatch(r"docker\.io/library/python:[\d.]+-slim-\w+", one) for one in images)
    last = [word for word, _ in found]
    assert last.index("USER") < len(last) - 1 - last[::-1].index("ENTRYPOINT")
    (user,) = [rest for word, rest in found if word == "USER"]
    assert user.isdigit()
    assert int(user) > 0


def test_whatever_is_installed_is_checked_and_whatever_is_copied_is_there():
    for word, rest in instructions():
        if word == "RUN":
            for command in rest.split("&&"):
                words = shlex.split(command)
                if "pip" in words[0] and "install" in words and "." not in words:
                    assert "--require-hashes" in words
                    assert (ROOT / words[words.index("--requirement") + 1]).is_file()
                assert "curl" not in words
                assert "sudo" not in words
        if word == "COPY" and not rest.startswith("--from"):
            source = rest.split()[0]
            assert (ROOT / source).exists()
    assert not any(word in ("ADD", "EXPOSE") for word, _ in instructions())  # it listens nowhere


def test_the_command_is_one_of_ours():
    import json

    said = dict(instructions())
    words = json.loads(said["ENTRYPOINT"]) + json.loads(said["CMD"])
    group = get_command(app)
    assert words[0] == "securefair"
    start = group.commands["site"].commands["start"]
    options = {name for parameter in start.params for name in parameter.opts}
    assert words[1:3] == ["site", "start"]
    assert words[4] in options


def test_the_compose_file_gives_a_site_no_more_than_it_needs():
    told = yaml.safe_load((FOLDER / "compose.yaml").read_text(encoding="utf-8"))
    (site,) = told["services"].values()
    assert site["read_only"] is True
    assert site["cap_drop"] == ["ALL"]
    assert "ports" not in site
    assert (FOLDER / site["build"]["dockerfile"].removeprefix("containers/")).is_file()
    (secret,) = site["secrets"]
    assert secret["source"] in told["secrets"]
    said = dict(instructions())
    assert f"/run/secrets/{secret['target']}" in said["CMD"]
    volumes = {one.split(":")[0] for one in site["volumes"] if not one.startswith(".")}
    assert volumes == set(told["volumes"])
    assert secret["uid"] == said["USER"]


@pytest.mark.parametrize("name", ["Containerfile", "compose.yaml"])
def test_it_is_said_that_nothing_ran_them(name):
    assert "was run by the tests: they read it only" in (FOLDER / name).read_text(encoding="utf-8")
