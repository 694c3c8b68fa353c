"""What a site's page says of what passed is true of its kind, its agreement and its role."""

import re
import types
from dataclasses import replace

import msgspec
import pytest

from securefair.report.presence import PeerLife
from securefair.report.site import site_markdown, site_page
from securefair.sites.site.export import (
    _ledger,
    _peer,
    _round,
    _seen,
    _shared,
    _sums,
    facts_of,
)
from securefair.sites.site.records import note_peers
from securefair.sites.site.status import site_status
from support.site_reports import card
from support.site_statuses import peer_status
from support.site_statuses import site_status as made_up_status

TAUGHT = ("Peers that taught it", "of its model", "Numbers of its model that it let out")


def facts_in(town, name):
    """A site's facts after its last round."""
    town.live()
    peers = tuple(peer for peer in town.names if peer != name)
    facts, store = town.collaboration.facts, town.stores[name]
    about = types.SimpleNamespace(
        name="town",
        algorithm=town.kind.name,
        features=facts.shape[0],
        classes=facts.classes,
        renewals=0,
    )
    project = types.SimpleNamespace(
        terms=types.SimpleNamespace(config=town.config, project=about),
        names=town.names,
        card=lambda peer: types.SimpleNamespace(name=peer),
    )
    with store.transaction() as tx:
        note_peers(tx, peers)
        status = site_status(tx, project, name)
    return facts_of(
        project,
        town.collaboration,
        town.records(name),
        status,
        card(peers),
        role=town.roles.get(name, "both"),
        ledger=_ledger(store, town.collaboration, name),
    )


def told(facts):
    """The page's text, and the Markdown's."""
    page = re.sub(r"<(style|script).*?</\1>", " ", site_page(facts), flags=re.DOTALL)
    page = re.sub(r"<[^>]+>", " ", page).replace("&#39;", "'")
    return re.sub(r"\s+", " ", page), site_markdown(facts)


def test_counts_of_patients_are_no_numbers_of_a_model(make_town):
    page, markdown = told(facts_in(make_town(3, algorithm="table-one"), "north"))
    assert "Numbers that it added to sums 1,020 of 1,000,000 allowed" in page
    assert "Peers whose counts it got in sums 2 of 2" in page
    assert "Numbers that it got 510 in 2 sums" in page
    for text in (page, markdown):
        assert "counts of its patients, known to each peer only in a sum with the others'" in text
        assert "This site opened 2 sums of 255 numbers over 2 peers." in text
        assert "This site learned from nobody" in text
        assert "the best model alone" not in text
        assert not [words for words in TAUGHT if words in text]
    assert "with Table 1" not in page


def test_who_looks_at_models_learns_nothing(make_town):
    page, markdown = told(facts_in(make_town(3, algorithm="validation"), "north"))
    assert "Peers whose models it looked at 2 of 2" in page
    assert "Peers that taught it" not in page
    assert "Numbers of its model that it let out" in page  # its model answers
    for text in (page, markdown):
        assert "This site learned from nobody" in text
        assert "the best model alone" not in text


def test_cosines_are_no_numbers_of_a_model_and_sums_with_it_are_counted(make_town):
    facts = facts_in(make_town(3, algorithm="cycle-gossip", rounds=2), "north")
    page, markdown = told(facts)
    assert "Cosines told 2 of 1,000,000 allowed" in page
    assert "Numbers of its model that it let out" not in page
    for text in (page, markdown):
        assert "Its model of 25 parameters was a part of 4 sums for 2 receivers." in text
    assert "cosines to it" in markdown
    assert facts.sums == ()  # what it got is cosines


def test_rounds_in_which_gradients_alone_were_compared_have_no_model(make_town):
    town = make_town(3, algorithm="cycle-gossip", rounds=2)
    facts = facts_in(town, "north")
    record = town.records("north")[0]
    south = peer_status(name="south", presence=PeerLife.HERE)
    compared = msgspec.structs.replace(
        record, asked=("south",), opened=("south",), offered=(), lost=(), combined=(), away=()
    )
    averaged = msgspec.structs.replace(compared, offered=("south",), combined=("south",))
    alone = msgspec.structs.replace(compared, offered=("south",))  # too few for a sum
    in_vain = msgspec.structs.replace(compared, opened=())
    for records, answered, missed in (
        ([compared], 0, 0),
        ([averaged], 1, 0),
        ([alone], 0, 1),
        ([in_vain], 0, 1),
        ([compared, averaged, alone, in_vain], 1, 2),
    ):
        peer = _peer(south, records, "both", averages=True)
        assert (peer.answered, peer.missed) == (answered, missed)
        assert peer.received == sum(one.received.get("south", 0) for one in records if one.opened)
    assert _round(compared, ["south"], "both", averages=True).answers == ()
    assert _round(averaged, ["south"], "both", averages=True).answers == ("south",)
    seen = _seen(compared, ["south"], averages=True)
    assert (seen.asked, seen.answered) == ([[False]], [[False]])
    page, markdown = told(
        replace(facts, rounds=(_round(compared, ["south"], "both", averages=True),))
    )
    assert "rounds with its model" in markdown
    assert "models from" in markdown
    assert "No model came from any peer" in page


def test_sums_of_a_recovered_site_are_said_to_count_from_then_on(make_town):
    town = make_town(3, algorithm="cycle-gossip", rounds=2)
    town.live()
    ledger = _ledger(town.stores["north"], town.collaboration, "north")
    known = made_up_status(peer_status(numbers=3), recovered=True)
    since = "Its sums are counted since the recovery."
    assert _shared(ledger, known).endswith(f"a part of 4 sums for 2 receivers. {since}")
    assert since not in _shared(ledger, made_up_status(recovered=False))


def test_a_sum_is_one_however_many_peers_are_in_it(make_town):
    page, markdown = told(facts_in(make_town(3, algorithm="transfer"), "north"))
    assert "Numbers that it got 14 in 1 sum" in page
    assert "Numbers that it added to sums 28" in page
    for text in (page, markdown):
        assert "This site opened 1 sum of 14 numbers over 2 peers." in text
        assert "Every number from a peer tells something of its model" not in text


def test_of_a_site_that_only_teaches_nobody_is_missed(make_town):
    town = make_town(3, algorithm="transfer", roles={"north": "teacher"})
    facts = facts_in(town, "north")
    page, markdown = told(facts)
    assert "Peers that taught it" not in page
    assert "Nothing came from any peer" not in page
    assert {one.note for one in facts.rounds} == {""}
    for text in (page, markdown):
        assert "This site only teaches" in text
        assert "This site learned from nobody" in text
    away = msgspec.structs.replace(town.records("north")[0], away=("south",))
    assert _peer(peer_status(presence=PeerLife.HERE), [away], "teacher").missed == 0


@pytest.mark.parametrize("answered", [True, False])
def test_what_a_later_round_repeats_is_counted_once(make_town, answered):
    """A host of a transfer says again, in a round without a question, what it has of its peers."""
    town = make_town(3, algorithm="transfer")
    town.live()
    (record,) = town.records("north")
    later = msgspec.structs.replace(record, round=1, combined=record.combined * answered)
    peer = _peer(peer_status(presence=PeerLife.HERE), [record, later], "both")
    assert peer.received == 14 * (1 + answered)
    assert _sums([record, later]) == ((14, 2),) * (1 + answered)
