from securefair.sites.site.pace import Pace

PEERS = ("a", "b", "c")


def said(**ready):
    pace = Pace()
    for peer, number in ready.items():
        pace = pace.says(peer, number).hears(peer)
    return pace


def test_a_round_begins_when_all_have_ended_the_one_before():
    pace = said(a=3, b=3)
    assert pace.waits_for(3, PEERS) == ("c",)
    assert pace.says("c", 3).waits_for(3, PEERS) == ()


def test_who_waits_may_have_ended_the_next_round_and_is_not_overtaken():
    assert said(a=4, b=4, c=4).next_round(2, PEERS, 2000) == 3


def test_who_was_away_goes_on_where_most_are():
    assert said(a=9, b=9, c=4).next_round(2, PEERS, 2000) == 9
    assert said(a=9, b=4, c=4).next_round(2, PEERS, 2000) == 3


def test_one_peer_alone_makes_nobody_skip():
    assert said(a=1000, b=3, c=3).next_round(2, PEERS, 2000) == 3
    assert said(a=1000).next_round(2, PEERS, 2000) == 3
    assert said(a=9, b=9, c=4).next_round(2, PEERS, 6) == 5  # the last one, which others answer in


def test_one_peer_that_is_here_alone_makes_nobody_skip():
    """It said that it was far ahead while the others were down, and the site lost all rounds."""
    pace = said(a=1000, b=3, c=3).begins(3, ("b", "c"))
    assert pace.next_round(3, PEERS, 2000) == 4
    assert said(a=1000, b=3).begins(3, ("b",)).next_round(3, ("a", "b"), 2000) == 4
    assert pace.leaves("b").leaves("c").next_round(3, PEERS, 2000) == 1000  # nobody else is left


def test_what_was_said_is_not_taken_back():
    assert said(a=5).says("a", 2).ready == {"a": 5}


def test_only_the_silent_are_gone_and_they_come_back():
    pace = said(a=3, b=2, c=2)
    pace = pace.begins(2, ()).hears("b")
    assert pace.waits_for(3, PEERS) == ("b", "c")
    assert pace.silent(3, PEERS) == ("c",)
    pace = pace.begins(3, ("c",))
    assert pace.away == ("c",)
    assert pace.waits_for(4, PEERS) == ("a", "b")
    assert pace.hears("c").away == ()


def test_too_few_are_counted_of_those_who_may_come_back():
    pace = said(a=1, b=1, c=1)
    assert not pace.too_few(("a",), 2, 9, PEERS)
    assert pace.too_few(("a", "b"), 2, 9, PEERS)
    assert not pace.too_few(("a", "b"), 1, 9, PEERS)
    assert not pace.leaves("a").leaves("b").too_few(("a", "b"), 2, 9, PEERS)
    assert not pace.says("a", 9).says("b", 9).too_few(("a", "b"), 2, 9, PEERS)
    assert not pace.too_few(PEERS, 0, 9, PEERS)


def test_nobody_left_is_nobody_to_wait_for():
    pace = said().begins(1, PEERS)
    assert pace.waits_for(2, PEERS) == ()
    assert pace.next_round(1, PEERS, 2000) == 2


def test_who_left_is_not_taken_back_with_a_block():
    pace = said(a=3, b=3, c=3).leaves("c")
    for blocked in (pace.shuts("c"), pace.shuts("c").blocks(("c",))):  # and started since
        for again in (blocked, blocked.shuts("c")):
            back = again.takes_back("c", blocked=True).blocks(())
            assert (back.shut, back.away) == (("c",), ("c",))
            assert back.hears("c") is back
    assert pace.takes_back("c", blocked=False).blocks(()).shut == ("c",)  # nobody blocked it


def test_who_was_blocked_is_taken_back():
    for pace in (said(a=3, b=3, c=3), said()):
        shut = pace.shuts("c")
        for blocked in (shut, shut.blocks(("c",))):
            back = blocked.takes_back("c", blocked=True).blocks(())
            assert (back.shut, back.away) == ((), ())


def test_a_site_that_begins_anew_waits_for_nobody_who_is_gone():
    before = said(a=3, b=3, c=3).leaves("c").shuts("b")
    anew = before.recovered()
    assert anew.shut == ("c", "b")
    assert anew.waits_for(1, PEERS) == ("a",)
    assert (anew.ready, anew.announced) == ({}, 0)


def test_a_block_that_leaves_nobody_begins_no_round():
    pace = said(a=1).begins(1, ())
    alone = pace.shuts("a").blocks(("a",))
    assert alone.too_few((), 1, 9, ("a",))
    assert not alone.too_few((), 0, 9, ("a",))  # of a project in which every deadline counts
    assert not alone.blocks(()).too_few((), 1, 9, ("a",))
    assert not alone.ends(8, False).too_few((), 1, 9, ("a",))  # there is none to begin
    assert not pace.leaves("a").too_few((), 1, 9, ("a",))  # nobody comes back, whatever is done
    assert not said(b=1).shuts("a").too_few((), 1, 9, ("a", "b"))


def test_who_costs_deadline_after_deadline_is_left_out_of_more_and_more_rounds():
    """And costs as many as the logarithm of the rounds."""
    pace, rounds, asked = Pace(), 1000, []
    for number in range(rounds):
        rest = pace.rests(number, PEERS)
        pace = pace.begins(number, (), rest).hears("c")  # it says that it is here
        if "c" not in rest:
            asked.append(number)
            pace = pace.hears("c")
            assert "c" not in pace.away
            pace = pace.kept_waiting(("c",)).kept_waiting(("c",))  # twice in a round is once
        pace = pace.ends(number, False)
    assert asked[:4] == [0, 1, 2, 4]
    assert len(asked) < 3 + 11
    after = pace.begins(1024, (), pace.rests(1024, PEERS)).hears("c")
    assert "c" not in after.away
    delivered = after.ends(1024, False)  # no deadline passed for it
    assert delivered.late == {}
    assert delivered.rests(1025, PEERS) == ()


def test_who_rests_is_taken_up_where_it_is_needed():
    pace = Pace(late={"c": 3}).begins(1, (), ("c",))
    assert pace.hears("c").away == ("c",)
    assert pace.hears("c").rested(()) == ("c",)
    assert pace.hears("c").wakes().away == ()
    assert pace.wakes().away == ("c",)  # it said nothing
    assert pace.wakes().hears("c").away == ()
    assert pace.hears("c").begins(2, ()).away == ()
    assert pace.begins(2, ()).away == ("c",)
