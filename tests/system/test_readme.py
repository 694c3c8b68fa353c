"""What the README shows runs, prints what it says it prints, and points to files that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def test_the_python_blocks_run_one_after_the_other(capsys):
    sources = blocks("python")
    assert len(sources) == 3
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
    loss = (names["own"] * true).sum() / 5.0
    assert float(lines[3]) == pytest.approx(loss, abs=0.2)


def test_every_link_to_a_file_leads_somewhere():
    targets = re.findall(r"\]\((?!https?:|#)([^)#]+)[^)]*\)", README)
    assert len(targets) > 8
    for target in targets:
        assert (ROOT / target).is_file(), target


def test_make_knows_the_commands():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    commands = re.findall(r"^make (\w+)", "".join(blocks("shell")), re.MULTILINE)
    assert commands
    for target in commands:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
