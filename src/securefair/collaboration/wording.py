"""How people read of algorithms and of what they are compared with, in kinds and in reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from securefair.ckks import backends
from securefair.records import EncryptionResult
from securefair.words import THIN, words_of


@dataclass(frozen=True)
class SiteWording:
    """How the page of one site reads of what passed between it and its peers.

    Each is a key of `securefair.words`, or the text, as `Wording.rule`.

    Attributes:
        peers: who counts as having given it something, a heading.
        numbers: what was counted.
        told: those that it let out, a heading.
        tells: what they tell, in sentences.
    """

    peers: str = "sites.peers_taught"
    numbers: str = "sites.numbers"
    told: str = "sites.told_model"
    tells: str = "sites.tells_model"


@dataclass(frozen=True)
class Wording:
    """How people read of an algorithm.

    Attributes:
        title: such as "CYCle".
        rule: who learns from whom, in a few words: a key of `securefair.words`, or the text.
        reputations: whether participants form reputations of each other.
        averages: whether models are averaged: reputations are then weights.
        messages: what its messages are, by type, where the usual names would mislead; as `rule`.
        summed: the same in a run that adds up under masks and encrypts nothing.
        site: how the page of one site reads.
    """

    title: str
    rule: str
    reputations: bool = False
    averages: bool = False
    messages: Mapping[str, str] = field(default_factory=dict)
    summed: Mapping[str, str] = field(default_factory=dict)
    site: SiteWording = SiteWording()


CONTROL_WORDINGS: Mapping[str, Wording] = {
    name: Wording(words_of()(f"controls.{name}"), f"rules.{name}")
    for name in (
        "standalone",
        "early_stopping",
        "averaged_alone",
        "alone-forest",
        "alone-ensemble",
        "most_common",
    )
}
"""Of `collaboration.controls`, by name."""

CEILING_WORDING = Wording(words_of()("controls.pooled"), "rules.pooled")
"""What no collaboration that keeps data apart can be expected to pass by much."""


def count(number: int) -> str:
    """5120 as "5,120"."""
    return f"{number:,}"


def plural(number: int, one: str, many: str | None = None) -> str:
    """A number with its noun: "1 round", "40 rounds"."""
    return f"{count(number)} {one if number == 1 else many or one + 's'}"


def listing(names: Sequence[str]) -> str:
    """Names in a sentence: "a, b and c"."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def encrypts(result: EncryptionResult | None) -> bool:
    """Whether anything was kept secret from anyone in this run."""
    return result is not None and backends.encrypts(result.backend)


def exposes(result: EncryptionResult | None) -> bool:
    """Whether averaged models were handed to others in the open."""
    averaging = None if result is None else result.averaging
    return averaging is not None and not averaging.hides_parameters


def ring_said(backend: str, ring_degree: int) -> str:
    """What protects an exchange, for who signs: that nothing does, where a backend for tests is
    agreed on, or its ring degree."""
    if not backends.encrypts(backend):
        return f"NOTHING IS ENCRYPTED (encryption.backend = {backend})"
    return f"ring degree {ring_degree}"


def told_in_the_open(backend: str, read: str = "the features of these patients") -> list[str]:
    """What every kind that asks by a backend warns of, where that encrypts nothing.

    Args:
        backend: of the agreement.
        read: what peers can read then.
    """
    if backends.encrypts(backend):
        return []
    return [
        f"Backend {backend} encrypts nothing: every peer that is asked can read {read}. "
        "For tests only (encryption.backend)."
    ]


def data_size(size: float) -> str:
    """Bytes in decimal units, three digits: 1_310_000 as "1.31 MB"."""
    if size < 1000:
        return f"{size:.0f}{THIN}B"
    for unit in ("kB", "MB", "GB"):
        size /= 1000
        if size < 999.5:  # what three digits would round to 1000 belongs in the next unit
            return f"{size:.3g}{THIN}{unit}"
    return f"{size / 1000:.3g}{THIN}TB"
