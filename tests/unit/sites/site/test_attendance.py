import pytest

from securefair.protocol.effects import Presence
from securefair.protocol.ledger import Ledger
from securefair.protocol.states import RoundState
from securefair.protocol.turn import Memory, Peer
from securefair.report.presence import PeerLife
from securefair.sites.site.attendance import Attendance
from support.stage import SETTINGS

PEERS = ("a", "b", "c")


def said(among=PEERS, **ready):
    peers = Attendance().among(among)
    for peer, number in ready.items():
        peers = peers.says(peer, number).hears(peer)
    return peers


def test_a_round_begins_when_all_have_ended_the_one_before():
    peers = said(a=3, b=3)
    assert peers.waits_for(3) == ("c",)
    assert peers.says("c", 3).waits_for(3) == ()


def test_who_waits_may_have_ended_the_next_round_and_is_not_overtaken():
    assert said(a=4, b=4, c=4).next_round(2, 2000) == 3


def test_who_was_away_goes_on_where_most_are():
    assert said(a=9, b=9, c=4).next_round(2, 2000) == 9
    assert said(a=9, b=4, c=4).next_round(2, 2000) == 3


def test_one_peer_alone_makes_nobody_skip():
    assert said(a=1000, b=3, c=3).next_round(2, 2000) == 3
    assert said(a=1000).next_round(2, 2000) == 3
    assert said(a=9, b=9, c=4).next_round(2, 6) == 5  # the last one, which others answer in


def test_one_peer_that_is_here_alone_makes_nobody_skip():
    """It said that it was far ahead while the others were down, and the site lost all rounds."""
    peers = said(a=1000, b=3, c=3).begins(3, ("b", "c"))
    assert peers.next_round(3, 2000) == 4
    assert said("ab", a=1000, b=3).begins(3, ("b",)).next_round(3, 2000) == 4
    assert peers.leaves("b").leaves("c").next_round(3, 2000) == 1000  # nobody else is left


def test_what_was_said_is_not_taken_back():
    assert said(a=5).says("a", 2).ready == {"a": 5, "b": 0, "c": 0}


def test_who_is_gone_is_not_waited_for_and_comes_back():
    peers = said(a=3, b=2, c=2)
    peers = peers.begins(2, ()).hears("b")
    assert peers.waits_for(3) == ("b", "c")
    assert peers.heard == ("b",)
    peers = peers.begins(3, ("c",))
    assert peers.away == ("c",)
    assert peers.waits_for(4) == ("a", "b")
    assert peers.hears("c").away == ()


def test_too_few_are_counted_of_those_who_may_come_back():
    peers = said(a=1, b=1, c=1)
    assert not peers.too_few(("a",), 2, 9)
    assert peers.too_few(("a", "b"), 2, 9)
    assert not peers.too_few(("a", "b"), 1, 9)
    assert not peers.leaves("a").leaves("b").too_few(("a", "b"), 2, 9)
    assert not peers.says("a", 9).says("b", 9).too_few(("a", "b"), 2, 9)
    assert not peers.too_few(PEERS, 0, 9)


def test_nobody_left_is_nobody_to_wait_for():
    peers = said().begins(1, PEERS)
    assert peers.waits_for(2) == ()
    assert peers.next_round(1, 2000) == 2


def test_who_left_is_not_taken_back_with_a_block():
    peers = said(a=3, b=3, c=3).leaves("c")
    for blocked in (peers.shuts("c"), peers.shuts("c").blocks(("c",))):  # and started since
        for again in (blocked, blocked.shuts("c")):
            back = again.takes_back("c", blocked=True).blocks(())
            assert (back.shut, back.away) == (("c",), ("c",))
            assert back.hears("c") is back
    assert peers.takes_back("c", blocked=False).blocks(()).shut == ("c",)  # nobody blocked it


def test_who_was_blocked_is_taken_back():
    for peers in (said(a=3, b=3, c=3), said()):
        shut = peers.shuts("c")
        for blocked in (shut, shut.blocks(("c",))):
            back = blocked.takes_back("c", blocked=True).blocks(())
            assert (back.shut, back.away) == ((), ())


def test_a_site_that_begins_anew_waits_for_nobody_who_is_gone():
    before = said(a=3, b=3, c=3).leaves("c").shuts("b")
    anew = before.recovered()
    assert anew.shut == ("c", "b")
    assert anew.among(PEERS).waits_for(1) == ("a",)
    assert (anew.ready, anew.announced) == ({}, 0)


def test_a_block_that_leaves_nobody_begins_no_round():
    peers = said("a", a=1).begins(1, ())
    alone = peers.shuts("a").blocks(("a",))
    assert alone.too_few((), 1, 9)
    assert not alone.too_few((), 0, 9)  # of a project in which every deadline counts
    assert not alone.blocks(()).too_few((), 1, 9)
    assert not alone.ends(8, False).too_few((), 1, 9)  # there is none to begin
    assert not peers.leaves("a").too_few((), 1, 9)  # nobody comes back, whatever is done
    assert not said("ab", b=1).shuts("a").too_few((), 1, 9)


def test_who_costs_deadline_after_deadline_is_left_out_of_more_and_more_rounds():
    """And costs as many as the logarithm of the rounds."""
    peers, rounds, asked = Attendance().among(PEERS), 1000, []
    for number in range(rounds):
        rest = peers.rests(number, (), 0, rounds)
        peers = peers.begins(number, (), rest).hears("c")  # it says that it is here
        if "c" not in rest:
            asked.append(number)
            peers = peers.hears("c")
            assert "c" not in peers.away
            peers = peers.kept_waiting(("c",)).kept_waiting(("c",))  # twice in a round is once
        peers = peers.ends(number, False)
    assert asked[:4] == [0, 1, 2, 4]
    assert len(asked) < 3 + 11
    after = peers.begins(1024, (), peers.rests(1024, (), 0, rounds)).hears("c")
    assert "c" not in after.away
    delivered = after.ends(1024, False)  # no deadline passed for it
    assert delivered.late == {}
    assert delivered.rests(1025, (), 0, rounds) == ()


def test_who_rests_is_taken_up_where_it_is_needed():
    peers = Attendance(late={"c": 3}).among(PEERS)
    assert peers.rests(1, (), 2, 9) == ("c",)
    assert peers.rests(1, (), 3, 9) == peers.rests(1, ("a",), 2, 9) == ()  # too few without it
    peers = peers.begins(1, (), ("c",))
    assert peers.hears("c").away == ("c",)
    assert peers.hears("c").wakes().away == ()
    assert peers.wakes().away == ("c",)  # it said nothing
    assert peers.wakes().hears("c").away == ()
    assert peers.hears("c").begins(2, ()).away == ()
    assert peers.begins(2, ()).away == ("c",)


def memory(*away, state=RoundState.IDLE):
    peers = {peer: Peer(away=peer in away) for peer in PEERS}
    return Memory(ledger=Ledger(SETTINGS.disclosure), peers=peers, state=state)


def test_a_machine_is_told_once_who_came_and_who_went():
    peers = said(a=1, b=1, c=1).begins(1, ("b",))
    assert peers.news(memory("c"), 0, 9) == (Presence("c", here=True), Presence("b", here=False))
    assert peers.news(memory("b"), 0, 9) == ()
    assert peers.leaves("stranger").news(memory("b"), 0, 9) == ()


@pytest.mark.parametrize("goes", [lambda one: one.leaves("a"), lambda one: one.blocks(("a",))])
def test_in_a_round_that_too_few_would_be_left_in_nobody_goes(goes):
    within, peers = memory("b", "c", state=RoundState.EXCHANGING), said(a=1, b=1, c=1)
    peers = goes(peers.begins(1, ("b", "c")))
    assert peers.news(within, 1, 9) == ()
    assert peers.news(within, 0, 9) == (Presence("a", here=False),)
    assert peers.news(memory("b", "c"), 1, 9) == (Presence("a", here=False),)  # and asked no more
    came = peers.hears("b").news(within, 1, 9)
    assert came == (Presence("b", here=True), Presence("a", here=False))


def test_how_a_peer_is():
    peers = said(a=1, b=1, c=1).begins(1, ("a",)).leaves("b")
    heard = [peers.life(peer, heard=True) for peer in PEERS]
    assert heard == [PeerLife.AWAY, PeerLife.LEFT, PeerLife.HERE]
    assert peers.life("c", heard=False) is PeerLife.UNHEARD
    assert peers.life("b", heard=True, blocked=True) is PeerLife.BLOCKED
