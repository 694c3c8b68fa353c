"""What will stop a site, or stops others from reaching it: a sentence each, before it does."""

from __future__ import annotations

import math
import os
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

from securefair.errors import SecureFairError
from securefair.report.presence import PeerLife
from securefair.sites.couriers.register import courier_of
from securefair.sites.post.peers import read_peer, unconfirmed
from securefair.sites.project.agreeing import rounds_of
from securefair.sites.project.card import utc
from securefair.sites.project.project import Project
from securefair.sites.site.folder import SiteSettings
from securefair.sites.site.notes import BLAME, noted_in
from securefair.sites.site.records import (
    SiteState,
    neighbours_of,
    peers_of,
    rounds_over,
    stored_records,
)
from securefair.sites.site.renewing import taken_in
from securefair.storage import Transaction

STUCK_AFTER = 600.0
"""Seconds without a sign of a process that waits: the site's own, or a relay's courier at its door.
"""

SILENT_AFTER = 6 * 3600.0
WARN_DAYS = 30
LEAST_FREE = 1e9
"""Bytes of the disk."""

DOUBTED_BY_CHANCE = 1.2e-3
"""Of honest answers, the share that a statistical test refuses at most: 1 of 1,000 for a patient
who looks aimed at, and 2 of 10,000 for the whole (`model.plausibility`)."""

BEYOND_CHANCE = 1e-3
"""Of honest peers, the share that a site ever accuses at most, however many answers they give."""

DAY = 86_400.0


def warnings_of(
    folder: Path,
    tx: Transaction,
    project: Project,
    settings: SiteSettings,
    state: SiteState,
    now: float,
    unvisited: float,
    hindrance: str = "",
) -> Iterator[str]:
    """All of a site that is not over: after its own rounds peers may need it still.

    Args:
        folder: of the site.
        tx: of its store.
        project: of the site.
        settings: of the site.
        state: of the site.
        now: seconds since 1970.
        unvisited: seconds in which nobody was at the door of the site's process.
        hindrance: what keeps its courier's parcels; "" for nothing.
    """
    yield from _ends(project, now)
    free = shutil.disk_usage(folder).free
    if free < LEAST_FREE:
        yield f"only {free / 1e6:.0f} MB are free on the disk of {folder}"
    yield from _courier(settings, unvisited, hindrance)
    renewals = taken_in(tx).number
    for number in range(renewals, len(settings.renewals) + 1):
        if not os.access(data := settings.at(number).data, os.R_OK):
            yield f"the file of samples cannot be read: {data}"
    if settings.renewals[renewals:]:
        yield "other patients take effect as the next round begins, or once the last is over"
    yield from _peers(tx, project, settings.name, state, now)
    if rounds_over(stored_records(tx)) < rounds_of(project.terms):
        if state.unanswered:
            yield f"the own model could not answer: {state.unanswered}"
        yield from _sums(tx, state)


def _ends(project: Project, now: float) -> Iterator[str]:
    ends = [("the project", project.terms.valid_until)]
    ends += [(f"the card of {card.name}", card.valid_until) for card in project.cards]
    for what, end in ends:
        if now >= end:
            yield f"{what} has expired ({utc(end)}): nobody can start a site any more"
        elif now >= end - WARN_DAYS * DAY:
            days = round((end - now) / DAY)
            yield f"{what} expires in {days} day{'s' * (days != 1)} ({utc(end)})"


def _courier(settings: SiteSettings, unvisited: float, hindrance: str) -> Iterator[str]:
    try:
        courier = courier_of(settings.courier.kind)
        problem = courier.problem(settings.courier)
    except SecureFairError as error:
        yield str(error)
        return
    if problem or hindrance:
        yield problem or hindrance
    if courier.visits and unvisited > STUCK_AFTER:
        yield (
            f"no courier has been at this site's door for {unvisited / 60:.0f} minutes: look at "
            "the relay"
        )


def _peers(
    tx: Transaction, project: Project, name: str, state: SiteState, now: float
) -> Iterator[str]:
    """What is wrong with one peer; where nothing comes and nothing is taken, that is no peer's."""
    heard, waiting, never = state.began, 0, list[str]()
    refused = refused_messages(tx)
    peers = [peer for peer in peers_of(tx, project, name) if peer not in state.peers.left]
    peers = [peer for peer in peers if not read_peer(tx, peer).blocked]
    for peer in peers:
        known = read_peer(tx, peer)
        trouble = known.trouble or refused[peer]
        if trouble:
            yield f"{peer}: {trouble}"
        heard = max(heard, known.heard)
        waiting += unconfirmed(tx, peer) > 0
        never += [peer] * (not known.heard)
    if peers and waiting == len(peers) and 0 < heard < now - SILENT_AFTER:
        yield (
            f"no peer has been heard or has confirmed anything since {utc(heard)}: "
            "look at the courier, or the relay"
        )
    elif never and 0 < state.began < now - SILENT_AFTER:
        yield f"{PeerLife.UNHEARD} since {utc(state.began)}: {', '.join(never)}"


def _sums(tx: Transaction, state: SiteState) -> Iterator[str]:
    """That no model will be averaged any more, since too few are left."""
    neighbours, fewest = neighbours_of(tx)
    left = [name for name in neighbours if name not in state.peers.shut]
    if len(left) < fewest:
        yield (
            f"no model is averaged here any more: a sum needs {fewest} neighbours, and "
            f"{len(left)} {'is' if len(left) == 1 else 'are'} left; the rounds go on with own "
            "patients alone"
        )


def refused_messages(tx: Transaction) -> Mapping[str, str]:
    """What is wrong with what peers said in honest envelopes, a sentence each; "" for nothing.

    What a statistical test refuses may be honest: it is told only where it is beyond chance.
    """
    found, records = defaultdict[str, str](str), stored_records(tx)
    doubted = Counter(peer for one in records for peer in one.doubted)
    tested = Counter(peer for one in records for peer in {*one.opened, *one.doubted})
    for peer, count in doubted.items():
        answers = tested[peer]
        if beyond_chance(count, answers):
            found[peer] = (
                f"{count} of its {answers} answers failed a statistical test, more than chance "
                "explains: ask its operator, and block it if that goes on"
            )
    blamed = Counter(str(facts["peer"]) for event, facts in noted_in(tx) if event == BLAME)
    for peer, count in blamed.items():
        found[peer] = (
            f"{count} of its messages {'was' if count == 1 else 'were'} refused, which no honest "
            "site says: ask its operator, and block it if that goes on"
        )
    return found


def beyond_chance(refused: int, answers: int) -> bool:
    """Whether so many refusals, or more, are too many for chance.

    It is asked after every answer, and after more answers it needs more. So a peer is first accused
    at a refusal if ever, and the k-th has a share 1 / (k (k - 1)) of BEYOND_CHANCE: from the second
    on these make one together. Refusals by chance are counted as Poisson's, of DOUBTED_BY_CHANCE of
    all answers: one alone is never beyond it, two are among 26 answers or fewer, three among 85.
    """
    if refused < 2:
        return False
    expected = answers * DOUBTED_BY_CHANCE
    likely, fewer = math.exp(-expected), 0.0
    for count in range(refused):
        fewer += likely
        likely *= expected / (count + 1)
    return 1 - fewer < BEYOND_CHANCE / (refused * (refused - 1))
