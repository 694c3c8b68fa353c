"""Each step turns what the format before wrote into what this version reads."""

import msgspec
import pytest

from securefair.averaging.gathering import Gathering
from securefair.averaging.shares import Share
from securefair.protocol.jobs import MakeShare
from securefair.protocol.ledger import DisclosurePolicy, Ledger
from securefair.protocol.messages import ShareRequest
from securefair.protocol.states import ReceivingState, RoundState, SendingState
from securefair.protocol.stored import decode_memory, encode_memory
from securefair.protocol.turn import Averaging, Memory, Sending, Sum
from securefair.sites.site.steps import to_format_2
from securefair.storage import Store

POLICY = DisclosurePolicy(
    release="logits", classes=2, rows=3, teacher_parameters=50, fraction_per_version=None
)
ASKED = ShareRequest(3, 1, ("SEALED", "me"), b"?")  # a hospital may have any name


def renamed(value, names):
    """Every text of a nested list that is one of `names`, as it was called before."""
    if isinstance(value, list):
        return [renamed(one, names) for one in value]
    return names.get(value, value) if isinstance(value, str) else value


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("SEALING", SendingState.MAKING),
        ("SEALED", SendingState.SENT),
        ("WITHHELD", SendingState.REFUSED),
        ("REVEALED", SendingState.REVEALED),
    ],
)
def test_a_memory_of_format_1_is_read(before, after, tmp_path):
    job = MakeShare("ann", 3, 1, ("SEALED", "me"), b"?")
    memory = Memory(
        ledger=Ledger(POLICY),
        peers={},
        round=3,
        state=RoundState.RECEIVING,
        running={("make_share", "ann", 3): job},
        averaging=Averaging(
            sum=Sum(0, ("SEALED",), {"SEALED": ReceivingState.CLOSED}),
            sending={("ann", 3): Sending(ASKED, after)},
        ),
    )
    was = {
        "RECEIVING": "GATHERING",
        "CLOSED": "SEALED",
        "Sending": "Contributing",
        "MakeShare": "Contribute",
        after.name: before,
    }
    today = msgspec.msgpack.decode(encode_memory(memory)[0])
    written = msgspec.msgpack.encode(renamed(today, was))
    assert all(name.encode() in written for name in was.values())
    share = {"gathering": 1, "request": b"", "sealed": b"bytes", "key": b"", "released": False}
    with Store.open(tmp_path / "store") as store:
        with store.transaction() as tx:
            tx.memory.put("machine", written)
            tx.memory.put("host share ann 3", msgspec.msgpack.encode(share))
            to_format_2(tx)
        with store.view() as tx:
            assert decode_memory(tx.memory.get("machine"), {}.__getitem__) == memory
            kept = msgspec.msgpack.decode(tx.memory.get("host share ann 3"))
    assert kept["closed"] == b"bytes"
    assert set(kept) == set(Share.__dataclass_fields__)


def test_a_store_without_a_machine_stays_as_it_is(tmp_path):
    with Store.open(tmp_path / "store") as store, store.transaction() as tx:
        to_format_2(tx)
        assert tx.memory.names() == []


def test_a_share_that_a_site_keeps_has_those_names():
    gathering = Gathering.of(bytes(32), 0, "ann", ("bea", "cem"))
    kept = msgspec.msgpack.decode(msgspec.msgpack.encode(Share(gathering, b"", b"", b"")))
    assert set(kept) == {"gathering", "request", "closed", "key", "released"}
