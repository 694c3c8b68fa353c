"""The site builds strictly and needs nothing from elsewhere."""

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import typer.main

from securefair.cli import app

ROOT = Path(__file__).parents[2]
TOOLS = ("mkdocs", "material", "mkdocstrings", "mkdocstrings_handlers.python")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    for tool in TOOLS:
        try:
            there = find_spec(tool) is not None
        except ModuleNotFoundError:
            there = False
        if not there:
            pytest.skip(f"{tool} is not installed: pip install 'securefair[docs]'")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_pages_fetch_nothing_from_elsewhere(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > 30
    fetched = re.compile(r"""<(?:script|img|iframe|source)\b[^>]*\bsrc=["']?(https?:)?//""")
    styles = re.compile(r"""<link\b(?=[^>]*stylesheet|[^>]*preload)[^>]*href=["']?(https?:)?//""")
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert not fetched.search(text), page.name
        assert not styles.search(text), page.name
        assert 'class="mermaid"' not in text, f"{page.name}: the theme would fetch a program"


def test_every_command_is_described(site):
    text = (site / "cli.html").read_text(encoding="utf-8")
    for name in typer.main.get_command(app).commands:
        assert f">securefair {name}<" in text, name
    assert "--restart" in text


def test_docstrings_are_there(site):
    text = (site / "reference" / "exchange.html").read_text(encoding="utf-8")
    assert "Owns data and the secret key" in text
    assert 'id="securefair.exchange.student.Student"' in text


def test_state_tables_replace_diagrams(site):
    text = (site / "development" / "protocol-states.html").read_text(encoding="utf-8")
    assert "stateDiagram" not in text
    assert "<td>nothing awaited, nothing unfinished</td>" in text


def test_the_notebook_is_a_part_of_the_site(site):
    pages = {page.stem for page in (ROOT / "docs" / "notebook").glob("*.md")} - {"README"}
    text = (site / "notebook" / "index.html").read_text(encoding="utf-8")
    for page in pages:
        assert (site / "notebook" / f"{page}.html").is_file(), page
        assert f'href="{page}.html"' in text, page
    assert 'href="notebook/index.html"' in (site / "index.html").read_text(encoding="utf-8")
