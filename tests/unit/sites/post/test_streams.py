from securefair.sites.post.streams import StreamTurn, stream_of, turn_of


def test_the_first_of_a_higher_epoch_renews_a_pair():
    assert turn_of(3, 3, 7) is StreamTurn.PRESENT
    assert turn_of(3, 2, 7) is StreamTurn.PAST
    assert turn_of(3, 4, 0) is StreamTurn.RENEWAL
    assert turn_of(3, 4, 1) is StreamTurn.EARLY


def test_streams_of_different_epochs_have_different_names():
    assert stream_of("north", 1) != stream_of("north", 11)
    assert stream_of("north", 1) != stream_of("north1", 1)
