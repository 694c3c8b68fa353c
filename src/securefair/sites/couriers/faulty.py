"""A courier that fails on purpose: drops, repeats, reorders, delays and alters what it carries.

For rehearsals and tests. The faults are drawn from a seed; what is sent is not.
"""

from __future__ import annotations

import random
import threading
import time

from securefair.sites.post.port import HandOver

DELAY = 0.2
"""Longest delay, seconds."""


def faulty(hand_over: HandOver, share: float, seed: str, *, longest: float = DELAY) -> HandOver:
    """The same courier with each of five faults at this rate.

    Args:
        hand_over: carries faithfully.
        share: probability of each fault, in [0, 0.2]; 0 gives `hand_over` itself.
        seed: of the faults.
        longest: delay, seconds.
    """
    if not share:
        return hand_over
    draw = random.Random(seed)
    lock = threading.Lock()
    held: list[bytes] = []

    def carried(parcel: bytes) -> bytes | None:
        with lock:
            fault = int(draw.random() / share)
            at, bit = draw.randrange(len(parcel)), draw.randrange(8)
            delay = draw.random() * longest
        if fault == 0:  # lost on the way, or its receipt is
            if at % 2:
                hand_over(parcel)
            return None
        if fault == 1:
            hand_over(parcel)  # repeated
        elif fault == 2:
            held.append(parcel)  # arrives after a later one
            return None
        elif fault == 3:
            time.sleep(delay)
        elif fault == 4:
            altered = bytearray(parcel)
            altered[at] ^= 1 << bit
            return hand_over(bytes(altered))
        receipt = hand_over(parcel)
        if held:
            hand_over(held.pop())
        return receipt

    return carried
