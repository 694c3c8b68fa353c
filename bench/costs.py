"""What sharing saves, and how well costs are predicted, as tables for docs/profiling.md.

    python bench/costs.py --write docs/profiling.md --images docs/images

Runs `securefair profile sharing` and `securefair profile scale`; takes six minutes.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec
import typer
from page import PageOption, replace_tables, run_script

from securefair.report.wording import data_size, percent
from securefair_lab.profiling.scale import TEACHER, ScaleProfile
from securefair_lab.profiling.sharing_records import SharingCost, SharingProfile

PROBABILITIES = "0,0.2,0.4,0.6,0.8,1"
P = TypeVar("P")


def profiled(kind: type[P], *arguments: str) -> P:
    """What `securefair profile ... --json` prints."""
    command = [sys.executable, "-m", "securefair", "profile", *arguments, "--json"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    return msgspec.json.decode(done.stdout, type=kind)


def sharing_rows(profile: SharingProfile) -> str:
    rows = [
        "| sharing | answers | declines | bytes | saved | teachers | saved | accuracy |",
        "|" + "---|" * 8,
    ]

    def row(name: str, cost: SharingCost, saved: tuple[str, str] = ("", "")) -> None:
        rows.append(
            f"| {name} | {cost.answers} | {cost.declines} | {data_size(cost.bytes)} | {saved[0]} "
            f"| {cost.server_seconds:.2f} s | {saved[1]} | {percent(cost.accuracy)} |"
        )

    for point in profile.points:
        saved = percent(point.saving_bytes), percent(point.saving_seconds)
        row(f"r = {point.probability:g}", point, saved)
    row("VPDL", profile.always)
    cycle = profile.cycle
    row(f"**CYCle**, mean r = {cycle.mean_reputation:.2f}", cycle,
        (f"**{percent(cycle.saving_bytes)}**", f"**{percent(cycle.saving_seconds)}**"))  # fmt: skip
    size, seconds = profile.fit.bytes, profile.fit.seconds
    return "\n".join([
        *rows,
        "",
        "```text",
        f"bytes   = {size.fixed / 1e6:.1f} MB + {size.slope / 1e6:.1f} MB x r     "
        f"R^2 {size.r2:.4f}",
        f"seconds = {seconds.fixed:.2f} s  + {seconds.slope:.2f} s  x r     R^2 {seconds.r2:.4f}",
        "```",
        "",
        f"Of the bytes that rounds send, without keys and samples, CYCle saves "
        f"{percent(cycle.saving_round_bytes)}; with them, {percent(cycle.saving_bytes)}.",
    ])  # fmt: skip


def cost_rows(profile: ScaleProfile) -> str:
    rows = [
        "| samples | features | MB | teacher, ms | model | encryption, s | model | peak MB "
        "| model |",
        "|" + "---|" * 9,
    ]
    for point in (*profile.points, profile.held_out):
        was, said = point.measured, point.predicted
        teacher = [sum(each[name] for name in TEACHER) * 1e3 for each in (was, said)]
        mark = "**" if point is profile.held_out else ""
        rows.append(
            f"| {mark}{point.samples:,}{mark} | {mark}{point.features}{mark} "
            f"| {point.bytes / 1e6:.1f} | {teacher[0]:.1f} | {mark}{teacher[1]:.1f}{mark} "
            f"| {was['encrypt_seconds']:.2f} | {said['encrypt_seconds']:.2f} "
            f"| {was['peak_bytes'] / 1e6:.0f} | {said['peak_bytes'] / 1e6:.0f} |"
        )
    groups = ", ".join(
        f"{100 * group.error:+.1f} % of {group.participants}" for group in profile.participants
    )
    return "\n".join([
        *rows,
        "",
        f"The held-out teacher's time (last row) was predicted {100 * profile.held_out.error:+.1f} "
        f"% off, the teachers' time of whole collaborations {groups} participants, on a busier "
        "machine.",
    ])  # fmt: skip


def main(
    write: PageOption = None,
    images: Annotated[Path | None, typer.Option(help="Folder for sharing.svg.")] = None,
) -> None:
    """Run, print, write."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "sharing"
        sharing = profiled(SharingProfile, "sharing", "--probabilities", PROBABILITIES,
                           "--out", str(out))  # fmt: skip
        if images is not None:
            shutil.copy(out / "sharing.svg", images / "sharing.svg")
        scale = profiled(ScaleProfile, "scale", "--hidden", "16", "--classes", "2",
                         "--out", str(Path(folder) / "cost.json"))  # fmt: skip
    tables = {"sharing": sharing_rows(sharing), "costs": cost_rows(scale)}
    for name, table in tables.items():
        print(f"{name}\n\n{table}\n")
    if write is not None:
        replace_tables(write, tables)


if __name__ == "__main__":
    run_script(main)
