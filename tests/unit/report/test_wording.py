"""Numbers and nouns as people read them."""

import pytest

from securefair.report import wording


@pytest.mark.parametrize(
    ("fraction", "text"), [(0.7324, "73.2\u00a0%"), (1.0, "100.0\u00a0%"), (0.0, "0.0\u00a0%")]
)
def test_percent(fraction, text):
    assert wording.percent(fraction) == text


@pytest.mark.parametrize(
    ("difference", "text"),
    [(0.022, "+2.2"), (-0.022, "\u22122.2"), (0.0, "\u00b10.0"), (-0.0004, "\u00b10.0")],
)
def test_points_always_show_their_direction(difference, text):
    assert wording.points(difference) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1 kB"),
        (1_310_000, "1.31 MB"),
        (57_200_000, "57.2 MB"),
        (2.5e12, "2.5 TB"),
        (999_600, "1 MB"),
    ],
)
def test_data_size(size, text):
    assert wording.data_size(size) == text.replace(" ", "\u00a0")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0123, "12.3 ms"),
        (0.9999, "1 s"),
        (59.97, "1_min 0_s"),
        (75, "1_min 15_s"),
        (3725, "1_h 2_min"),
    ],
)
def test_duration(seconds, text):
    spaced = text.replace("_", "\u00a0") if "_" in text else text.replace(" ", "\u00a0")
    assert wording.duration(seconds) == spaced


@pytest.mark.parametrize(
    ("names", "text"),
    [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (list("abc"), "a, b and c")],
)
def test_listing(names, text):
    assert wording.listing(names) == text


def test_counts_and_nouns():
    assert wording.count(5120) == "5,120"
    assert wording.plural(1, "round") == "1 round"
    assert wording.plural(2000, "round") == "2,000 rounds"
    assert wording.whom("heart") == "hospitals"
    assert wording.whom("digits") == "participants"


def test_messages_are_called_what_they_are_in_each_kind():
    assert wording.message_name("ask", "cycle-gossip") == "Questions"
    assert wording.message_name("ask", "transfer") == "Questions, with keys and encrypted samples"
    assert wording.message_name("ask", "transfer", summed=True) == "Questions"
    assert wording.message_name("answer", "transfer", summed=True) == "Parts of sums"
    assert wording.message_name("key", "transfer", summed=True) == "Keys of closed parts"
    assert wording.message_name("ask", "cycle", summed=True) == "Questions"
    unencrypted = "Questions, with keys and unencrypted samples"
    assert wording.message_name("ask", "transfer", unencrypted=True) == unencrypted
    assert wording.message_name("features", "cycle", unencrypted=True) == "Unencrypted samples"
    assert wording.message_name("answer", "cycle", unencrypted=True) == "Answers"
    assert wording.message_name("hello", "transfer") == wording.message_name("hello", "cycle")


def test_unknown_names_stay_as_they_are():
    assert wording.algorithm_name("cycle") == "CYCle"
    assert wording.algorithm_name("gossip") == "gossip"
    assert wording.message_name("gossip", "gossip") == "gossip"
    assert wording.algorithm_rule("gossip") == ""
