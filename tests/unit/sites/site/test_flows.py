"""Whatever leaves a site beside messages is in a table, and the page shows it."""

from dataclasses import fields
from pathlib import Path

from securefair.sites.post.envelope import Header
from securefair.sites.post.receipts import Receipt
from securefair.sites.site.notices import Notice
from support.flows import BESIDE, FILES, NOTHING

PAGE = Path(__file__).parents[4] / "docs" / "threat-model.md"


def test_every_field_is_in_the_table():
    header, notice, receipt = BESIDE.values()
    assert list(header) == [field.name for field in fields(Header)]
    assert list(notice) == list(Notice.__struct_fields__)
    assert list(receipt) == [field.name for field in fields(Receipt)]


def test_the_page_shows_the_table():
    assert beside_table() in PAGE.read_text(encoding="utf-8")


def beside_table():
    """Both tables in Markdown: what the threat model shows."""
    lines = ["| what leaves | field | may depend on |", "|---|---|---|"]
    for name, known in BESIDE.items():
        silent = [f"`{field}`" for field, opened in known.items() if opened is NOTHING]
        lines.append(f"| {name} | {', '.join(silent)} | {NOTHING} |")
        lines += [
            f"| {name} | `{field}` | {opened} |"
            for field, opened in known.items()
            if opened is not NOTHING
        ]
    lines += [f"| a file of results | `{name}` | {opened} |" for name, opened in FILES.items()]
    return "\n".join(lines)
