"""The manual stays short enough to be read, and the notebook beside it can be found."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
DEVELOPMENT = sorted((DOCS / "development").glob("*.md"))
NOTEBOOK = sorted((DOCS / "notebook").glob("*.md"))
LIFE = sorted((DOCS / "life").glob("*.md"))
MANUAL = [DOCS.parent / "README.md", *sorted(DOCS.glob("*.md")), *LIFE]
WORDS = 50_000
"""What somebody reads in a day. Developers' pages, decisions, notebook, reference are beside it."""


def linked(page):
    """The files that a page's links name."""
    targets = re.findall(r"\]\(([^()\s#]+\.md)", page.read_text("utf-8"))
    return {(page.parent / target).resolve() for target in targets}


def test_the_manual_can_be_read_in_a_day():
    words = {page.name: len(page.read_text("utf-8").split()) for page in MANUAL}
    assert sum(words.values()) <= WORDS, sorted(words.items(), key=lambda item: -item[1])


@pytest.mark.parametrize("page", MANUAL, ids=lambda page: page.name)
def test_seconds_are_those_of_a_machine_that_is_named(page):
    text = page.read_text("utf-8")
    if re.search(r"\d (s|ms|us|seconds)\b(?! *[:(])", text):
        assert re.search("EPYC|Xeon", text)


def test_the_notebook_is_reachable_from_the_first_page_and_the_sites_menu():
    front = DOCS / "notebook" / "README.md"
    assert front in linked(DOCS / "index.md")
    assert {front, *linked(front)} >= set(NOTEBOOK)
    menu = re.findall(r"- (notebook/\S+\.md)$", (DOCS.parent / "mkdocs.yml").read_text(), re.M)
    assert sorted(menu) == [page.relative_to(DOCS).as_posix() for page in NOTEBOOK]


def test_pages_on_a_projects_life_are_reachable_from_the_operators_guide():
    assert set(LIFE) <= linked(DOCS / "operators-guide.md")


def test_developers_pages_are_reachable_from_contributing_and_the_sites_menu():
    assert set(DEVELOPMENT) <= linked(DOCS.parent / "CONTRIBUTING.md")
    menu = re.findall(r"- (development/\S+\.md)$", (DOCS.parent / "mkdocs.yml").read_text(), re.M)
    assert sorted(menu) == [page.relative_to(DOCS).as_posix() for page in DEVELOPMENT]


def test_the_picture_shows_every_room():
    page = (DOCS / "how-it-works.md").read_text("utf-8")
    (picture,) = re.findall(r"^## The rooms\n.*?```text\n(.*?)```", page, re.M | re.S)
    package = DOCS.parent / "src" / "securefair"
    rooms = {folder.parent.name for folder in package.glob("*/__init__.py")}
    assert rooms - set(re.findall(r"\w+", picture)) == set()


def test_seven_files_are_named_to_begin_with():
    page = (DOCS.parent / "CONTRIBUTING.md").read_text("utf-8")
    files = re.findall(r"^\d\. `(src/securefair/[\w/]+\.py)`: ", page, re.M)
    assert len(files) == 7
    assert [file for file in files if not (DOCS.parent / file).is_file()] == []
