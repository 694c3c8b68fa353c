"""What a site's unit lets systemd start, and what the site may write then."""

import re
import shlex
import shutil
import subprocess
from configparser import ConfigParser
from pathlib import Path

import pytest

from securefair.cli.ending import EXIT_INTERRUPTED, EXIT_PASSING, EXIT_USAGE
from securefair.sites.couriers.interface import CourierSettings
from securefair.sites.operator.unit import unit_text
from securefair.sites.site.folder import SiteSettings

FOLDER = Path("/srv/north site/50%")


def service(**courier):
    settings = SiteSettings(name="north", data="n.csv", courier=CourierSettings(**courier))
    unit = ConfigParser(interpolation=None, strict=False)
    unit.optionxform = str
    unit.read_string(unit_text(FOLDER, settings))
    return unit["Service"]


def test_it_starts_the_program_of_this_installation():
    *program, subject, verb, folder = shlex.split(service(kind="flare")["ExecStart"])
    assert (subject, verb, folder) == ("site", "start", "/srv/north site/50%%")
    asked = [*program, subject, verb, "--help"]
    assert "Run the site" in subprocess.run(asked, capture_output=True, text=True).stdout


@pytest.mark.parametrize(
    ("courier", "writable"),
    [
        ({"kind": "flare"}, []),
        ({"kind": "folder", "folder": "/mnt/the heart"}, ["-/mnt/the heart"]),
    ],
)
def test_it_may_write_to_its_own_folder_and_the_shared_one(courier, writable):
    found = service(**courier)
    assert found["ProtectSystem"] == "strict"
    assert shlex.split(found["ReadWritePaths"]) == ["/srv/north site/50%%", *writable]


def test_neither_a_stop_nor_a_refusal_starts_it_again():
    found = service(kind="flare")
    assert found["Restart"] == "on-failure"
    assert found["SuccessExitStatus"] == str(EXIT_INTERRUPTED)
    assert found["RestartPreventExitStatus"] == str(EXIT_USAGE)
    assert str(EXIT_PASSING) not in found["RestartPreventExitStatus"]


ANALYSER = shutil.which("systemd-analyze")


@pytest.mark.skipif(ANALYSER is None, reason="THERE IS NO SYSTEMD HERE")
def test_systemd_finds_little_that_it_could_still_be_forbidden(tmp_path):
    settings = SiteSettings(name="north", data="n.csv", courier=CourierSettings(kind="flare"))
    unit = tmp_path / "securefair-site.service"
    unit.write_text(unit_text(FOLDER, settings), encoding="utf-8")
    command = [ANALYSER, "security", "--offline=true", "--no-pager", str(unit)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    (exposure,) = re.findall(r"Overall exposure level for \S+: ([\d.]+)", done.stdout)
    assert float(exposure) < 4
