"""The frame of all pages: templates that escape every name, our own style and script, and a policy
that allows nothing else."""

from __future__ import annotations

import base64
import functools
import hashlib
from importlib import resources

import jinja2
from markupsafe import Markup

from securefair.report import charts, wording
from securefair.report.labels import stacked_tables
from securefair.words import Words, words_of


def rendered(template: str, *, words: Words | None = None, **content: object) -> str:
    """A page that extends `page.html.j2`, with style and script in it; wide tables fit a phone.

    Args:
        template: its file name.
        words: of its language.
        content: what it shows.
    """
    style, script = _source("style.css"), _source("reputation.js")
    page = (
        environment()
        .get_template(template)
        .render(
            **content,
            words=words or words_of(),
            style=style,
            style_hash=_hash(style),
            script=script,
            script_hash=_hash(script),
        )
    )
    return stacked_tables(page)


@functools.cache
def environment() -> jinja2.Environment:
    """The templates of all pages, which escape every name, with the words for numbers.

    Made once: each template is compiled by its first page.
    """
    pages = jinja2.Environment(
        loader=jinja2.PackageLoader("securefair.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    pages.filters |= {
        "percent": wording.percent,
        "points": wording.points,
        "count": wording.count,
        "size": wording.data_size,
        "duration": wording.duration,
        "message_name": wording.message_name,
        "shade": charts.shade,
        "spread": wording.with_spread,
        "decimal": "{:.1f}".format,
    }
    pages.globals |= {
        "plural": wording.plural,
    }
    return pages


def _source(name: str) -> Markup:
    """A packaged style sheet or script, as it is: ours, so nothing in it needs escaping."""
    text = resources.files("securefair.report").joinpath("templates", name).read_text("utf-8")
    return Markup(text)


def _hash(text: str) -> str:
    """What a content security policy names an inline style or script by.

    The policy allows exactly these two and no network: a script that slipped in through a
    participant's name would not run even if escaping failed.
    """
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
