import pytest
from hypothesis import given
from hypothesis import strategies as st

from securefair.sites.post.streams import Turn, check_expected, stream_of, turn_of


def test_the_first_of_a_higher_epoch_renews_a_pair():
    assert turn_of(3, 3, 7) is Turn.PRESENT
    assert turn_of(3, 2, 7) is Turn.PAST
    assert turn_of(3, 4, 0) is Turn.RENEWAL
    assert turn_of(3, 4, 1) is Turn.EARLY


@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 50))
def test_who_remembers_less_was_turned_back(confirmed, more, expected):
    following = confirmed + more
    if confirmed <= expected <= following:
        check_expected(expected, confirmed=confirmed, following=following)
        return
    whose = "this site's store" if expected > following else "its store"
    with pytest.raises(ValueError, match=whose):
        check_expected(expected, confirmed=confirmed, following=following)


def test_streams_of_different_epochs_have_different_names():
    assert stream_of("north", 1) != stream_of("north", 11)
    assert stream_of("north", 1) != stream_of("north1", 1)
