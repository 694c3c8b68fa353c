from dataclasses import replace

import pytest

from securefair.collaboration.kinds import kind_of
from securefair.config import DisclosureSection
from securefair.errors import ConfigError
from securefair.model.teachers import teacher_of


def test_one_logit_stands_for_two_classes(make_hospitals, agree):
    two, three = (agree(make_hospitals(classes=classes)) for classes in (2, 3))
    assert (two.outputs, two.parameters, two.spec_for(14).classes) == (1, 5, 1)
    assert (three.outputs, three.parameters, three.spec_for(14).classes) == (3, 15, 3)


def test_nobody_gets_more_numbers_than_tell_something(make_hospitals, agree):
    agreed = agree(make_hospitals(features=4), q=32)
    assert agreed.numbers_of(17) == 5  # four slopes and an intercept determine a logit
    assert agree(make_hospitals(), q=32, fit="quadratic").numbers_of(17) == 15
    assert agree(make_hospitals(), q=32, fit="quadratic").numbers_of(9) == 8  # fewer than samples
    assert agreed.spec_for(14).samples == 14
    assert agree(make_hospitals(), q=32, fit="quadratic").numbers_of(14) == 13
    assert agreed.spec_for(1).q == 1


def test_sums_are_opened_from_three_teachers_on(make_hospitals, agree):
    assert agree(make_hospitals("abc")).opens == "each"
    four = agree(make_hospitals("abcd"))
    assert four.opens == "mean"
    assert four.spec_for(14).bounds.logit == 3 * 32
    assert agree(make_hospitals("abcd"), opened="each").opens == "each"


def test_whoever_is_asked_asks_back(make_hospitals, agree):
    agreed = agree(make_hospitals("abcdefghijk"), peers=4)
    for name in agreed.participants:
        asked = agreed.teachers_of(name)
        assert len(asked) in (4, 5)  # groups of five and six
        assert all(name in agreed.teachers_of(peer) for peer in asked)


def test_machines_get_what_was_agreed(make_hospitals, agree):
    agreed = replace(agree(make_hospitals()), disclosure=DisclosureSection(student_total=7))
    settings = agreed.machine_settings("b")
    assert settings.sums.neighbours == ("a", "c", "d")
    assert (settings.sums.min_senders, settings.sums.missing) == (2, 1)
    assert settings.sums.senders["c"] == ("a", "b", "d")
    assert settings.disclosure.student_total == 7
    assert settings.needs_keys
    two = agree(make_hospitals("ab")).machine_settings("b")
    assert (two.sums, two.needs_keys, two.asked, two.answered) == (None, False, ("a",), ("a",))


@pytest.mark.parametrize(
    ("names", "missing", "expected"),
    [("abc", 1, (0, 2)), ("abcd", 1, (1, 2)), ("abcd", 0, (0, 3)), ("abcd", 9, (1, 2)),
     ("abcdefghi", 1, (1, 7)), ("abcdefghi", 3, (3, 5))],
)  # fmt: skip
def test_a_mean_is_over_all_but_so_many(make_hospitals, agree, names, missing, expected):
    agreed = agree(make_hospitals(names), opened="mean", missing=missing)
    assert (agreed.missing_of("a"), agreed.enough_together) == expected
    assert f"{expected[1]} hospitals together know the fit" in agreed.summary


def test_a_single_answer_hides_in_no_sum(make_hospitals, agree):
    agreed = agree(make_hospitals("abc"))
    assert (agreed.missing_of("a"), agreed.enough_together) == (None, 1)


def test_every_constant_is_in_the_digest(make_hospitals, agree):
    hospitals = make_hospitals()
    digests = {
        agree(hospitals, **change).digest
        for change in ({}, {"q": 3}, {"opened": "each"}, {"peers": 2}, {"seed": 8}, {"missing": 0},
                       {"fit": "quadratic"}, {"precision": 2**-18}, {"samples": 50})
    }  # fmt: skip
    assert len(digests) == 9


@pytest.mark.parametrize(
    ("wrong", "where"),
    [({"participants": ("a", "a")}, "participants"), ({"participants": ("a",)}, "participants")],
)  # fmt: skip
def test_refuses(make_hospitals, agree, wrong, where):
    with pytest.raises(ConfigError) as caught:
        agree(make_hospitals(), **wrong)
    assert caught.value.where == where


def test_more_patients_than_agreed(make_hospitals, agree):
    with pytest.raises(ConfigError, match="more samples than agreed"):
        agree(make_hospitals()).spec_for(1000)


def test_who_brings_a_model_where_fits_are_added_up_reads_one_line_with_both_ways_out(
    make_hospitals, agree
):
    """Sites sign before anybody knows who brings one; where all data are here "auto" knows."""
    hospitals = make_hospitals("abcd")
    bringing = replace(hospitals[0], teacher=teacher_of("forest", where="here"))
    agreed = agree(hospitals, sums="auto")
    assert not agreed.question.encrypts
    with pytest.raises(ConfigError) as caught:
        agreed.check_teacher(bringing, private=False)
    told = str(caught.value)
    assert "\n" not in told
    assert "fits are linear, and every hospital has 2 others or more" in told
    assert 'transfer.fit = "trees", or transfer.sums = "none"' in told
    for settings in ({"fit": "trees", "sums": "auto"}, {"sums": "none"}):
        agree(hospitals, **settings).check_teacher(bringing, private=False)
    knowing = replace(agreed, facts=replace(agreed.facts, brought=True))
    assert knowing.question.encrypts


@pytest.mark.parametrize(
    ("outcome", "sums", "said"), [("time", "auto", 1), ("time", "none", 0), ("number", "auto", 0)]
)
def test_few_events_are_told_before_anything_is_signed(make_hospitals, agree, outcome, sums, said):
    agreed = agree(make_hospitals(), sums=sums)
    agreed = replace(agreed, facts=replace(agreed.facts, outcome=outcome))
    cautions = [one for one in kind_of("transfer").cautions(agreed) if "fewer than 6 events" in one]
    assert len(cautions) == said


@pytest.mark.parametrize("sums", ["none", "auto"])
def test_who_signs_reads_that_nothing_is_encrypted(make_hospitals, agree, sums):
    """Sums hold no patients, and their masks come from no backend."""
    asks = sums == "none"
    open_, hidden = (agree(make_hospitals(), sums=sums, backend=one) for one in ("clear", "rns"))
    said = "NOTHING IS ENCRYPTED (encryption.backend = clear), "
    assert open_.summary.startswith(said) == asks
    assert hidden.summary.startswith("ring degree 4096, ") == asks
    told = "every peer that is asked can read the features of these patients. For tests only"
    for agreed, tells in ((open_, asks), (hidden, False)):
        assert any(told in one for one in kind_of("transfer").cautions(agreed)) == tells
