"""A site of a year under another installation of securefair, which runs this file as a program.

It opens its store and keystore as `site start` does, and is told turn by turn what happens and what
time it is. What it uses of securefair has had these names since 0.2, and keeps them.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import msgspec

from securefair.errors import SecureFairError
from securefair.sites.site.starting import OpenSite, Rehearsal, open_site
from securefair.storage import unlock


@dataclass(frozen=True)
class Order:
    """What the site is to do.

    Attributes:
        act: turn, pending, settle or receive.
        wall, monotonic: seconds of its machine's clocks.
        peer: whom it is about.
        given: a receipt, or a parcel.
    """

    act: str
    wall: float
    monotonic: float
    peer: str = ""
    given: bytes = b""


@dataclass(frozen=True)
class Followed:
    """What came of it.

    Attributes:
        yes: of a turn, whether there was one; of a receipt, whether it was taken.
        data: a parcel, or a receipt; None for none.
        fault: why the site must not go on; "" for nothing.
        failed: whether it ended.
    """

    yes: bool = False
    data: bytes | None = None
    fault: str = ""
    failed: bool = False


def play(folder: Path, passphrase_file: Path, orders: Connection) -> None:
    """Follow orders until nobody gives any; the first one only says what time it is."""
    order = msgspec.msgpack.decode(orders.recv_bytes(), type=Order)
    rehearsal = Rehearsal(
        seed=0, wall=lambda: order.wall, monotonic=lambda: order.monotonic, durable=False
    )
    try:
        with open_site(folder, unlock(file=passphrase_file), rehearsal=rehearsal) as opened:
            done = Followed()
            while True:
                orders.send_bytes(msgspec.msgpack.encode(done))
                order = msgspec.msgpack.decode(orders.recv_bytes(), type=Order)
                done = _follow(opened, order)
    except SecureFairError as problem:
        orders.send_bytes(msgspec.msgpack.encode(Followed(fault=str(problem), failed=True)))
    except EOFError:
        return


def _follow(opened: OpenSite, order: Order) -> Followed:
    post, yes, data = opened.post, False, None
    if order.act == "turn":
        yes = opened.site.turn()
    elif order.act == "pending":
        data = post.pending(order.peer, 0.0)
    elif order.act == "settle":
        yes = post.settle(order.peer, order.given)
    else:
        data = post.receive(order.given)
    return Followed(yes, data, "" if post.fault is None else str(post.fault))


if __name__ == "__main__":
    play(Path(sys.argv[1]), Path(sys.argv[2]), Connection(int(sys.argv[3])))
