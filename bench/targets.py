"""The targets of the engine beside what this machine measures, as tables for docs/performance.md.

    python bench/targets.py                            # print
    python bench/targets.py --write docs/performance.md  # replace the tables between its markers

Whole exchanges of 512 -> 64 -> 10 on 4096 samples between fresh processes, by `profile_head`, for
three releases on all cores and on one, and the KL cross term. Takes four
minutes; on a busy machine times are too long.

    python bench/targets.py --quick        # all cores only, two teachers each: under three minutes

Both keep their figures in .benchmarks, each its own, and print them over those of the run before.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Annotated

import numpy as np
import typer
from compared import only_in_one
from msgspec.structs import replace
from page import PageOption, replace_tables, run_script

from securefair.circuit.planner import plan_exchange
from securefair.circuit.spec import ExchangeSpec
from securefair.ckks.backends import get_backend
from securefair.ckks.threads import cores, set_threads
from securefair.errors import PlanError
from securefair.profiling.head import profile_head
from securefair.profiling.head_record import HeadProfile
from securefair.report import read_json, write_json

HEAD = ExchangeSpec(features=512, hidden=64, classes=10, samples=4096)
RELEASES: tuple[str, ...] = ("logits", "projection", "loss")
KB, MB = 1e3, 1e6
KEPT = {False: Path(".benchmarks") / "targets.json", True: Path(".benchmarks") / "quick.json"}
"""By whether it was quick."""

FIELDS = ("server_ms_per_sample", "answer_ms_per_sample", "ahead_ms_per_sample",
          "encrypt_ms_per_sample", "peak_rss_mb")  # fmt: skip
"""What is compared with the run before."""

Figures = Mapping[str, Mapping[str, float]]
Profiles = dict[tuple[str, int], HeadProfile]


@dataclass(frozen=True)
class Target:
    """One row: what is wanted, and how it is read off the profiles."""

    what: str
    goal: float
    stretch: float
    unit: str
    value: Callable[[Profiles], float]


def at(release: str) -> Callable[[Profiles], HeadProfile]:
    return lambda profiles: profiles[release, cores()]


def targets(cross_term_us: float) -> list[Target]:
    logits, projection, loss = (at(release) for release in RELEASES)
    return [
        Target("receive and answer, `logits`", 0.022, 0.012, "ms a sample",
               lambda p: logits(p).server_ms_per_sample),
        Target("a further answer to the same upload", 0.012, 0.008, "ms a sample",
               lambda p: logits(p).answer_ms_per_sample),
        Target("receive and answer, `projection` (public, q = 64)", 0.03, 0.015, "ms a sample",
               lambda p: projection(p).server_ms_per_sample),
        Target("receive and answer, `loss`", 0.05, 0.03, "ms a sample",
               lambda p: loss(p).server_ms_per_sample),
        Target("reconstruction (4096 samples, q = 64)", 1, 0.2, "s",
               lambda p: projection(p).prepare_s + projection(p).reconstruct_ms / 1e3),
        Target("KL cross term alone", 1.5, 0.3, "us a sample", lambda _: cross_term_us),
        Target("encrypt 512 features", 0.18, 0.12, "ms a sample",
               lambda p: logits(p).encrypt_ms_per_sample),
        Target("upload, `logits`", 12.3, 10, "KB a sample",
               lambda p: logits(p).upload_bytes_per_sample / KB),
        Target("answer, `loss`", 66, 33, "KB", lambda p: loss(p).bytes_down / KB),
        Target("answer, `projection` (q = 64)", 700, 128, "KB",
               lambda p: projection(p).bytes_down / KB),
        Target("answer, `logits`", 320, 160, "B a sample",
               lambda p: logits(p).bytes_down / HEAD.samples),
        Target("evaluation keys, `logits`", 2, 1, "MB", lambda p: logits(p).key_bytes / MB),
        Target("peak memory, teacher", 0.35, 0.2, "GB",
               lambda p: logits(p).peak_rss_mb / 1e3),
    ]  # fmt: skip


def verdict(value: float, target: Target) -> str:
    if value <= target.stretch:
        return "stretch"
    return "goal" if value <= target.goal else "missed"


def target_table(profiles: Profiles, cross_term_us: float) -> str:
    rows = ["| | goal | stretch | measured | |", "|---|---|---|---|---|"]
    for target in targets(cross_term_us):
        value = target.value(profiles)
        rows.append(
            f"| {target.what}, {target.unit} | {target.goal:g} | {target.stretch:g} | "
            f"**{value:.3g}** | {verdict(value, target)} |"
        )
    return "\n".join(rows)


def stage_table(profiles: Profiles) -> str:
    """The teacher's stages, milliseconds an exchange."""
    columns = list(profiles)
    times = {
        key: {stage.stage: stage for stage in profile.stages} for key, profile in profiles.items()
    }
    names = list(dict.fromkeys(
        stage.stage
        for profile in profiles.values()
        for stage in profile.stages
        if stage.side == "teacher"
    ))  # fmt: skip
    last = (
        "relinearise",
        "products",
        "rescale",
        "sanitise",
        "extract",
        "other",
    )  # releases differ in what comes before
    names = [n for n in names if n not in last] + [n for n in last if n in names]
    titles = " | ".join(f"`{release}`, threads: {threads}" for release, threads in columns)
    rows = [f"| stage | {titles} | limit |", "|---|" + "---|" * (len(columns) + 1)]
    for name in names:
        cells = [f"{times[key][name].ms:.1f}" if name in times[key] else "" for key in columns]
        stage = times[columns[0]].get(name)
        limit = ""
        if stage and stage.arithmetic_limit_ms is not None:
            limits = stage.arithmetic_limit_ms, stage.bandwidth_limit_ms or 0.0
            limit = f"{max(limits):.1f} {'arithmetic' if limits[0] > limits[1] else 'bandwidth'}"
        rows.append(f"| {name} | {' | '.join(cells)} | {limit} |")
    sums = [f"{p.server_ms_per_sample * HEAD.samples:.0f}" for p in profiles.values()]
    rows.append(f"| **receive and answer** | {' | '.join(sums)} | |")
    return "\n".join(rows)


def cross_term(repeats: int = 25) -> float:
    """Microseconds a sample of the products of predictions and logits, summed over classes."""
    plan = plan_exchange(replace(HEAD, release="loss"))
    if plan.factors is None:
        raise PlanError("a loss is planned without products")
    engine = get_backend("rns")
    keys = engine.generate_keys(plan.params, relinearization=plan.params.limbs)
    evaluator = engine.evaluator(plan.params, keys.public)
    values = np.random.default_rng(0).uniform(0, 1, (HEAD.classes, plan.params.slots))
    upload = keys.encryptor.encrypt(values, plan.factors)
    x, y = (evaluator.load(upload, plan.factors) for _ in range(2))
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        evaluator.inner(x, y, bound=plan.spec.bounds.logit)
        times.append(time.perf_counter() - started)
    return median(times) / HEAD.samples * 1e6


def compared(profiles: Profiles, kept: Path) -> str:
    """Figures over those of the run before, which these then replace."""
    titled = {f"{release}, threads: {threads}": p for (release, threads), p in profiles.items()}
    found = {
        title: {name: float(getattr(profile, name)) for name in FIELDS}
        for title, profile in titled.items()
    }
    before = read_json(kept, dict[str, dict[str, float]]) if kept.exists() else None
    kept.parent.mkdir(exist_ok=True)
    write_json(kept, found)
    if before is None:
        return "No earlier run is kept here. The next one will be compared with this one."
    return "\n".join(ratio_lines(found, before))


def ratio_lines(now: Figures, before: Figures) -> list[str]:
    """A table of ratios, and what only one of both runs has."""
    rows = [f"| over the run before | {' | '.join(FIELDS)} |", "|---|" + "---|" * len(FIELDS)]
    for title, figures in now.items():
        then = before.get(title, {})
        cells = [f"{figures[name] / then[name]:.2f}" if then.get(name) else "" for name in FIELDS]
        if any(cells):
            rows.append(f"| {title} | {' | '.join(cells)} |")
    return [*rows, *only_in_one(now, before)]


def main(
    write: PageOption = None,
    repeats: Annotated[int, typer.Option(help="Teachers that count.")] = 5,
    quick: Annotated[bool, typer.Option("--quick", help="All cores only, two teachers.")] = False,
) -> None:
    """Measure, compare, print, and write."""
    threads: Sequence[int] = [cores()] if quick else sorted({1, cores()}, reverse=True)
    profiles: Profiles = {}
    for release in RELEASES:
        for count in threads if release != "loss" else threads[:1]:
            profiles[release, count] = profile_head(
                replace(HEAD, release=release), threads=count, repeats=2 if quick else repeats
            )
    set_threads(cores())
    tables = {
        "targets": target_table(profiles, cross_term()),
        "stages": stage_table(profiles),
    }
    for name, table in tables.items():
        print(f"{name}\n\n{table}\n")
    for key, profile in profiles.items():
        far = profile.distance
        print(
            f"{key}: {far.multiply_adds_per_second / 1e9:.0f} G multiply-adds/s, "
            f"{far.bytes_per_second / 1e9:.0f} GB/s; server {profile.server_ms_per_sample:.4f}, "
            f"answer {profile.answer_ms_per_sample:.4f}, ahead {profile.ahead_ms_per_sample:.4f}, "
            f"encrypt {profile.encrypt_ms_per_sample:.3f} ms a sample; "
            f"error {profile.error_over_range:.2g} of the range"
        )
    print(compared(profiles, KEPT[quick]))
    if write is not None:
        replace_tables(write, tables)


if __name__ == "__main__":
    run_script(main)
