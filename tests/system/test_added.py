"""What the contributors' pages add works, and needs nothing that the pages do not say."""

import os
import re
from pathlib import Path

import pytest

from support import processes

ROOT = Path(__file__).parents[2]


def module_on(page):
    """The first block of a page, which is a whole module; its first line names the file."""
    text = (ROOT / f"docs/development/{page}.md").read_text(encoding="utf-8")
    return re.search(r"^```python\n(# src/.*?)^```$", text, re.MULTILINE | re.DOTALL)[1]


def test_the_backend_that_a_page_adds_passes_the_contract_suites(tmp_path):
    (tmp_path / "mixed.py").write_text(module_on("add-a-backend"), encoding="utf-8")
    registers = (
        'from securefair.ckks.backends import BACKENDS\nBACKENDS["mixed"] = "mixed:MixedBackend"\n'
    )
    (tmp_path / "registers_mixed.py").write_text(registers, encoding="utf-8")
    words = ["-p", "no:cacheprovider", "-p", "registers_mixed"]
    suites = sorted((ROOT / "tests/contract").glob("test_evaluator*.py"))
    assert len(suites) == 4
    words += ["tests/contract/test_backend.py", *map(str, suites), "-k", "mixed"]
    fewer = {"PYTHONPATH": str(tmp_path), "SECUREFAIR_EXAMPLES": "5"}
    done = processes.run("pytest", words, cwd=ROOT, env=os.environ | fewer)
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) > 50


PAGE_RUNS = """\
import re
from pathlib import Path

from typer.testing import CliRunner

from securefair.cli import app
from support.few import few_patients, participants


def test_the_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(participants.PACKAGED, "heart", few_patients)
    Path("mean.toml").write_text({config!r}, encoding="utf-8")
    for command in (["check"], ["run", "--rounds", "2", "--out", "out"]):
        done = CliRunner().invoke(app, [command[0], "mean.toml", *command[1:]])
        assert done.exit_code == 0, done.output
    page = Path("out/report.html").read_text("utf-8")
    assert "Mean logits" in page
    assert "everyone follows the mean of all" in page
    assert "What is not protected" in page
    assert "Each student moved its model" in page
"""


def blocks_on(page, language):
    text = (ROOT / f"docs/development/{page}.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def test_the_kind_that_a_page_adds_keeps_the_laws_of_kinds_and_runs(tmp_path):
    """Its folder and the line of the page: nothing else of the package is touched."""
    folder = tmp_path / "rooms" / "meanlogits"
    folder.mkdir(parents=True)
    (folder / "__init__.py").touch()
    (folder / "kind.py").write_text(module_on("add-a-kind"), encoding="utf-8")
    (line,) = [text for text in blocks_on("add-a-kind", "text") if "MEAN_LOGITS" in text]
    (config,) = blocks_on("add-a-kind", "toml")
    registers = (
        "import securefair.collaboration\n"
        "from securefair.collaboration.kinds import REGISTERED\n"
        f"securefair.collaboration.__path__.append({str(folder.parent)!r})\n"
        f"REGISTERED.update({{{line.strip()}}})\n"
    )
    (tmp_path / "registers_meanlogits.py").write_text(registers, encoding="utf-8")
    runs = tmp_path / "test_page_of_mean_logits.py"
    fewer = config + "[distillation]\nq = 16\n"
    runs.write_text(PAGE_RUNS.format(config=fewer), encoding="utf-8")
    words = ["-p", "no:cacheprovider", "-p", "registers_meanlogits", "-c", "pyproject.toml"]
    words += ["--rootdir", ".", "tests/contract/test_kinds.py", str(runs)]
    words += ["-k", "mean-logits or test_the_page_runs"]
    done = processes.run("pytest", words, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(tmp_path)})
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) >= 10


@pytest.mark.parametrize(
    ("page", "module", "suite", "package"),
    [
        ("add-a-packing", "backwards", "test_packings", "securefair.circuit.packings"),
        ("add-an-outcome", "waiting", "test_outcomes", "securefair.model.outcomes"),
        ("add-a-release", "total", "test_releases", "securefair.releases"),
    ],
)
def test_what_a_page_adds_is_a_file_and_a_line(page, module, suite, package, tmp_path):
    """And passes the contract suite, encrypted exchanges among it."""
    folder = tmp_path / "rooms"
    folder.mkdir()
    (folder / f"{module}.py").write_text(module_on(page), encoding="utf-8")
    (line,) = [text for text in blocks_on(page, "text") if module in text]
    registers = (
        f"import {package}.register as register\n"
        f"import {package} as room\n"
        f"room.__path__.append({str(folder)!r})\n"
        f"register.REGISTERED.update({{{line.strip()}}})\n"
    )
    (tmp_path / f"registers_{module}.py").write_text(registers, encoding="utf-8")
    words = ["-p", "no:cacheprovider", "-p", f"registers_{module}"]
    words += [f"tests/contract/{suite}.py", "-k", module]
    done = processes.run("pytest", words, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(tmp_path)})
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) >= 5
