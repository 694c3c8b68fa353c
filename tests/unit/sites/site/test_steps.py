"""Each step turns what the format before wrote into what the next one reads."""

import msgspec

from securefair.sites.site.format import STEPS
from securefair.sites.site.steps import to_format_2, to_format_3
from securefair.storage import Store


def stepped(tmp_path, step, pieces):
    """What is left of these pieces after a step."""
    with Store.open(tmp_path / "store") as store, store.transaction() as tx:
        for name, data in pieces.items():
            tx.memory.put(name, data)
        step(tx)
        return {name: tx.memory.get(name) for name in tx.memory.names("")}


def test_states_of_format_1_have_other_names(tmp_path):
    asked = ["ShareRequest", 3, 1, ["SEALED", "me"], b"?"]  # a hospital may have any name
    averaging = ["Averaging", ["Sum", 0, ["SEALED"], [["SEALED", "SEALED"]]]]
    memory = ["Memory", [], [["Contributing", asked, "SEALING"]], 3, "GATHERING", averaging]
    share = {"sealed": b"closed", "key": b"key"}
    pieces = {
        "machine": msgspec.msgpack.encode(memory),
        "host share ann 3": msgspec.msgpack.encode(share),
    }
    found = stepped(tmp_path, to_format_2, pieces)
    averaging = ["Averaging", ["Sum", 0, ["SEALED"], [["SEALED", "CLOSED"]]]]
    assert msgspec.msgpack.decode(found["machine"]) == [
        "Memory", [], [["Sending", asked, "MAKING"]], 3, "RECEIVING", averaging,
    ]  # fmt: skip
    share = {"closed": b"closed", "key": b"key"}
    assert msgspec.msgpack.decode(found["host share ann 3"]) == share


def test_what_a_machine_of_another_protocol_remembered_is_gone_after_format_2(tmp_path):
    kept = {"record 000000": b"a round", "host model": b"a model", "site state": b"over"}
    gone = {"machine": b"memory", "machine blob 00": b"keys", "host share ann 3": b"share"}
    assert stepped(tmp_path, to_format_3, kept | gone) == kept


def test_a_store_without_a_memory_takes_every_step(tmp_path):
    for at, step in enumerate(STEPS):
        assert stepped(tmp_path / str(at), step, {}) == {}
