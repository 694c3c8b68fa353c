"""What may happen to the machines of a `World`: one move at a time, drawn by whoever plays."""

import random
from contextlib import suppress

from securefair.protocol.effects import Expired, Received
from securefair.protocol.flows import QUERY_BITS, REPLY_BITS
from securefair.protocol.messages import (
    Answer,
    Ask,
    Decline,
    DeclineReason,
    Features,
    Hello,
    Keys,
    Message,
)
from support.world import NAMES, World


def forged(rng: random.Random, world: World, teacher_round: int) -> Message:
    """What a broken or malicious peer might send; often almost right."""
    number = max(0, teacher_round + rng.choice([-2, -1, 0, 0, 0, 1, 1, 2, 3]))
    attempt = rng.choice([0, 0, 0, 1])
    summed = rng.random() < 0.2
    payload = rng.choice([b"", b"forged"])
    return rng.choice(
        [
            Hello(1, bytes(32)),
            Hello(rng.choice([1, 2]), rng.randbytes(32)),
            Keys(0, payload, payload),
            Features(0, 1 + rng.randrange(50), payload, payload),
            Ask(number, attempt, payload, 0, NAMES[:2] if summed else ()),
            Answer(number, attempt, payload, summed),
            Decline(
                number,
                attempt,
                rng.choice(list(DeclineReason)),
                summed,
                rng.choice([(), NAMES[:1], NAMES[:2], NAMES[1:]]),
            ),
        ]
    )


def random_move(rng: random.Random, world: World, mischief: bool) -> None:
    """One step of the world; with mischief also loss, copies, reordering and failures."""
    begin = [name for name in world.names if world.may_begin(name)]
    what = rng.random()
    if what < 0.10 and begin:
        world.begin(rng.choice(begin))
    elif what < 0.55 and world.frames:
        world.deliver(rng.randrange(len(world.frames)))
    elif what < 0.85 and world.jobs:
        world.finish(rng.randrange(len(world.jobs)), fail=mischief and rng.random() < 0.05)
    elif what < 0.90 and world.frames and mischief:
        world.frames.pop(rng.randrange(len(world.frames)))
    elif what < 0.96 and world.frames:
        world.frames.append(rng.choice(world.frames))
    elif mischief:
        name = rng.choice(world.names)
        memory = world.machines[name].memory
        if memory.round >= 0:
            world.feed(name, Expired(rng.randrange(memory.round + 1)))


class SpentError(Exception):
    """There are no bytes left to draw from."""


class Bytes(random.Random):
    """Draws that bytes decide, first to last; so a fuzzer plays the network.

    Raises:
        SpentError: where a draw needs more than is left.
    """

    def __init__(self, data: bytes) -> None:
        super().__init__(0)
        self._left = data

    def getrandbits(self, k: int) -> int:
        count = -(-k // 8)
        if len(self._left) < count:
            raise SpentError
        drawn, self._left = self._left[:count], self._left[count:]
        return int.from_bytes(drawn, "big") & (1 << k) - 1

    def random(self) -> float:
        return self.getrandbits(8) / 256


def play(data: bytes) -> World:
    """A world after the moves that bytes choose, forged messages among them, and at its end.

    Raises:
        AssertionError: something does not hold that must, whatever happens.
    """
    draw = Bytes(data)
    world = World(NAMES[:3])
    with suppress(SpentError):
        world = World(
            NAMES[: 2 + draw.getrandbits(1)],
            always_share=bool(draw.getrandbits(1)),
            restarts=bool(draw.getrandbits(1)),
            key_bits=QUERY_BITS + REPLY_BITS if draw.getrandbits(1) else None,
        )
        while True:
            if draw.random() < 0.2:
                name, sender = draw.sample(world.names, 2)
                message = forged(draw, world, world.machines[name].memory.round)
                if not isinstance(message, Answer):  # World checks that opened ones are genuine
                    world.feed(name, Received(sender, message))
            else:
                random_move(draw, world, mischief=True)
            world.check_always()
    world.end()
    return world
