"""A port of a courier that only counts."""

import threading
from collections import deque

from securefair.sites.post.port import Ways

LIMIT = 1 << 16


class CountingPort:
    """Sends numbers to one peer; takes whichever comes next, once."""

    limit = LIMIT

    def __init__(self, name, peer, count):
        self.name, self.peers = name, (peer,)
        self.outbox = deque(range(count))
        self.taken = []
        self.noted = []
        self.told = []
        self.ways = Ways(lambda: self.told.append(self.ways.hindrance))
        self.changed = threading.Condition()
        self.attempt = 0

    def pending(self, _, seconds):
        with self.changed:
            if not self.outbox:
                self.changed.wait(min(seconds, 0.05))
                return None
            self.attempt += 1
            return self.attempt.to_bytes(16, "big") + self.outbox[0].to_bytes(4, "big") * 3

    def settle(self, _, receipt):
        with self.changed:
            good = receipt == b"taken" + self.attempt.to_bytes(16, "big")
            if good:
                self.outbox.popleft()
                self.changed.notify_all()
            return good

    def receive(self, parcel):
        nonce, content = parcel[:16], parcel[16:]
        with self.changed:
            if len(content) != 12 or len({content[:4], content[4:8], content[8:]}) > 1:
                return b""
            number = int.from_bytes(content[:4], "big")
            if number == len(self.taken):
                self.taken.append(number)
                self.changed.notify_all()
            return b"taken" + nonce if number < len(self.taken) else b""

    def note(self, peer, reason):
        with self.changed:
            self.noted.append((peer, reason))
            self.changed.notify_all()

    def wait_for(self, count):
        with self.changed:
            return self.changed.wait_for(lambda: len(self.taken) >= count, 60)
