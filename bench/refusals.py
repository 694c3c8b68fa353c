"""What the dearest refusals of a teacher cost: processor time and memory of hostile requests.

    python bench/refusals.py --mutants 20000

A stranger writes any spec and any schedule into a request; no work goes into it. Here are some of
the largest that the limits allow, and mutants: a valid spec and schedule in which up to four
numbers are replaced by extreme ones. Each goes to a teacher that agreed on something else, and to
one that answers whatever it is asked. Every request comes twice, to a process that knows nothing of
it and to one that has refused it before. Decision 19 has the figures.

Others are *granted* and refused later: schedules in every ring that fit, with all parts of the
planned lengths, and one residue that its prime does not allow. A thousand of them follow each
other, and the memory of the process is compared.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import msgspec

from securefair.circuit.planner import plan_exchange
from securefair.circuit.schedule import Schedule
from securefair.circuit.spec import MAX_MAPS, MAX_SIZE, ExchangeSpec, LayerBounds
from securefair.errors import SecureFairError
from securefair.exchange.request import REQUEST_FORMAT, Request
from securefair.exchange.teacher import Teacher
from securefair.model.heads import build_head

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support.refused_later import granted, hollow

AGREED = ExchangeSpec(features=5, hidden=6, classes=2, samples=40, q=8)
IMAGE = ExchangeSpec(features=484, hidden=128, classes=10, samples=1, release="logits")
EXTREMES = (0, 1, 2, 3, 29, 30, 31, 60, 128, 4096, 8192, 32_768, MAX_SIZE - 1, MAX_SIZE, 2**31, -1)
FRACTIONS = (0.0, 1e-12, 2.0**-40, 2.0**-10, 0.5, 1.0, 2.0**20, 1e300, float("nan"), float("inf"))

Case = tuple[str, bytes]


def request_of(spec: ExchangeSpec, schedule: Schedule) -> bytes:
    """A request with nothing in it."""
    empty = memoryview(b"")
    return msgspec.msgpack.encode(
        Request(
            format=REQUEST_FORMAT,
            spec=spec,
            schedule=schedule,
            digest=bytes(32),
            seed=b"",
            public_key=empty,
            evaluation_keys=empty,
            features=empty,
            basis=empty,
            predictions=empty,
        )
    )


def network_of(maps: int, outputs: int, summed: int) -> tuple[LayerBounds, ...]:
    """So many maps, with squares between them."""
    return tuple(
        LayerBounds(
            outputs=outputs if at < maps - 1 else 2,
            summed=summed if at < maps - 1 else 0,
            log2_scale=6,
            max_integer=64,
            l1=1.0,
            l2=1.0,
            bound=1.0 if at < maps - 1 else 32.0,
        )
        for at in range(maps)
    )


def specs() -> dict[str, ExchangeSpec]:
    """Valid ones to begin with."""
    wide = ExchangeSpec(features=MAX_SIZE, classes=2, samples=MAX_SIZE, hidden=0, weight_bits=2)
    return {
        "quadratic head": AGREED,
        "linear head": msgspec.structs.replace(AGREED, hidden=0),
        "logits": msgspec.structs.replace(AGREED, release="logits"),
        "logits of an image": IMAGE,
        "logits of a million images": msgspec.structs.replace(IMAGE, samples=MAX_SIZE),
        "own basis": msgspec.structs.replace(AGREED, basis="student"),
        "loss": msgspec.structs.replace(AGREED, release="loss"),
        "class sums": msgspec.structs.replace(AGREED, release="class_sums"),
        "network": msgspec.structs.replace(AGREED, hidden=0, network=network_of(2, 8, 1)),
        "a million features and samples": wide,
        "sums over a million": msgspec.structs.replace(
            AGREED, release="class_sums", samples=MAX_SIZE
        ),
        "a million numbers": msgspec.structs.replace(AGREED, q=MAX_SIZE - 1, samples=MAX_SIZE),
        "a million classes": msgspec.structs.replace(AGREED, classes=MAX_SIZE),
        "a million units": msgspec.structs.replace(AGREED, hidden=MAX_SIZE, weight_bits=2),
        "32 wide maps": msgspec.structs.replace(
            AGREED, hidden=0, network=network_of(MAX_MAPS, MAX_SIZE, 1), samples=MAX_SIZE
        ),
    }


def schedules(wanted: dict[str, ExchangeSpec]) -> list[Schedule]:
    """Of every spec that has a plan within seconds."""
    small = [spec for name, spec in wanted.items() if "million" not in name and "wide" not in name]
    return [plan_exchange(spec).schedule for spec in small]


def mutated(value: object, rng: random.Random) -> object:
    """The same tree with one number replaced."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return rng.choice(EXTREMES)
    if isinstance(value, float):
        return rng.choice(FRACTIONS)
    if isinstance(value, str):
        return rng.choice(("loss", "class_sums", "projection", "logits", "public", "student"))
    if isinstance(value, tuple | list):
        if not value:
            return value
        items = list(value)
        at = rng.randrange(len(items))
        items[at] = mutated(items[at], rng)
        return tuple(items * rng.choice((1, 1, 1, 2, 30)))
    if isinstance(value, msgspec.Struct):
        field = rng.choice(value.__struct_fields__)
        return msgspec.structs.replace(value, **{field: mutated(getattr(value, field), rng)})
    return value


def cases(mutants: int, seed: int) -> Iterator[Case]:
    """Requests with their names."""
    rng, wanted = random.Random(seed), specs()
    found = schedules(wanted)
    for name, spec in wanted.items():
        for at, schedule in enumerate(found):
            yield f"{name}, schedule {at}", request_of(spec, schedule)
    for at in range(mutants):
        name = rng.choice(list(wanted))
        spec, schedule = wanted[name], rng.choice(found)
        for _ in range(rng.randint(1, 4)):
            if rng.random() < 0.5:
                spec = mutated(spec, rng)
            else:
                schedule = mutated(schedule, rng)
        yield f"mutant {at} of {name}", request_of(spec, schedule)


def resident() -> float:
    """Megabytes of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def refuse_granted(teachers: dict[str, Teacher], count: int) -> None:
    """Print what so many of them cost each teacher."""
    kinds = [msgspec.structs.replace(AGREED, hidden=hidden) for hidden in (6, 0)]
    own = [plan_exchange(spec) for spec in kinds]
    others = [plan for spec in kinds for plan in granted(spec)]
    if not others:
        raise SystemExit("no plan in slots is granted: these requests would measure nothing")
    plans = own + others
    requests = [hollow(plan) for plan in plans]
    rings = sorted({plan.params.ring_degree for plan in plans})
    print(f"{len(plans)} plans of rings {', '.join(map(str, rings))}\n")
    print("| granted, then refused by | requests | worst, ms | resident, MB |\n|---|---|---|---|")
    for kind, teacher in teachers.items():
        before = resident()
        each = [refused(teacher, requests[at % len(requests)])[0] for at in range(count)]
        print(f"| {kind} | {count} | {max(each):.1f} | {before:.0f} to {resident():.0f} |")


def refused(teacher: Teacher, request: bytes) -> tuple[float, str]:
    """Milliseconds of processor time until it was refused, and why."""
    began = time.process_time()
    try:
        teacher.answer(request)
    except SecureFairError as error:
        return 1000 * (time.process_time() - began), type(error).__name__
    raise AssertionError("a request without anything in it was answered")


def main() -> None:
    """Print the worst, and a summary."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutants", type=int, default=20_000)
    parser.add_argument("--granted", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    model = build_head("quadratic", 5, 6, 2, 1)
    teachers = {"agreed": Teacher(model, AGREED), "open": Teacher(model)}
    refuse_granted(teachers, args.granted)
    rows: list[tuple[float, float, str, bytes, str]] = []
    for name, request in cases(args.mutants, args.seed):
        for kind, teacher in teachers.items():
            first, why = refused(teacher, request)
            again, _ = refused(teacher, request)
            rows.append((max(first, again), again, f"{kind}, {name}: {why}", request, kind))
    rows.sort(key=lambda row: -row[0])
    for kind in teachers:
        own = [row[0] for row in rows if row[4] == kind]
        print(f"{kind}: {len(own)} requests, median {statistics.median(own):.2f} ms of processor")
        print(f"time, 99 % below {sorted(own)[int(0.99 * len(own))]:.2f}, worst {own[0]:.2f}")
    print("| request | ms | again, ms | peak, MB |\n|---|---|---|---|")
    peaks = []
    for worst, again, name, request, kind in rows[:40]:
        tracemalloc.start()
        refused(teachers[kind], request)
        peak = tracemalloc.get_traced_memory()[1] / 1e6
        tracemalloc.stop()
        peaks.append(peak)
        print(f"| {name} | {worst:.1f} | {again:.1f} | {peak:.2f} |")
    print(f"largest peak of these: {max(peaks):.2f} MB")


if __name__ == "__main__":
    main()
