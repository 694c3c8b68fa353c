"""A site's courier over TCP, for tests: `python tcp_courier.py DOOR PORT PEER=ADDRESS ...`.

It asks at the site's door for parcels and brings those of peers to it, as the courier for a relay
does, but from address to address. What goes wrong on the way is tried again.
"""

import contextlib
import socket
import struct
import sys
import threading
from pathlib import Path

from securefair.errors import DataError
from securefair.sites.post.door import DoorClient
from securefair.sites.post.port import carry

LENGTH = struct.Struct(">Q")
SILENCE = 60.0  # seconds without a byte after which a connection is given up


def read(connection):
    (left,) = LENGTH.unpack(exactly(connection, LENGTH.size))
    return exactly(connection, left)


def exactly(connection, left):
    parts = []
    while left:
        part = connection.recv(min(left, 1 << 16))
        if not part:
            raise ConnectionResetError("the other side ended")
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def write(connection, data):
    data = LENGTH.pack(len(data)) + data
    for at in range(0, len(data), 1 << 14):  # each piece has its own time
        connection.sendall(data[at : at + (1 << 14)])


def to(address, port):
    def hand_over(parcel):
        try:
            with socket.create_connection((address, port), SILENCE) as connection:
                connection.settimeout(SILENCE)
                write(connection, parcel)
                return read(connection) or None
        except OSError:
            return None

    return hand_over


def bring(connection, door):
    with connection, contextlib.suppress(OSError, DataError):
        connection.settimeout(SILENCE)
        parcel = read(connection)
        client = DoorClient(door)
        client.introduce()
        receipt = client.receive(parcel)
        client.close()
        write(connection, receipt)


def main(door, port, *addresses):
    door, port, stop = Path(door), int(port), threading.Event()
    peers = dict(one.split("=") for one in addresses)

    def carrying(peer):
        while True:
            client = DoorClient(door)
            try:
                client.introduce()
                carry(client, peer, to(peers[peer], port), stop)
            except (OSError, DataError):
                stop.wait(1.0)  # the site is down: it will come back

    for peer in peers:
        threading.Thread(target=carrying, args=(peer,), daemon=True).start()
    with socket.create_server(("", port)) as server:
        while True:
            connection, _ = server.accept()
            threading.Thread(target=bring, args=(connection, door), daemon=True).start()


if __name__ == "__main__":
    main(*sys.argv[1:])
