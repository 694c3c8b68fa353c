"""The project file: everything that a collaboration agrees on, signed by every site.

One TOML file. Its content is the settings, the rules of the table and the cards of all sites; its
digest is the collaboration's. Every envelope carries the digest, so sites whose files differ in one
letter refuse each other. Signatures are not part of the digest: each site lays its own beside the
file (`signature_file`), and a site's own copy of a project that all have signed holds them.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature

from securefair.config.writing import plain_toml
from securefair.errors import ConfigError, DataError
from securefair.protocol.messages import PROTOCOL_VERSION
from securefair.sites.project.card import Card, bytes_of, card_of, text_of, utc
from securefair.sites.project.identity import Identity
from securefair.sites.project.terms import Terms, check_version, checked_terms
from securefair.storage.files import read_regular, replace_file

PROJECT_FORMAT = 1

_SIGNATURE_BYTES = 4096

_DIGEST_DOMAIN = b"securefair project 1\0"
_SIGN_DOMAIN = b"securefair project signature 1\0"


AFTER_THE_END = "; `securefair site export` writes what a site has learned, after the end too"


@dataclass(frozen=True, kw_only=True)
class Project:
    """A project file.

    Attributes:
        terms: what was agreed.
        cards: of all sites, in the order of every record.
        signatures: of the digest, by name.
    """

    terms: Terms
    cards: tuple[Card, ...]
    signatures: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def digest(self) -> bytes:
        """32 bytes over format, terms and cards."""
        content = {
            "format": PROJECT_FORMAT,
            "terms": self.terms.as_table(),
            "cards": [card.table() for card in self.cards],
        }
        text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(_DIGEST_DOMAIN + text.encode("ascii")).digest()

    @property
    def names(self) -> tuple[str, ...]:
        """Of all sites."""
        return tuple(card.name for card in self.cards)

    @property
    def unsigned(self) -> tuple[str, ...]:
        """Who has not signed this content yet."""
        return tuple(name for name in self.names if name not in self.signatures)

    def card(self, name: str) -> Card:
        """One site's card.

        Raises:
            ConfigError: nobody has that name.
        """
        for card in self.cards:
            if card.name == name:
                return card
        raise ConfigError(
            "nobody of that name takes part", where="project", found=name, expected=self.names
        )

    def with_card(self, card: Card) -> Project:
        """With one more site; signatures of the content before are void.

        Raises:
            ConfigError: the name or the keys are there already.
        """
        for other in self.cards:
            if other.name == card.name or other.signing == card.signing:
                raise ConfigError(
                    "this site is in the project already", where="cards", found=other.name
                )
        return Project(terms=self.terms, cards=(*self.cards, card))

    def signed(self, identity: Identity) -> Project:
        """With this site's signature.

        Raises:
            ConfigError: its card is not in the project.
        """
        name = identity.card.name
        if self.card(name) != identity.card:
            raise ConfigError(
                "the project has another card of this name",
                where="cards",
                found=self.card(name).spoken,
                expected=identity.card.spoken,
                hint="Give the others your card of today",
            )
        signature = identity.sign(_SIGN_DOMAIN + self.digest)
        return replace(self, signatures={**self.signatures, name: signature})

    def check_signatures(self) -> None:
        """See that every site has signed this content.

        Raises:
            ConfigError: one has not.
        """
        if self.unsigned:
            raise ConfigError(
                "not every site has signed the project",
                where="signatures",
                found=f"missing: {', '.join(self.unsigned)}",
                hint="Each runs `securefair project sign`, and lays its .signature beside the file",
            )

    def check_time(self, now: float) -> None:
        """See that this machine's clock is within the project's time and the cards'.

        Raises:
            ConfigError, DataError: it is not.
        """
        first, last = self.terms.valid_from, self.terms.valid_until
        if not first <= now < last:
            raise ConfigError(
                "the project has ended" if now >= last else "the project has not begun",
                where="project",
                found=f"clock {utc(now)}",
                expected=f"{utc(first)} to {utc(last)}",
                hint=f"Check this machine's clock{AFTER_THE_END if now >= last else ''}",
                passing=now < first,
            )
        for card in self.cards:
            card.check_time(now)

    def to_toml(self) -> str:
        """As a file; `parse_project` gives an equal project."""
        table: dict[str, Any] = {"format": PROJECT_FORMAT, **self.terms.as_table()}
        table["cards"] = [card.table() for card in self.cards]
        if self.signatures:
            table["signatures"] = [_signature(self, name) for name in self.signatures]
        return plain_toml(table)


def load_project(path: Path, *, beside: bool = True) -> Project:
    """Read a project file, and the signatures that lie beside it.

    Args:
        path: of the file.
        beside: take signatures of `signature_file`; false for whoever signs anew.

    Raises:
        ConfigError, DataError: it cannot be read, is none, or a card or signature is false.
    """
    project = parse_project(_text(path), source=str(path))
    return _with_files(project, path) if beside else project


def signature_file(project: Path, name: str) -> Path:
    """Where the signature of one site lies, beside the project file that it is of."""
    return project.with_name(f"{project.stem}.{name}.signature")


def write_signature(path: Path, project: Project, name: str) -> Path:
    """Lay one site's signature beside a project file; returns where.

    Raises:
        OSError: the folder cannot be written.
    """
    file = signature_file(path, name)
    replace_file(file, plain_toml(_signature(project, name)).encode(), mode=0o666)
    return file


def _signature(project: Project, name: str) -> dict[str, str]:
    signature = text_of(project.signatures[name])
    return {"name": name, "digest": project.digest.hex(), "signature": signature}


def _with_files(project: Project, path: Path) -> Project:
    """With the signatures that lie beside the file, of its sites alone; others are not read."""
    found = {}
    for name in project.names:
        file = signature_file(path, name)
        try:
            table = tomllib.loads(read_regular(file, _SIGNATURE_BYTES).decode())
        except FileNotFoundError:
            continue
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise DataError(
                "a signature cannot be read", where=str(file), found=str(error)
            ) from error
        if table.get("name") != name:
            raise DataError(
                "this is the signature of another site",
                where=str(file),
                found=str(table.get("name")),
                expected=name,
            )
        signed = _with_signatures(project, [table], str(file))
        found[name] = signed.signatures[name]
    return replace(project, signatures={**project.signatures, **found})


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(
            "the project file cannot be read", where=str(path), found=error.strerror
        ) from error
    except UnicodeDecodeError as error:
        raise ConfigError(
            "the project file is not UTF-8 text", where=str(path), found=error.reason
        ) from error


def parse_project(text: str, *, source: str) -> Project:
    """The project of TOML text, its cards and signatures checked.

    Raises:
        ConfigError, DataError: as `load_project`.
    """
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError("this is not valid TOML", where=source, found=str(error)) from error
    if "format" not in table and {"label", "columns"} <= table.keys():
        raise ConfigError(
            "this is a proposal of one site, no project",
            where=source,
            hint="Compare it with another: securefair project check north.toml south.toml",
        )
    if "format" not in table and "card" in table:
        raise ConfigError(
            "this is a site's card, no project",
            where=source,
            hint="`securefair project new` writes a project of several cards",
        )
    if table.pop("format", None) != PROJECT_FORMAT:
        raise ConfigError(
            "this is no project file of this version",
            where=source,
            expected=f"format = {PROJECT_FORMAT}",
        )
    _check_newer(table)
    tables = {key: _tables(table.pop(key, []), key, source) for key in ("cards", "signatures")}
    terms = replace(checked_terms(table, source=source), written=table)
    project = Project(terms=terms, cards=())
    for one in tables["cards"]:
        project = project.with_card(card_of(one, where=f"{source}: cards"))
    return _with_signatures(project, tables["signatures"], source)


def _check_newer(table: Mapping[str, Any]) -> None:
    """Refuse what a newer version founded by that name, not by the keys that are unknown here."""
    section = table.get("project")
    said = section.get("protocol") if isinstance(section, Mapping) else None
    if isinstance(said, int) and said > PROTOCOL_VERSION:
        check_version(said)


def _tables(value: object, key: str, source: str) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise ConfigError("a list of sections is expected", where=f"{source}: {key}")
    return value


def _with_signatures(project: Project, tables: list[dict[str, Any]], source: str) -> Project:
    signatures: dict[str, bytes] = {}
    for one in tables:
        name = one.get("name")
        card = project.card(str(name))
        try:
            card.signing_key.verify(bytes_of(one.get("signature")), _SIGN_DOMAIN + project.digest)
        except (InvalidSignature, ValueError):
            check_version(project.terms.project.protocol)  # another one may sign other bytes
            raise DataError(
                f"{name} has not signed this content: the file was changed since",
                where=f"{source}: signatures",
                found=str(one.get("digest"))[:16],
                expected=project.digest.hex()[:16],
                hint="Agree on one file, remove signatures of another one, and sign it again",
            ) from None
        signatures[card.name] = signatures.get(card.name, b"") or bytes_of(one.get("signature"))
    return replace(project, signatures=signatures)
