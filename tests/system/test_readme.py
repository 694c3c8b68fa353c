"""What the README shows prints what it says it prints, and the citation names its papers.

That its other blocks work and its links lead somewhere is tested with all pages (test_docs).
"""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def test_the_python_blocks_print_what_they_say(capsys):
    sources = blocks("python")
    assert len(sources) == 2
    names = {}
    for number, source in enumerate(sources, start=1):
        exec(compile(source, f"README.md, block {number}", "exec"), names)
    lines = capsys.readouterr().out.splitlines()
    shown = re.findall(r"^print\(.*\)  +# (\(\d+, \d+\))", "".join(sources), re.MULTILINE)
    assert lines[: len(shown)] == shown == ["(64, 2)", "(196, 2)"]
    assert 0 < float(lines[2].split("%")[0]) < 10
    # The reconstruction is what the README says it is: close to the logits.
    model, samples, opened = names["model"], names["samples"], names["opened"]
    true = model.logits(samples.features)
    missed = ((opened.logits - true) ** 2).sum() / ((true - true.mean(axis=0)) ** 2).sum()
    assert missed < 0.08


def test_the_readme_leads_to_the_guides():
    linked = set(re.findall(r"\]\((docs/[\w/-]+\.md)\)", README))
    assert {"docs/quick-start.md", "docs/tutorial.md", "docs/threat-model.md"} < linked
    assert len(linked) > 15


def test_the_readme_is_read_at_once():
    assert len(README.splitlines()) <= 200


def test_make_knows_the_commands():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    commands = re.findall(r"^make (\w+)", "".join(blocks("shell")), re.MULTILINE)
    assert commands
    for target in commands:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_the_citation_is_of_this_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nlicense: {project['license']}\n" in citation
    for title in re.findall(r'^    title: "(.*)"$', citation, re.MULTILINE):
        assert title in re.sub(r"\s+", " ", README), title
