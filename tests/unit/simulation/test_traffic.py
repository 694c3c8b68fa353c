from securefair.records import TrafficRow
from securefair.simulation.traffic import joined, repeated_bytes


def row(message, count, size, sender="a", receiver="b"):
    return TrafficRow(
        algorithm="x", sender=sender, receiver=receiver, message=message, count=count, bytes=size
    )


EARLIER = [row("answer", 2, 20), row("hello", 1, 7), row("keys", 1, 300)]
NOW = [
    row("answer", 3, 30),
    row("hello", 1, 7),
    row("keys", 1, 300),
    row("ask", 1, 5, sender="b", receiver="a"),
]


def test_one_process_has_what_it_sent():
    assert joined([], NOW) == NOW
    assert repeated_bytes([], NOW) == 0


def test_two_processes_sent_as_much_as_one_would_have():
    assert joined(EARLIER, NOW) == [
        row("answer", 5, 50),
        row("hello", 1, 7),
        row("keys", 1, 300),
        row("ask", 1, 5, sender="b", receiver="a"),
    ]
    assert repeated_bytes(EARLIER, NOW) == 307
