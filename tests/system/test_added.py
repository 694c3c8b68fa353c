"""What the contributors' pages add works, and needs nothing that the pages do not say."""

import os
import re
from pathlib import Path

from support import processes

ROOT = Path(__file__).parents[2]


def module_on(page):
    """The first block of a page, which is a whole module; its first line names the file."""
    text = (ROOT / f"docs/{page}.md").read_text(encoding="utf-8")
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
    done = processes.run("pytest", words, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(tmp_path)})
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) > 50


def test_the_kind_that_a_page_adds_keeps_the_laws_of_kinds(tmp_path):
    """Its folder and one line: nothing else of the package is touched."""
    (tmp_path / "meanlogits.py").write_text(module_on("add-a-kind"), encoding="utf-8")
    registers = (
        "from securefair.collaboration.kinds import REGISTERED\n"
        'REGISTERED["mean-logits"] = "meanlogits:MEAN_LOGITS"\n'
    )
    (tmp_path / "registers_meanlogits.py").write_text(registers, encoding="utf-8")
    words = ["-p", "no:cacheprovider", "-p", "registers_meanlogits"]
    words += ["tests/contract/test_kinds.py", "-k", "mean-logits"]
    done = processes.run("pytest", words, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(tmp_path)})
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) >= 9
