"""`securefair reproduce all`: every experiment of a size, in turn, after an estimate."""

from __future__ import annotations

from pathlib import Path

import typer

from securefair.errors import ConfigError, DataError
from securefair.report import Screen, plural, say
from securefair_lab.data.folder import data_folder
from securefair_lab.papers.catalogue import EXPERIMENTS, experiment_named
from securefair_lab.papers.device import chosen_device
from securefair_lab.papers.estimate import Estimate, estimate
from securefair_lab.papers.experiment import Size
from securefair_lab.papers.reproduction import Asked, conclude, whole

SIZES: tuple[Size, ...] = ("smoke", "cpu", "paper")


def everything(
    name: str | None,
    size: str,
    seeds: int,
    *,
    out: Path | None,
    data: Path | None,
    device: str | None,
    papers: Path | None,
    hours: bool,
) -> None:
    """Estimate one experiment or all (None), and run all unless only `hours` are asked for.

    Every experiment has a folder in `out`, finished runs are shared, and what is there already is
    gone on with. An experiment that lacks data or a library is left out, and named at the end.

    Raises:
        ConfigError: no such size, experiment or device.
        DataError: at the end: what some experiments need is missing.
    """
    known = next((one for one in SIZES if one == size), None)
    if known is None:
        raise ConfigError("no such size", where="--size", found=size, expected=", ".join(SIZES))
    named = list(EXPERIMENTS.values()) if name is None else [experiment_named(name)]
    experiments = [one for one in named if known in one.sizes]
    where = chosen_device(device, size)
    folder = data_folder(data) if known != "smoke" else None
    found = estimate(experiments, known, seeds=seeds, data=folder, device=where)
    _tell(found, where)
    if hours:
        return
    root = out or Path("runs") / f"all-{size}"
    for experiment in experiments:
        if experiment.name in found.without:
            continue
        asked = Asked.of(
            experiment.name,
            size,
            seeds,
            out=root / experiment.name,
            data=data,
            device=device,
            runs=root / "shared",
        )
        say(experiment.name, err=True)
        try:
            conclude(asked, whole(asked, resume=True), papers, against=None, json=False)
        except KeyboardInterrupt:
            say(f"Stopped. The same command goes on with {root}.", err=True)
            raise typer.Exit(130) from None
    if found.without:
        raise DataError(
            "some experiments were left out: what they need is missing",
            where=str(folder),
            found=", ".join(found.without),
            hint=next(iter(found.without.values())),
        )


def _tell(found: Estimate, device: str) -> None:
    console = Screen(err=True)
    for trial in found.trials:
        shape = " x ".join(map(str, trial.shape))
        console.print(
            f"{trial.network} on {shape}, {plural(trial.participants, 'participant')}, batches of "
            f"{trial.batch}: {1000 * trial.seconds:.0f} ms each, {trial.memory:,.0f} MB",
            soft_wrap=True,
        )
    for name, hours in found.hours.items():
        console.print(f"{name}: {hours:.2f} h")
    for name, why in found.without.items():
        console.print(f"{name}: no estimate. {why}", soft_wrap=True)
    console.print(
        f"About {sum(found.hours.values()):.1f} hours on {device} for local training alone."
    )
