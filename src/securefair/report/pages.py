"""The frame of all pages: templates that escape every name, our own style and script, and a policy
that allows nothing else."""

from __future__ import annotations

import base64
import functools
import hashlib
from collections.abc import Callable
from importlib import resources
from typing import Any

import jinja2
from markupsafe import Markup

from securefair.report import charts, wording
from securefair.report.facts import MessageTotal
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
            words=words or words_of().about("hospitals"),
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
        "percent": _percent,
        "figure": _figure,
        "points": _in_words(wording.points),
        "count": _in_words(wording.count),
        "size": _size,
        "duration": _in_words(wording.duration),
        "spread": _spread,
        "decimal": _in_words("{:.1f}".format),
        "message_name": _message_name,
        "shade": charts.shade,
    }
    return pages


@jinja2.pass_context
def _percent(context: jinja2.runtime.Context, fraction: float, digits: int = 1) -> str:
    words: Words = context["words"]
    return words.percent(fraction, digits)


@jinja2.pass_context
def _figure(context: jinja2.runtime.Context, value: float, form: str) -> str:
    """A number in a format of ours, such as ".2f"."""
    words: Words = context["words"]
    return words.figure(format(value, form))


@jinja2.pass_context
def _size(context: jinja2.runtime.Context, size: float) -> str:
    words: Words = context["words"]
    return words.size(wording.data_size(size))


@jinja2.pass_context
def _spread(context: jinja2.runtime.Context, shown: str, spread: float) -> str:
    """What another filter has written, with its spread."""
    words: Words = context["words"]
    return shown if not spread else f"{shown}{words.figure(wording.with_spread('', spread))}"


@jinja2.pass_context
def _message_name(context: jinja2.runtime.Context, total: MessageTotal) -> str:
    return wording.message_name(
        total.message,
        total.algorithm,
        context["words"],
        summed=total.summed,
        unencrypted=total.unencrypted,
    )


def _in_words(english: Callable[..., str]) -> Callable[..., str]:
    """A filter that writes a number as English does, in the language of the page."""

    @jinja2.pass_context
    def written(context: jinja2.runtime.Context, *given: Any) -> str:
        words: Words = context["words"]
        return words.figure(english(*given))

    return written


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
