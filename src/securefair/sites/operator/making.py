"""Projects and what goes into them, from files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from securefair.collaboration.kinds import default_algorithm, refuse_unread
from securefair.config import defaults
from securefair.data.proposal import Proposal
from securefair.errors import ConfigError, DataError
from securefair.protocol.messages import PROTOCOL_VERSION
from securefair.sites.project.agreeing import (
    agreement_digest,
    check_first_answer,
    proposed_totals,
)
from securefair.sites.project.card import Card
from securefair.sites.project.identity import Identity
from securefair.sites.project.project import Project
from securefair.sites.project.terms import checked_terms
from securefair.sites.site.folder import IDENTITY
from securefair.storage import Keystore, Secret
from securefair.storage.keystore import check_keystore


def new_project(
    name: str,
    cards: Sequence[Card],
    settings: Mapping[str, Any],
    *,
    algorithm: str | None,
    max_samples: int,
    features: int | None,
    classes: int | None,
    round_seconds: float,
    setup_seconds: float = defaults.SITE_SETUP_SECONDS,
    min_peers: int | None = None,
    now: float,
    days: int,
    protocol: int = PROTOCOL_VERSION,
) -> Project:
    """A project that nobody has signed yet.

    Args:
        name: of the project.
        cards: of all sites.
        settings: sections of a configuration; totals of disclosure are proposed where missing.
        algorithm: the kind of collaboration; None for the default of a configuration.
        max_samples: most training samples of a site.
        features, classes: where the settings have no [table].
        round_seconds: deadline of a round.
        setup_seconds: added to the first round's, for sites that start late, and to the wait for
            the last keys of a sum.
        min_peers: that a site needs in a round; None: half of them.
        now: seconds since 1970.
        days: how long the project may run.
        protocol: version that all sites speak.

    Raises:
        ConfigError, PlanError: something cannot be agreed on.
        DataError: a card has expired.
    """
    project: dict[str, Any] = {
        "name": name,
        "algorithm": algorithm or default_algorithm(),
        "max_samples": max_samples,
        "round_seconds": float(round_seconds),
        "setup_seconds": float(setup_seconds),
        "valid_from": int(now) - 3600,
        "valid_until": int(now) + days * 86_400,
        "protocol": protocol,
    }
    project |= {
        key: value for key, value in (("features", features), ("classes", classes)) if value
    }
    project |= {} if min_peers is None else {"min_peers": min_peers}
    table: dict[str, Any] = {**settings, "project": project}
    made = Project(terms=checked_terms(table, source="project new"), cards=())
    refuse_unread(made.terms.config)
    for card in cards:
        card.check_time(now)
        made = made.with_card(card)
    peers = len(made.cards) - 1
    if min_peers is not None and min_peers > peers:
        raise ConfigError(
            "a round would wait for more peers than a site has",
            where="--min-peers",
            found=min_peers,
            expected=f"at most {peers}, of {len(made.cards)} sites",
        )
    given = settings.get("disclosure", {})
    if not isinstance(given, dict):
        raise ConfigError("a section is expected", where="disclosure")
    table["disclosure"] = proposed_totals(made) | given
    check_first_answer(made, table["disclosure"])
    return with_agreement(replace(made, terms=checked_terms(table, source="project new")))


def with_agreement(project: Project) -> Project:
    """With the digest of the plan as this installation finds it; signatures are void.

    Raises:
        ConfigError, PlanError: the project cannot be carried out.
    """
    terms = project.terms.replaced(agreement=agreement_digest(project))
    return replace(project, terms=terms, signatures={})


def check_keys(path: Path) -> None:
    """See that a file holds private keys, before anybody types a passphrase for it.

    Raises:
        ConfigError, StorageError: it is a card, or something else, or not there.
    """
    if path.suffix == ".card":
        raise ConfigError(
            "this is a card, and a signature needs the keys",
            where=str(path),
            expected=str(path.with_suffix(".keys")),
        )
    check_keystore(path)


def identity_in(path: Path, project: Project, passphrase: Secret) -> Identity:
    """The identity of a keystore whose card is in a project.

    Raises:
        StorageError: it does not open.
        ConfigError: none of the project's cards belongs to it.
    """
    secrets = _secrets(path, passphrase)
    for card in project.cards:
        try:
            return Identity.restore(card, secrets)
        except DataError:
            continue
    raise ConfigError(
        "none of the project's cards belongs to these keys",
        where=str(path),
        expected=", ".join(project.names),
        hint="Give your card to whoever keeps the project file",
    )


def identity_of_card(path: Path, card: Card, passphrase: Secret) -> Identity:
    """The identity of a keystore that belongs to a card.

    Raises:
        StorageError: it does not open.
        DataError: it belongs to another card.
    """
    return Identity.restore(card, _secrets(path, passphrase))


def _secrets(path: Path, passphrase: Secret) -> bytes:
    check_keys(path)
    keys = Keystore.open(path, passphrase)
    secrets = keys.get(IDENTITY).reveal()
    keys.close()
    return bytes(secrets)


def shared_files(folder: Path) -> tuple[list[Path], list[Path]]:
    """Cards and proposals that sites have laid into a folder of all, sorted by name.

    Raises:
        ConfigError: there is no such folder, or there are fewer than two cards.
    """
    if not folder.is_dir():
        raise ConfigError(
            "the shared folder is not there", where=str(folder), hint="Mount the share"
        )
    cards = sorted(folder.glob("*.card"))
    if len(cards) < 2:
        raise ConfigError(
            "a project needs the cards of two sites or more",
            where=str(folder),
            found=", ".join(path.name for path in cards) or "none",
            hint="Each site runs `securefair identity new NAME --share`, with this folder",
        )
    return cards, sorted(folder.glob("*.proposal.toml"))


def without_proposal(cards: Sequence[Path], proposals: Sequence[Path]) -> list[str]:
    """That sites have a card beside fewer proposals, and none of their name: a line, or none."""
    names = {path.name for path in proposals}
    missing = [path.stem for path in cards if f"{path.stem}.proposal.toml" not in names]
    if not missing or len(proposals) >= len(cards):
        return []
    return [
        f"NO PROPOSAL of {', '.join(missing)}: these rules do not know their tables, and may not "
        "fit them"
    ]


def check_own_table(
    settings: Mapping[str, Any], file: Path | None, proposals: Sequence[Path]
) -> None:
    """Refuse a [table] of settings that stands beside proposals and is no whole one.

    Raises:
        ConfigError: it names no column to predict.
    """
    table = settings.get("table")
    if proposals and isinstance(table, dict) and "label" not in table:
        raise ConfigError(
            "a [table] of settings stands in place of all proposals, and is no part of one",
            where=str(file),
            found=", ".join(table),
            expected="the whole of what `securefair project check ... --out` writes",
            hint="--positive names the class that must not be missed",
        )


def read_proposals(paths: Sequence[Path]) -> dict[str, Proposal]:
    """What sites propose for their tables, by file name.

    Raises:
        ConfigError: a file cannot be used.
    """
    proposals = {}
    for path in paths:
        try:
            text = path.read_bytes()
            if "cards" in msgspec.toml.decode(text, type=dict):
                raise ConfigError(
                    "this is a project file, no proposal",
                    where=str(path),
                    hint="Check a project file alone, and proposals of tables together",
                )
            proposals[path.name] = msgspec.toml.decode(text, type=Proposal)
        except (OSError, UnicodeDecodeError, msgspec.DecodeError) as error:
            raise ConfigError(
                "a proposal cannot be read",
                where=str(path),
                found=str(error).split("\n")[0],
                hint="`securefair project propose` makes one; a project file is checked alone",
            ) from error
    return proposals
