"""What the site adds to the pages: the repository's own pages, state tables, commands and settings.

Pages are written to be read in the repository as well; these hooks change only the site.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
REPOSITORY_PAGES = ("SECURITY.md", "CONTRIBUTING.md", "CODE_OF_CONDUCT.md", "CHANGELOG.md")
COMMANDS = "<!-- commands -->"
SETTINGS = "<!-- settings -->"

_LINK = re.compile(r"(\]\()([^)#\s]*)((?:#[^)\s]*)?\))")
_DIAGRAM = re.compile(r"^```mermaid\nstateDiagram-v2\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_TRANSITION = re.compile(r"^\s*(\S+) --> (\S+?)(?:: (.*))?$")


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Take the repository's own pages into the site."""
    from mkdocs.structure.files import File

    for name in REPOSITORY_PAGES:
        files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Point links to where a page lies in the site; draw state tables; list what code says."""
    del config, files
    source = page.file.src_uri
    if source in REPOSITORY_PAGES:
        markdown = _LINK.sub(lambda link: link[1] + _in_site(link[2]) + link[3], markdown)
    else:
        up = "../" * (source.count("/") + 1)
        for name in REPOSITORY_PAGES:
            markdown = markdown.replace(f"]({up}{name}", f"]({up[3:]}{name}")
    markdown = _DIAGRAM.sub(lambda found: "\n".join(state_table(found[1])), markdown)
    if COMMANDS in markdown:
        markdown = markdown.replace(COMMANDS, "\n".join(command_sections()))
    if SETTINGS in markdown:
        markdown = markdown.replace(SETTINGS, "\n".join(setting_tables()))
    return markdown


def _in_site(target: str) -> str:
    """A link from the repository's root, seen from docs/; a folder leads to its first page."""
    if target == "docs":
        return "index.md"
    target = target.removeprefix("docs/")
    return f"{target}/README.md" if target == "decisions" else target


def state_table(diagram: str) -> Iterator[str]:
    """A Mermaid state diagram as a table: browsers would have to fetch a program to draw it."""
    yield "| from | to | when |"
    yield "|---|---|---|"
    for line in diagram.splitlines():
        found = _TRANSITION.match(line)
        if found is None:
            continue
        before, after, when = found.groups()
        before = "(start)" if before == "[*]" else before
        after = "(end)" if after == "[*]" else after
        yield f"| {before} | {after} | {when or ''} |"


def setting_tables() -> Iterator[str]:
    """Every key of every section, from the one place where it is written."""
    from securefair.config.describing import described_keys

    for section, keys in described_keys().items():
        yield ""
        yield f"## [{section}]"
        yield ""
        yield "| key | meaning | accepts | without it |"
        yield "|---|---|---|---|"
        for key, (meaning, accepts, default) in keys.items():
            row = (f"`{key}`", meaning, accepts, "" if default is None else f"`{default}`")
            yield f"| {' | '.join(cell.replace('|', '/') for cell in row)} |"


def command_sections() -> Iterator[str]:
    """Every command of the program as its own help describes it."""
    import typer.main

    from securefair.cli import app

    program: Any = typer.main.get_command(app)
    yield from _sections(program, "securefair", level=3)


def _sections(command: Any, name: str, level: int) -> Iterator[str]:
    for key, child in sorted(getattr(command, "commands", {}).items()):
        full = f"{name} {key}"
        yield ""
        yield f"{'#' * level} {full}"
        yield ""
        yield from _help(inspect.cleandoc(child.help or ""))
        yield ""
        if not hasattr(child, "commands"):
            yield from _parameters(child)
        yield from _sections(child, full, level + 1)


def _help(text: str) -> Iterator[str]:
    for line in text.splitlines():
        example = re.match(r"Example: (.*)", line)
        yield f"```shell\n{example[1]}\n```" if example else line


def _parameters(command: Any) -> Iterator[str]:
    shown = [one for one in command.params if "--help" not in one.opts]
    if shown:
        yield "| | meaning | default |"
        yield "|---|---|---|"
    for one in shown:
        argument = one.param_type_name == "argument"
        names = f"`{one.name.upper()}`" if argument else ", ".join(f"`{name}`" for name in one.opts)
        silent = argument or getattr(one, "is_flag", False) or one.default in (None, "", (), [])
        default = "" if silent else f"`{one.default}`"
        about = (one.help or "").replace("|", "/")
        yield f"| {names} | {about} | {default} |"
