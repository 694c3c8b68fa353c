"""What a site notes of a round in its audit log: answers that it gave, and peers that it blames.

Every envelope says how many rows the log has and the hash of the last one, to its recipient and to
whoever carries it. Both must not depend on what was opened: whether an answer was refused may tell
of one patient. So notes wait for the row that ends their round, and each round has one such row. A
site goes on answering after its last round: one more row, there or not there for no reason of what
was noted, holds the rest. A random number in each keeps others from finding its facts by trying
their hashes.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TypeAlias

import msgspec

from securefair.protocol.effects import AskedAgain, Blame
from securefair.protocol.ledger import Account
from securefair.storage import Transaction

MOST_MISTAKES = 64
"""Of one peer that are kept of one round; more are counted. It may send as many as it likes, and
must not thereby keep out what it was told."""

LONGEST_REASON = 400
"""Characters: a peer's bytes may be in it."""

ANSWER, BLAME, ASKED_AGAIN = "answer", "blame", "asked again"

_WAITING, _SALT_BYTES = "site notes", 16

Notes: TypeAlias = list[tuple[str, dict[str, str | int]]]
"""What happened, in a word, and its facts."""


def note(tx: Transaction, event: str, *, peer: str, **facts: str | int) -> None:
    """Keep this for the row that ends the round, or the site; of what peers did the first ones."""
    notes, more = _waiting(tx)
    alike = sum(1 for kind, own in notes if (kind, own["peer"]) == (event, peer))
    if event == ANSWER or alike < MOST_MISTAKES:
        notes.append((event, {"peer": peer, **facts}))
    else:
        more += 1
    tx.memory.put(_WAITING, msgspec.json.encode((notes, more)))


def note_mistake(tx: Transaction, effect: Blame | AskedAgain) -> None:
    """Note what a peer did that it should not have done, or could not help."""
    event = BLAME if isinstance(effect, Blame) else ASKED_AGAIN
    note(tx, event, peer=effect.peer, reason=effect.reason[:LONGEST_REASON])


def note_answers(tx: Transaction, accounts: Mapping[str, Account], told: dict[str, int]) -> None:
    """Note what a ledger counts more than before; `told` is what it counted, and is kept up."""
    for peer, account in accounts.items():
        numbers = account.total - told.get(peer, 0)
        told[peer] = account.total
        if numbers > 0:
            note(tx, ANSWER, peer=peer, numbers=numbers, total=account.total)


def end_round(tx: Transaction, *, round: int, opened: int, at: str) -> None:
    """The row of a round, with all that was noted since the one before it."""
    _write(tx, "round over", {"round": round, "opened": opened}, at)


def end_site(tx: Transaction, *, at: str) -> None:
    """The row of a site that leaves, with all that was noted since its last round."""
    _write(tx, "closed", {}, at)


def noted_in(tx: Transaction) -> Iterator[tuple[str, dict[str, str | int]]]:
    """What was noted so far, of all rounds and since: for the site's own operator."""
    for row in tx.audit.rows():
        notes = row.facts.get("notes")
        if isinstance(notes, str):
            yield from msgspec.json.decode(notes, type=Notes)
        elif row.kind in (ANSWER, BLAME):  # a row of its own, as sites wrote them at first
            facts = row.facts.items()
            yield row.kind, {name: fact for name, fact in facts if isinstance(fact, str | int)}
    yield from _waiting(tx)[0]


def told_in(tx: Transaction) -> Counter[str]:
    """Numbers that were let out, by peer: what the ledger counted as each answer was decided."""
    told = Counter[str]()
    for event, facts in noted_in(tx):
        if event == ANSWER:
            told[str(facts["peer"])] += int(facts["numbers"])
    return told


def _write(tx: Transaction, event: str, facts: dict[str, str | int], at: str) -> None:
    notes, more = _waiting(tx)
    tx.memory.delete(_WAITING)
    waited: dict[str, str | int] = {
        "notes": msgspec.json.encode(notes).decode(),
        "more": more,
        "salt": secrets.token_hex(_SALT_BYTES),
    }
    tx.audit.append(event, facts | waited, at=at)


def _waiting(tx: Transaction) -> tuple[Notes, int]:
    data = tx.memory.get(_WAITING)
    return ([], 0) if data is None else msgspec.json.decode(data, type=tuple[Notes, int])
