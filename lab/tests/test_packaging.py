"""The laboratory as a wheel: what is in it, and that it has the package's version."""

import subprocess
import sys
import tomllib
import zipfile
from email import message_from_bytes
from importlib.metadata import version
from pathlib import Path

import pytest

import securefair
from securefair.config.extensions import LABORATORY_COMMANDS

LAB = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, LAB]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = folder.iterdir()
    return built


def read(wheel, name):
    with zipfile.ZipFile(wheel) as archive:
        (found,) = [one for one in archive.namelist() if one.endswith(f".dist-info/{name}")]
        return archive.read(found)


def test_both_have_one_version_and_this_one_needs_the_other_in_it(wheel):
    metadata = message_from_bytes(read(wheel, "METADATA"))
    assert metadata["Version"] == securefair.__version__ == version("securefair-lab")
    assert f"securefair=={securefair.__version__}" in metadata.get_all("Requires-Dist")


def test_licence_and_readme_are_in_it(wheel):
    assert read(wheel, "licenses/LICENSE") == (LAB.parent / "LICENSE").read_bytes()
    shown = message_from_bytes(read(wheel, "METADATA")).get_payload()
    assert shown.strip() == (LAB / "README.md").read_text("utf-8").strip()


def test_papers_results_and_weights_are_in_it(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    here = {
        path.relative_to(LAB / "src").as_posix()
        for path in (LAB / "src").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert here <= names
    assert "securefair_lab/weights/cifar-cosines.npz" in here


def test_every_entry_point_leads_somewhere():
    project = tomllib.loads((LAB / "pyproject.toml").read_text("utf-8"))["project"]
    groups = project["entry-points"]
    assert {name: tuple(groups[name]) for name in LABORATORY_COMMANDS} == LABORATORY_COMMANDS
    assert set(groups) == {
        "securefair.commands",
        "securefair.data_sets",
        "securefair.loggers",
        "securefair.profiles",
    }
    for entries in groups.values():
        for place in entries.values():
            module, name = place.split(":")
            assert callable(getattr(__import__(module, fromlist=[name]), name))
