import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from securefair.errors import ConfigError, LocalProtocolError
from securefair.sites.couriers.memory import (
    RETRY_SECONDS,
    Delivery,
    Faults,
    Link,
    MemoryCourier,
)

NAMES = ("ann", "bea", "cem")


def network(link: Link | None = None, *, seed: int = 0, **links: Link) -> MemoryCourier:
    """Links are given as ann_bea=Link(...)."""
    return MemoryCourier(
        NAMES,
        link=link,
        links={tuple(pair.split("_")): value for pair, value in links.items()},
        rng=random.Random(seed),
    )


def drained(net: MemoryCourier) -> list[Delivery]:
    found = []
    while net.next_time is not None:
        delivery = net.deliver_next()
        if delivery is not None:
            found.append(delivery)
    return found


def test_an_ideal_link_delivers_at_once_in_order_and_names_the_sender():
    net = network()
    net.send("ann", "bea", b"a1")
    net.send("cem", "bea", b"c1")
    net.send("ann", "bea", b"a2")
    assert drained(net) == [
        Delivery(0.0, "ann", "bea", b"a1"),
        Delivery(0.0, "cem", "bea", b"c1"),
        Delivery(0.0, "ann", "bea", b"a2"),
    ]
    assert net.deliver_next() is None
    assert net.next_time is None


def test_latency_and_bandwidth_add_up_and_messages_queue_for_the_link():
    net = network(Link(latency=0.5, bandwidth=10.0))
    net.send("ann", "bea", b"x" * 20)  # leaves from 0 to 2 s
    net.send("ann", "bea", b"y" * 10)  # from 2 to 3 s
    net.send("bea", "ann", b"z" * 10)  # the other direction is free
    assert [(d.time, d.frame[:1]) for d in drained(net)] == [(1.5, b"z"), (2.5, b"x"), (3.5, b"y")]
    assert net.now == 3.5


def test_time_passes_with_deliveries_and_a_free_link_starts_now():
    net = network(Link(latency=1.0, bandwidth=10.0))
    net.send("ann", "bea", b"x" * 10)
    assert net.next_time == 2.0
    net.deliver_next()
    assert net.now == 2.0
    net.advance(7.0)
    net.send("ann", "bea", b"x" * 10)
    assert net.next_time == 9.0


def test_time_moves_only_between_now_and_the_next_delivery():
    net = network(Link(latency=1.0))
    net.advance(3.0)
    net.send("ann", "bea", b"x")
    for impossible in (2.9, 4.1):
        with pytest.raises(LocalProtocolError, match="virtual time"):
            net.advance(impossible)
    net.advance(4.0)
    assert net.deliver_next() == Delivery(4.0, "ann", "bea", b"x")


def test_particular_links_differ_from_the_rest():
    net = network(Link(latency=1.0), ann_bea=Link(latency=5.0))
    net.send("ann", "bea", b"slow")
    net.send("bea", "ann", b"fast")
    assert [d.time for d in drained(net)] == [1.0, 5.0]


def test_a_duplicate_arrives_twice():
    net = network(Link(latency=1.0, faults=Faults(duplicate=1.0, spread=2.0)))
    net.send("ann", "bea", b"x")
    first, second = drained(net)
    assert (first.time, first.frame, second.frame) == (1.0, b"x", b"x")
    assert 1.0 <= second.time <= 3.0


def test_delay_stalls_the_link_but_keeps_the_order():
    net = network(Link(faults=Faults(delay=0.5, spread=9.0)))
    for index in range(50):
        net.send("ann", "bea", b"%02d" % index)
    arrived = drained(net)
    assert [d.frame for d in arrived] == [b"%02d" % index for index in range(50)]
    assert 0 < arrived[-1].time <= 9.0


def test_reorder_lets_later_messages_overtake():
    net = network(Link(faults=Faults(reorder=0.5, spread=9.0)))
    for index in range(50):
        net.send("ann", "bea", b"%02d" % index)
    arrived = [d.frame for d in drained(net)]
    assert arrived != sorted(arrived)
    assert sorted(arrived) == [b"%02d" % index for index in range(50)]


def test_faults_come_at_their_rates():
    count = 4000
    net = network(Link(faults=Faults(drop=0.1, duplicate=0.2)), seed=3)
    for _ in range(count):
        net.send("ann", "bea", b"x")
    arrived = drained(net)
    assert abs(len(arrived) - count * 1.2) < 4 * math.sqrt(count * 0.2 * 0.8)
    late = sum(one.time >= RETRY_SECONDS for one in arrived)
    assert abs(late - count * 0.1 * 1.2) < 4 * math.sqrt(count * 0.1 * 1.2)


def test_the_seed_decides_and_one_fault_does_not_shift_another():
    def arrivals(seed: int, **faults: float) -> list[bytes]:
        net = network(Link(faults=Faults(drop=0.3, **faults)), seed=seed)
        for index in range(99):
            net.send("ann", "bea", b"%02d" % index)
        return [d.frame for d in drained(net)]

    assert arrivals(1) == arrivals(1)
    assert arrivals(1) != arrivals(2)
    once, twice = arrivals(1), arrivals(1, duplicate=0.5)
    assert once == list(dict.fromkeys(twice))  # the same are lost, and come again


def test_what_is_lost_is_sent_again_until_it_arrives():
    net = network(Link(faults=Faults(drop=0.5)))
    net.send("ann", "bea", b"x", 7)
    (delivery,) = drained(net)
    assert (delivery.frame, delivery.sequence) == (b"x", 7)
    assert delivery.time % RETRY_SECONDS == 0


def test_what_came_before_its_turn_comes_again():
    net = network()
    net.send("ann", "bea", b"x", 1)
    net.again(net.deliver_next())
    assert net.next_time == RETRY_SECONDS
    assert net.deliver_next().sequence == 1


@given(
    st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES), st.binary(max_size=9))),
    st.floats(0, 5),
    st.floats(1, 100),
)
def test_without_faults_every_byte_arrives_once_in_order(sent, latency, bandwidth):
    sent = [(s, r, b"x" + data) for s, r, data in sent if s != r]
    net = network(Link(latency=latency, bandwidth=bandwidth))
    for message in sent:
        net.send(*message)
    arrived = drained(net)
    assert [d.time for d in arrived] == sorted(d.time for d in arrived)
    for pair in {(s, r) for s, r, _ in sent}:
        assert [d.frame for d in arrived if (d.sender, d.receiver) == pair] == [
            data for s, r, data in sent if (s, r) == pair
        ]
        size = sum(len(data) for s, r, data in sent if (s, r) == pair)
        last = max(d.time for d in arrived if (d.sender, d.receiver) == pair)
        assert last == pytest.approx(latency + size / bandwidth)


@pytest.mark.parametrize(("sender", "receiver"), [("ann", "ann"), ("ann", "eve"), ("eve", "ann")])
def test_only_participants_are_linked(sender, receiver):
    with pytest.raises(LocalProtocolError, match="no such link"):
        network().send(sender, receiver, b"x")


@pytest.mark.parametrize("data", ["text", bytearray(b"x"), None])
def test_only_bytes_cross(data):
    with pytest.raises(LocalProtocolError, match="only bytes"):
        network().send("ann", "bea", data)


def test_impossible_networks_are_refused():
    with pytest.raises(ConfigError, match="different names"):
        MemoryCourier(["ann", "ann"])
    with pytest.raises(ConfigError, match="links"):
        MemoryCourier(["ann", "bea"], links={("ann", "eve"): Link()})
    with pytest.raises(ConfigError, match="rng"):
        MemoryCourier(["ann", "bea"], link=Link(faults=Faults(drop=0.1)))
    for faults in ({"drop": 1.1}, {"reorder": -0.1}, {"spread": math.inf}, {"spread": -1.0}):
        with pytest.raises(ConfigError, match=next(iter(faults))):
            Faults(**faults)
    for link in ({"latency": -1.0}, {"latency": math.inf}, {"bandwidth": 0.0}):
        with pytest.raises(ConfigError, match=next(iter(link))):
            Link(**link)
