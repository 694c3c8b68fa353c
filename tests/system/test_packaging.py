"""What strangers rely on: pinned installation, one version, wheels, releases, one set of checks."""

import datetime
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from email import message_from_bytes
from importlib.metadata import version as installed_version
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import securefair
from support import processes

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
PYTHONS = {"3.11", "3.12", "3.13"}
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")

PIN = re.compile(
    r"^([\w.-]+)==([\w.]+)(?: ; [^\\]*)? \\\n((?:    --hash=sha256:\w{64}(?: \\)?\n)+)", re.M
)


def load_script(name):
    spec = importlib.util.spec_from_file_location(f"scripts_{name}", ROOT / f"scripts/{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")


def pins(file):
    """{package: its versions}; several where they depend on the Python."""
    found = {}
    for name, version, _ in PIN.findall(read(f"constraints/{file}.txt")):
        found.setdefault(name, set()).add(version)
    return found


# Installation


def test_constraints_cover_what_the_checks_need_within_their_ranges():
    pinned = pins("development") | pins("torch")
    extras = PROJECT["optional-dependencies"]
    needed = [*PYPROJECT["build-system"]["requires"], *PROJECT["dependencies"]]
    for text in [*needed, *extras["dev"], *extras["docs"]]:
        requirement = Requirement(text)
        versions = pinned.get(canonicalize_name(requirement.name), set())
        hint = f"run `make constraints`: {requirement} is not satisfied by {versions}"
        assert versions, hint
        assert all(requirement.specifier.contains(one) for one in versions), hint


@pytest.mark.parametrize("file", ["torch", "development", "crypten", "openfhe"])
def test_every_pin_has_a_hash_and_nothing_else_stands_there(file):
    text = PIN.sub("", read(f"constraints/{file}.txt"))
    assert [line for line in text.splitlines() if line.strip() and not line.startswith("#")] == []


def test_no_cuda_is_installed():
    assert [
        name for name in pins("development") if re.match("nvidia|cuda|triton|torch$", name)
    ] == []
    wheels = re.findall(r"^# \w{64}  (torch-.*\.whl)$", read("constraints/torch.txt"), re.M)
    assert wheels
    assert all("+cpu-" in wheel or "macosx" in wheel for wheel in wheels)
    for python in PYTHONS:
        tag = f"cp{python.replace('.', '')}"
        assert any(tag in wheel and "manylinux_2_28_x86_64" in wheel for wheel in wheels), python


def test_make_installs_only_what_has_a_hash():
    recipe = re.search(r"^\$\(STAMP\):.*?\n\n", MAKEFILE, re.M | re.S)[0].replace("\\\n", "")
    installs = [line for line in recipe.splitlines() if "pip install" in line]
    assert len(installs) == 4
    ours = re.compile(r"--no-deps --no-build-isolation\s+--editable \. --editable lab$")
    for line in installs:
        assert "--require-hashes" in line or ours.search(line)


# The script that raises the constraints


def test_cpu_builds_are_read_from_the_page_of_an_index():
    script = load_script("raise_constraints")
    names = {
        "torch-2.13.0%2Bcpu-cp311-cp311-manylinux_2_28_x86_64.whl": True,
        "torch-2.13.0-cp313-cp313-macosx_14_0_arm64.whl": True,
        "torch-2.13.0-cp311-cp311-manylinux_2_28_x86_64.whl": False,  # CUDA
        "torch-2.13.0%2Bcu130-cp311-cp311-manylinux_2_28_x86_64.whl": False,
        "torch-2.13.0%2Bcpu-cp311-cp311-win_amd64.whl": False,
        "torch-2.13.0%2Bcpu-cp310-cp310-manylinux_2_28_x86_64.whl": False,
        "torch-2.13.0%2Bcpu-cp313-cp313t-manylinux_2_28_x86_64.whl": False,
        "torch-2.12.0%2Bcpu-cp311-cp311-manylinux_2_28_x86_64.whl": False,
    }
    page = "".join(f'<a href="/whl/cpu/{name}#sha256={"a" * 64}">x</a>' for name in names)
    found = script.cpu_wheels(page, "2.13.0")
    assert set(found) == {name.replace("%2B", "+") for name, ours in names.items() if ours}
    assert PIN.search(script.torch_pins("2.13.0", found))[2] == "2.13.0"


def test_torch_and_cuda_are_taken_out_of_what_was_resolved():
    script = load_script("raise_constraints")
    kept = "numpy==2.4.6 ; python_full_version < '3.12' \\\n    --hash=sha256:00\n"
    cuda = "cuda-toolkit==13.0 \\\n    --hash=sha256:11\nnvidia-nccl-cu13==2.29.7\ntriton==3.7.1\n"
    torch = "torch==2.13.0 \\\n    --hash=sha256:22\ntorchmetrics==1.0\n"
    rest, version = script.split_torch(f"# header\n{cuda}{kept}{torch}")
    assert rest == f"# header\n{kept}torchmetrics==1.0\n"
    assert version == "2.13.0"


# One version, and what an index shows


def test_the_version_stands_in_one_place():
    assert "version" not in PROJECT
    assert "version" in PROJECT["dynamic"]
    assert not re.search("^version:", read("CITATION.cff"), re.M)
    assert installed_version("securefair") == securefair.__version__


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """What the source becomes on a machine without a compiler."""
    folder = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    for name in ("native", "src"):
        ignored = shutil.ignore_patterns("*.so", "__pycache__")
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", "dist", "."]
    environment = os.environ | {"CC": "/bin/false", "CXX": "/bin/false"}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = (folder / "dist").iterdir()
    return built


@pytest.fixture(scope="module")
def metadata(wheel):
    """What an index is told."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (one for one in archive.namelist() if one.endswith(".dist-info/METADATA"))
        return message_from_bytes(archive.read(name))


def test_the_source_installs_without_a_compiler(wheel):
    assert wheel.name.endswith("-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {"securefair/py.typed", "securefair/data/heart.csv"} <= names
    assert not any(name.endswith(".so") for name in names)


MOST_BYTES = 2_000_000


def test_the_wheel_is_small_and_holds_nothing_of_the_laboratory(wheel):
    assert wheel.stat().st_size < MOST_BYTES
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (points,) = [name for name in names if name.endswith("entry_points.txt")]
        entries = archive.read(points).decode()
    assert {name.split("/")[0] for name in names} == {"securefair", points.split("/")[0]}
    assert [name for name in names if "papers" in name or name.endswith((".npz", ".json"))] == []
    assert "securefair_lab" not in entries


def test_an_index_shows_whose_it_is_and_for_which_pythons(metadata):
    assert metadata["Version"] == securefair.__version__
    assert metadata["Author"]
    urls = dict(one.split(", ") for one in metadata.get_all("Project-URL"))
    assert {"Homepage", "Documentation", "Changelog", "Issues"} <= set(urls)
    assert all(url.startswith(urls["Homepage"]) for url in urls.values())
    prefix = "Programming Language :: Python :: 3."
    classifiers = {one for one in metadata.get_all("Classifier") if one.startswith(prefix)}
    assert classifiers == {prefix + python.removeprefix("3.") for python in PYTHONS}


def test_links_of_the_readme_work_on_an_index(metadata):
    shown = metadata.get_payload()
    written = re.findall(r"\]\(([^)\s]+)\)", read("README.md"))
    targets = re.findall(r"\]\(([^)\s]+)\)", shown)
    assert len(targets) == len(written)
    home = PROJECT["urls"]["Homepage"]
    raw = home.replace("github.com", "raw.githubusercontent.com")
    for target, before in zip(targets, written, strict=True):
        if before.startswith(("http", "#")):
            assert target == before
        else:
            assert target in (f"{home}/blob/main/{before}", f"{raw}/main/{before}")
            assert (ROOT / before.split("#")[0]).exists(), before


# The same checks everywhere


def test_workflow_hook_and_contributors_run_the_same_checks():
    workflow = yaml.safe_load(read(".github/workflows/ci.yml"))
    job = workflow["jobs"]["checks"]
    assert [step["run"] for step in job["steps"] if "run" in step] == ["bash .ci/run"]
    assert set(job["strategy"]["matrix"]["python"]) == PYTHONS
    lines = read(".ci/run").splitlines()
    assert lines[-2:] == ["make lint", "make test"]
    (repository,) = yaml.safe_load(read(".pre-commit-config.yaml"))["repos"]
    assert [hook["entry"] for hook in repository["hooks"]] == ["make lint"]
    for target in ("lint", "test", "test-core", "demo", "release", "constraints"):
        assert re.search(rf"^{target}:.* setup", MAKEFILE, re.M), target


def test_wheels_are_built_for_every_python_that_is_supported():
    wheels = PYPROJECT["tool"]["cibuildwheel"]
    tags = {"cp" + python.replace(".", "") for python in PYTHONS}
    assert {one.removesuffix("-*") for one in wheels["build"].split()} == tags
    assert {f"cp{one}" for one in load_script("raise_constraints").PYTHONS} == tags
    assert "scripts/smoke.py --native" in wheels["test-command"]
    workflow = read(".github/workflows/wheels.yml")
    assert "cibuildwheel" in workflow
    assert "python -m build --wheel --outdir dist lab\n" in workflow


def test_the_smoke_test_of_a_wheel_passes_here():
    done = processes.run(str(ROOT / "scripts/smoke.py"), cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "encrypted logits are off by" in done.stdout


# openfhe's interpreter


def run_finder(folder, *, exists):
    """The script that finds an interpreter, where only `folder` is on the path."""
    if exists:
        interpreter = folder / "versions/3.10.9/bin/python3.10"
        interpreter.parent.mkdir(parents=True)
        interpreter.write_text("#!/bin/sh\nexit 0\n")
        interpreter.chmod(0o755)
    environment = {"PATH": str(folder), "PYENV_ROOT": str(folder), "HOME": str(folder)}
    command = ["/bin/sh", ROOT / "scripts/openfhe_python.sh"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_an_interpreter_for_openfhe_is_found_among_those_of_pyenv(tmp_path):
    found = run_finder(tmp_path, exists=True)
    assert found.stdout.strip() == str(tmp_path / "versions/3.10.9/bin/python3.10")
    assert found.returncode == 0


def test_where_there_is_none_nothing_is_named(tmp_path):
    found = run_finder(tmp_path, exists=False)
    assert (found.stdout, found.returncode) == ("", 1)


def test_tests_say_aloud_that_openfhe_is_missing():
    words = ["-p", "no:cacheprovider", "tests/unit/ckks/backends/openfhe"]
    environment = os.environ | {"SECUREFAIR_OPENFHE_PYTHON": "/bin/false"}
    done = processes.run("pytest", words, cwd=ROOT, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    count = int(re.search(r"^(\d+) tests of the openfhe backend DID NOT RUN", done.stdout, re.M)[1])
    assert count > 5


# Releases

DAY = datetime.date(2030, 1, 2)


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository with what a release touches, and the script that runs in it."""
    for name in ("pyproject.toml", "lab/pyproject.toml", "src/securefair/__init__.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## [Unreleased]\n\n### Added\n\n- It.\n")
    monkeypatch.chdir(tmp_path)
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "A")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "a@example.org")
    git("init", "--quiet", "--initial-branch", "main")
    git("remote", "add", "origin", PROJECT["urls"]["Homepage"] + ".git")
    git("add", "--all")
    git("commit", "--quiet", "--message", "Start")
    script = load_script("release")
    monkeypatch.setattr(script, "build", lambda *_: None)
    return script


def git(*command):
    return subprocess.run(["git", *command], check=True, capture_output=True, text=True).stdout


def test_a_release_dates_the_changelog_and_tags_the_commit(repository, capsys):
    repository.release("9.0.0", "true", "index", DAY)
    assert Path("CHANGELOG.md").read_text() == (
        "# Changelog\n\n## [Unreleased]\n\n## [9.0.0] - 2030-01-02\n\n### Added\n\n- It.\n"
    )
    assert '\n__version__ = "9.0.0"\n' in Path("src/securefair/__init__.py").read_text()
    assert '"securefair==9.0.0", #' in Path("lab/pyproject.toml").read_text()
    assert git("status", "--porcelain") == ""
    assert git("tag", "--points-at", "HEAD") == "v9.0.0\n"
    assert git("log", "-1", "--format=%s") == "Release 9.0.0\n"
    assert "git push origin main v9.0.0" in capsys.readouterr().out


@pytest.mark.parametrize("address", ["git@github.com:securefair/securefair.git", "ssh"])
def test_the_same_address_over_ssh_will_do(repository, address):
    home = PROJECT["urls"]["Homepage"].removeprefix("https://")
    written = {"ssh": f"ssh://git@{home}"}.get(address, "git@" + home.replace("/", ":", 1) + ".git")
    git("remote", "set-url", "origin", written)
    repository.check_repository("9.0.0")


def break_dirty():
    Path("CHANGELOG.md").write_text("# Other\n")


def break_branch():
    git("switch", "--quiet", "--create", "other")


def break_tag():
    git("tag", "v9.0.0")


def break_address():
    git("remote", "set-url", "origin", "https://example.org/elsewhere/securefair.git")


def break_laboratory():
    path = Path("lab/pyproject.toml")
    path.write_text(path.read_text().replace("securefair==", "securefair>="))
    git("commit", "--quiet", "--all", "--message", "Need any version")


def break_changelog():
    Path("CHANGELOG.md").write_text("# Changelog\n\n## [Unreleased]\n\n## [0.1.0]\n\n- Old.\n")
    git("commit", "--quiet", "--all", "--message", "Say nothing")


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (break_dirty, "differs from its commit"),
        (break_branch, "from main, not from other"),
        (break_tag, "a tag v9.0.0 already"),
        (break_address, "example.org/elsewhere"),
        (break_laboratory, "one line securefair==VERSION"),
        (break_changelog, "says nothing of this release"),
    ],
)
def test_a_release_is_refused(repository, harm, said):
    harm()
    before = git("log", "--format=%H"), git("tag"), git("diff")
    with pytest.raises(repository.RefusedError, match=said):
        repository.release("9.0.0", "true", "index", DAY)
    assert (git("log", "--format=%H"), git("tag"), git("diff")) == before


@pytest.mark.parametrize("version", ["9.0", "v9.0.0", "0.0.1", "9.0.0rc1"])
def test_a_version_that_is_none_or_older_is_refused(repository, version):
    with pytest.raises(repository.RefusedError):
        repository.release(version, "true", "index", DAY)


def test_checks_that_fail_end_a_release_before_it_changes_anything(repository):
    with pytest.raises(subprocess.CalledProcessError):
        repository.release("9.0.0", "false", "index", DAY)
    assert git("status", "--porcelain") == git("tag") == ""


def test_a_build_that_fails_leaves_the_tree_as_it_was(repository, monkeypatch):
    def fail(*_):
        raise subprocess.CalledProcessError(1, ["build"])

    monkeypatch.setattr(repository, "build", fail)
    with pytest.raises(subprocess.CalledProcessError):
        repository.release("9.0.0", "true", "index", DAY)
    assert git("status", "--porcelain") == git("tag") == ""
