"""What the pages say holds: code runs, options exist, settings are accepted, links lead somewhere.

In every page, blocks of one kind are read from top to bottom in one namespace and one folder:

    python           runs
    py               an excerpt: compiles, and what it imports is there
    shell            lines of securefair and make must parse; those of the tutorial also run
    toml             a whole configuration, or a part of one, is accepted
    sql              runs in tests of its own (tests/unit/data/test_omop.py)
    anything else    is shown and not tested (text, console, mermaid)
"""

import ast
import re
import shlex
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest
import typer.main
from typer.testing import CliRunner

from securefair.ckks import backends
from securefair.cli import app
from securefair.config import check_settings, demo_config
from support import processes

pytest.importorskip("securefair_lab", reason="pages tell of the laboratory as well")

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])

_FENCE = re.compile(r"^(```+)(\w*)[^\n]*\n(.*?)^\1$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#{1,6} +(.*?) *#*$", re.MULTILINE)
_LINK = re.compile(r"\]\(\s*([^()\s]+)\s*\)")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and the line of the page where its text begins."""

    language: str
    text: str
    line: int


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(found[2], found[3], text.count("\n", 0, found.start(3)) + 1)
        for found in _FENCE.finditer(text)
    ]


def prose(page: Path) -> str:
    """The page without its fenced and inline code."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    return re.sub(r"`[^`\n]*`", "`code`", text)


def links(page: Path) -> list[str]:
    return _LINK.findall(prose(page))


def anchors(page: Path) -> set[str]:
    """What `#...` may name: headings as GitHub and the site abbreviate them."""
    found: set[str] = set()
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    for heading in _HEADING.findall(text):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        words = re.sub(r"[^\w\- ]", "", words).strip().replace(" ", "-")
        number = 1
        anchor = words
        while anchor in found:
            anchor = f"{words}-{number}"
            number += 1
        found.add(anchor)
    return found


LANGUAGES = {"python", "py", "shell", "toml", "text", "console", "mermaid", "json", "bibtex", "sql"}
TUTORIAL = "docs/tutorial.md"


def having(language, but=()):
    pages = [page for page in PAGES if any(b.language == language for b in blocks(page))]
    pages = [page for page in pages if name_of(page) not in but]
    return pytest.mark.parametrize("page", pages, ids=name_of)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_says_what_it_is(page):
    for block in blocks(page):
        assert block.language in LANGUAGES, f"line {block.line}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_code_hides_in_an_indented_block(page):
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    hidden = re.findall(
        r"^ {4,}(?:securefair |make |import |from \w[\w.]* import ).*", text, re.MULTILINE
    )
    assert hidden == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_files_that_a_page_names_are_there(page):
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    named = re.findall(
        r"(?<![\w/])(?:tests|bench|examples|native|scripts|src/securefair|lab)/[\w./-]*\.\w+",
        text,
    )
    assert [file for file in named if not (ROOT / file).exists()] == []


@having("python", but=["README.md"])  # test_readme runs it and looks at what it prints
def test_python_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(backends, "BACKENDS", dict(backends.BACKENDS))  # a page adds one
    names = {"__name__": "docs"}
    for block in blocks(page):
        if block.language == "python":
            run_python(page, block, names)
            file = re.match(r"# (test_\w+\.py)\n", block.text)
            if file:
                (tmp_path / file[1]).write_text(block.text, encoding="utf-8")
                run_tests(tmp_path / file[1])


def run_python(page, block, names):
    source = "\n" * (block.line - 1) + block.text  # so that a traceback names the page's line
    exec(compile(source, name_of(page), "exec"), names)


def run_tests(file):
    done = processes.run("pytest", ["-q", "-p", "no:cacheprovider", file], cwd=file.parent)
    assert done.returncode == 0, done.stdout + done.stderr


@having("py")
def test_excerpts_compile_and_import_what_is_there(page):
    for block in blocks(page):
        if block.language == "py":
            tree = ast.parse("\n" * (block.line - 1) + block.text, name_of(page))
            tree.body = [one for one in tree.body if isinstance(one, ast.Import | ast.ImportFrom)]
            exec(compile(tree, name_of(page), "exec"), {})


def command_lines(page):
    for block in blocks(page):
        if block.language == "shell":
            for line in block.text.replace("\\\n", " ").splitlines():
                for part in re.split(r"&&|\|", line):
                    words = shlex.split(part, comments=True)
                    if ">" in words:
                        words = words[: words.index(">")]
                    if words:
                        yield words


@having("shell")
def test_commands_and_options_exist(page):
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    for words in command_lines(page):
        program, *arguments = words
        if program == "make":
            assert {word for word in arguments if "=" not in word} <= set(targets), words
        elif program == "securefair":
            parse(arguments)


def parse(arguments):
    """Let the program itself read the arguments, without running anything."""
    command, name = typer.main.get_command(app), "securefair"
    if "--help" in arguments:
        arguments = [word for word in arguments if word != "--help"]
        while arguments:
            command = command.commands[arguments.pop(0)]
        return
    while hasattr(command, "commands"):
        name, *arguments = arguments
        command = command.commands[name]
    command.make_context(name, arguments)


def commands(command, name=""):
    """Every command that does something, by its full name."""
    if not hasattr(command, "commands"):
        return {name.strip(): command}
    return {
        k: v
        for key, child in command.commands.items()
        for k, v in commands(child, f"{name} {key}").items()
    }


def test_every_command_is_as_the_page_on_the_command_line_says():
    for name, command in commands(typer.main.get_command(app)).items():
        options = {option for one in command.params for option in one.opts}
        assert "--json" in options, name
        assert re.search(rf"Example: securefair {name}\b", command.help), name


def test_a_wrong_option_would_be_noticed():
    with pytest.raises(Exception, match="No such option"):
        parse(["run", "a.toml", "--seed", "3"])
    with pytest.raises(KeyError):
        parse(["walk"])


@having("toml")
def test_settings_are_accepted(page):
    for block in blocks(page):
        if block.language == "toml":
            check_settings(whole(tomllib.loads(block.text)), source=f"{page}, {block.line}")


def whole(settings):
    """The settings, completed where they are a part: by the demo's, or by two tables."""
    if {"run", "data"} <= settings.keys():
        return settings
    base = demo_config().model_dump(mode="json", exclude_none=True)
    if "table" in settings or "participants" in settings:
        base["data"] = {"source": "files"}
        people = [{"name": name, "file": f"{name}.csv"} for name in ("north", "south")]
        base |= {"table": {"label": "diagnosis"}, "participants": people}
    return {
        key: base.get(key, {}) | settings[key]
        if isinstance(settings.get(key), dict)
        else settings.get(key, base.get(key))
        for key in base | settings
    }


def test_a_wrong_key_would_be_noticed():
    with pytest.raises(Exception, match="foced_every"):
        check_settings(whole({"fairness": {"foced_every": 3}}), source="test")


def test_the_tutorial_runs_from_csv_to_report(tmp_path, monkeypatch):
    """The page's own commands; only its runs are shortened and not encrypted."""
    monkeypatch.chdir(tmp_path)
    page = ROOT / TUTORIAL
    for block in blocks(page):
        if block.language == "python":
            run_python(page, block, {})
    shorter = ["--backend", "clear"]
    ran = [arguments for program, *arguments in command_lines(page) if program == "securefair"]
    assert [arguments[0] for arguments in ran] == ["new", "check", "run", "report"]
    outputs = [invoke(words + (shorter if words[0] == "run" else [])) for words in ran]
    assert (tmp_path / "runs/clinic/report.html").is_file()
    told = " ".join(outputs[1].split())
    for claim in (
        "north 60 30",
        "south 107 53",
        "east 160 80",
        "6 features",
        "80 B a peer under masks",
        "A sum over two hospitals tells roughly either fit",
    ):
        assert claim in told, claim
    assert "80 B a peer under masks" in page.read_text("utf-8").replace("\n", " ")


def invoke(arguments):
    done = CliRunner().invoke(app, arguments, env={"COLUMNS": "120"})
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page):
    for link in links(page):
        if link.startswith(("https://", "mailto:")):
            continue
        assert not link.startswith(("http:", "/")), f"{link}: absolute or unsafe"
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        assert target.is_relative_to(ROOT), f"{link} leaves the repository"
        assert target.exists(), f"{link} leads nowhere"
        if anchor:
            assert anchor in anchors(target), f"{link}: no such heading"


def test_the_check_can_fail(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# A *heading*, here\n\n[x](#a-heading-here) [y](gone.md)\n```text\n[z](no.md)\n```\n"
    )
    assert links(page) == ["#a-heading-here", "gone.md"]
    assert anchors(page) == {"a-heading-here"}
