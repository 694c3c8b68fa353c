"""Masks that cancel: any number of senders, any order, either size of words."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from securefair.averaging import SumSpec
from securefair.averaging.masked import MaskedSums
from securefair.errors import RemoteProtocolError
from securefair.worth.own_row import limit_shares
from support.examples import examples

names = st.lists(st.text(min_size=1, max_size=8), min_size=2, max_size=7, unique=True).filter(
    lambda chosen: "r" not in chosen
)


@settings(max_examples=examples(20))
@given(names, st.integers(1, 70), st.sampled_from([2.0**-10, 2.0**-45]), st.integers(0, 99))
def test_masks_cancel_in_the_sum_of_all(
    gathering_of, masked_messages, senders, length, precision, seed
):
    rng = np.random.default_rng(seed)
    gathering = gathering_of(sorted(senders), round=seed)
    vectors = {name: rng.uniform(-1, 1, length) for name in senders}
    weights = dict(zip(senders, rng.dirichlet(np.ones(len(senders))).tolist(), strict=True))
    sums, plan, keys, messages = masked_messages(
        gathering, vectors, weights, bound=1.0, precision=precision
    )
    assert plan.fixed.word_bits == (32 if precision > 2.0**-20 else 64)
    total = sums.total(plan, keys, gathering, messages)
    expected = sum(weights[name] * vectors[name] for name in senders)
    assert np.abs(total - expected).max() <= plan.error_bound


@pytest.mark.parametrize(
    ("precision", "bits"), [(2.0**-10, 32), (2.0**-26, 32), (2.0**-32, 64), (2.0**-48, 64)]
)
def test_words_are_as_short_as_the_precision_allows(precision, bits):
    plan = MaskedSums().plan(SumSpec(parameters=10, senders=9, bound=1.0, precision=precision))
    assert plan.fixed.word_bits == bits
    assert plan.share_bytes == 10 * bits // 8


def test_the_same_inputs_give_the_same_bytes(gathering_of, masked_messages):
    vectors = {name: np.ones(50) for name in "abc"}
    weights = dict.fromkeys("abc", 0.25)
    one = masked_messages(gathering_of(), vectors, weights)[3]
    other = masked_messages(gathering_of(), vectors, weights)[3]
    assert one == other


def test_a_message_of_another_round_spoils_the_sum_and_is_noticed(gathering_of, masked_messages):
    vectors = {name: np.ones(200) for name in "abc"}
    weights = dict.fromkeys("abc", 0.25)
    sums, plan, keys, messages = masked_messages(gathering_of(), vectors, weights)
    stale = masked_messages(gathering_of(round=1), vectors, weights)[3]
    with pytest.raises(RemoteProtocolError, match="exceeds what honest shares") as error:
        sums.total(plan, keys, gathering_of(), {**messages, "b": stale["b"]})
    assert error.value.culprit == "a or b or c"


LIMITED = {"bound": 1.0, "max_share": 0.6}


class TestMaxShare:
    def test_every_sender_sees_all_weights(self, gathering_of, masked_messages):
        vectors = {name: np.ones(20) for name in "abc"}
        weights = {"a": 0.2, "b": 0.3, "c": 0.25}
        sums, plan, keys, messages = masked_messages(gathering_of(), vectors, weights, **LIMITED)
        requests = sums.ask(plan, keys, gathering_of(), weights)
        assert plan.request_bytes == 24
        assert set(requests.values()) == {np.array([0.2, 0.3, 0.25]).tobytes()}
        total = sums.total(plan, keys, gathering_of(), messages)
        assert np.abs(total - 0.75).max() <= plan.error_bound

    @pytest.mark.parametrize("weights", [(0.7, 0.1, 0.1), (0.061, 0.01, 0.01), (0.0, 0.0, 1.0)])
    def test_a_sum_that_is_mostly_one_senders_is_refused(
        self, gathering_of, masked_messages, weights
    ):
        vectors = {name: np.ones(20) for name in "abc"}
        with pytest.raises(RemoteProtocolError, match="mostly one sender's model") as error:
            masked_messages(
                gathering_of(), vectors, dict(zip("abc", weights, strict=True)), **LIMITED
            )
        assert error.value.culprit == "r"

    def test_a_share_that_exceeds_the_limit_by_rounding_only_is_accepted(
        self, gathering_of, masked_messages
    ):
        weights = dict(
            zip("abc", limit_shares(np.array([0.7, 0.1, 0.2]), 0.6).tolist(), strict=True)
        )
        weights["a"] = np.nextafter(weights["a"], 1)
        masked_messages(gathering_of(), dict.fromkeys("abc", np.ones(20)), weights, **LIMITED)

    def test_weights_of_nothing_are_nobodys_model(self, gathering_of, masked_messages):
        vectors = {name: np.ones(20) for name in "abc"}
        sums, plan, keys, messages = masked_messages(
            gathering_of(), vectors, dict.fromkeys("abc", 0.0), **LIMITED
        )
        assert (sums.total(plan, keys, gathering_of(), messages) == 0).all()


@pytest.mark.parametrize("weights", [[-0.1], [1.5], [float("nan")], [float("inf")]])
def test_a_receiver_that_asks_with_other_weights_is_blamed(fixed_private, gathering_of, weights):
    from securefair.averaging.messages import read_weights, write_weights

    with pytest.raises(RemoteProtocolError, match="no shares of a whole") as error:
        read_weights(write_weights(weights), 1, gathering_of())
    assert error.value.culprit == "r"
