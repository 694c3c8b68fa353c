"""Mutated envelopes: whatever is altered, cut, grown or spliced is refused.

CI tries 5,000; SECUREFAIR_MUTATIONS=1000000 is the long form (`make soak`).
"""

import os
import random

import pytest

from securefair.sites.post.envelope import accept, digest_of, frame_of, seal
from securefair.sites.post.quotes import NO_QUOTE
from securefair.sites.post.receipts import Fate, Receipt, read_receipt
from securefair.sites.post.refusals import RefusedError
from securefair.sites.project.identity import Identity

NOW = 1_800_000_000
MUTATIONS = int(os.environ.get("SECUREFAIR_MUTATIONS", "5000"))
PROJECT = bytes(32)
NORTH, SOUTH = (Identity.generate(name, now=NOW) for name in ("north", "south"))


def envelope(draw, frame):
    return seal(
        NORTH,
        SOUTH.card,
        frame,
        project=PROJECT,
        epoch=draw.randrange(3),
        sequence=draw.randrange(100),
        round=draw.randrange(9),
        sent=NOW,
        expires=NOW + 1000,
        audit_count=draw.randrange(50),
        audit_head=draw.randbytes(32),
    )


def mutated(draw, data, other):
    data = bytearray(data)
    kind = draw.randrange(7)
    at = draw.randrange(len(data))
    if kind == 0:
        data[at] ^= 1 << draw.randrange(8)
    elif kind == 1:
        del data[at:]
    elif kind == 2:
        data[at:at] = draw.randbytes(draw.randrange(1, 40))
    elif kind == 3:
        data += draw.randbytes(draw.randrange(1, 40))
    elif kind == 4:  # spliced with a good one
        data[at:] = other[at:]
    elif kind == 5:
        end = min(len(data), at + draw.randrange(1, 9))
        data[at:end] = draw.randbytes(end - at)
    else:
        del data[at : at + draw.randrange(1, 40)]
    return bytes(data)


def taken(one, cards):
    header = accept(
        one,
        own=SOUTH.card.fingerprint,
        project=PROJECT,
        cards=cards,
        now=NOW,
        last=NOW + 1000,
        limit=4096,
    )
    return frame_of(SOUTH, header, one)


def test_no_mutated_envelope_is_taken():
    draw = random.Random(17)
    good = [envelope(draw, draw.randbytes(draw.randrange(200))) for _ in range(20)]
    known = {digest_of(one) for one in good}
    cards = {NORTH.card.fingerprint: NORTH.card}
    tried = 0
    while tried < MUTATIONS:
        one = mutated(draw, draw.choice(good), draw.choice(good))
        if digest_of(one) in known:
            continue
        tried += 1
        with pytest.raises(RefusedError):
            taken(one, cards)


def test_no_mutated_receipt_is_believed():
    draw = random.Random(18)
    nonce = draw.randbytes(16)
    receipt = Receipt(
        nonce=nonce,
        project=PROJECT,
        by=NORTH.card.fingerprint,
        to=SOUTH.card.fingerprint,
        fate=Fate.TAKEN,
        epoch=0,
        expected=7,
        newest=NO_QUOTE,
        before=NO_QUOTE,
    )
    good = receipt.encode(NORTH)
    about = {"project": PROJECT, "own": SOUTH.card.fingerprint, "peer": NORTH.card}
    assert read_receipt(good, nonce=nonce, **about) == receipt
    assert read_receipt(good, nonce=draw.randbytes(16), **about) is None  # an old one, again
    for _ in range(MUTATIONS // 5):
        bad = mutated(draw, good, draw.randbytes(len(good)))
        if bad != good:
            assert read_receipt(bad, nonce=nonce, **about) is None
