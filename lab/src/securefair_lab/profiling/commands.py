"""`securefair profile ...`: what the laboratory measures, each a command of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from securefair.config import defaults
from securefair.profiling.options import (
    EngineOption,
    FloodingOption,
    JsonOption,
    RepeatsOption,
    ThreadsOption,
    WarmOption,
)
from securefair.report import say_json
from securefair_lab.profiling.numbers import numbers_of


def sharing(
    config: Annotated[
        Path | None, typer.Option(help="TOML file of a run (default: the demo's hospitals).")
    ] = None,
    data: Annotated[
        str | None, typer.Option(help="Data set: heart, breast-cancer or digits.")
    ] = None,
    participants: Annotated[
        int | None,
        typer.Option(help="Equal parts of a data set (default: its hospitals, or four parts)."),
    ] = None,
    samples: Annotated[
        int | None, typer.Option(help="Training samples of everyone; repeated if need be.")
    ] = None,
    features: Annotated[
        int | None, typer.Option(help="Width of a sample; padded with zeros or cut.")
    ] = None,
    rounds: Annotated[
        int | None,
        typer.Option(min=1, help="Of every run (default: the config's, or enough for a line)."),
    ] = None,
    probabilities: Annotated[
        str, typer.Option(help="Sharing probabilities, separated by commas.")
    ] = "0,0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1",
    release: Annotated[
        str | None, typer.Option(help="What participants train on: projection (default) or logits.")
    ] = None,
    q: Annotated[
        int | None,
        typer.Option(
            help="Of a projection: numbers per class (default: 64, or half the fewest samples)."
        ),
    ] = None,
    backend: Annotated[str | None, typer.Option(help="rns (default), seal or clear.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of models, batches and coins.")] = 0,
    threads: Annotated[int, typer.Option(min=1, help="Threads of all libraries together.")] = 1,
    out: Annotated[
        Path | None, typer.Option(help="Folder for sharing.json, .csv, .svg and .png.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """What adaptive sharing saves: encrypted rounds at each sharing probability, and CYCle's own.

    Example: securefair profile sharing --participants 4 --rounds 30 --out runs/sharing
    """
    from rich.progress import Progress

    from securefair.ckks import set_threads
    from securefair.config import load_config, override
    from securefair.report import Screen, check_writable
    from securefair.user import load_participants
    from securefair_lab.profiling.sharing import enough_rounds, profile_sharing
    from securefair_lab.profiling.sharing_files import write_sharing
    from securefair_lab.profiling.sharing_table import sharing_table
    from securefair_lab.profiling.tasks import reshaped, task_config, with_possible_q

    if out is not None:
        check_writable(out)
    chosen = numbers_of("--probabilities", probabilities)
    task = task_config(
        load_config(config) if config else None,
        source=data,
        participants=participants,
        rounds=rounds,
        release=release,
        q=q,
        backend=backend,
    )
    everyone = reshaped(
        load_participants(task, seed), samples=samples, features=features, seed=seed
    )
    task = task if q else with_possible_q(task, everyone)
    if rounds is None and config is None:
        enough = enough_rounds(len(everyone), task.fairness.forced_every)
        task = override(task, {"training.rounds": enough}, source="default")
    set_threads(threads)
    with Progress(console=Screen(err=True), transient=True) as bar:
        shown = bar.add_task("Encrypted rounds", total=None)
        measured = profile_sharing(
            task, everyone, chosen, seed=seed, on_round=lambda: bar.advance(shown)
        )
    if out is not None:
        write_sharing(measured, out)
    if json:
        say_json(measured)
    else:
        Screen().print(sharing_table(measured))


def alignment(
    dimension: Annotated[int, typer.Option(min=1, help="Numbers in a gradient.")] = 1_000_000,
    sketch: Annotated[
        int, typer.Option(help="Numbers that stand for it, a power of two; 0: all of them.")
    ] = defaults.SKETCH,
    failure: Annotated[
        float, typer.Option(help="Probability with which the stated error may be exceeded.")
    ] = defaults.SKETCH_FAILURE,
    flooding_bits: FloodingOption = defaults.FLOODING_BITS,
    backend: EngineOption = defaults.BACKEND,
    threads: ThreadsOption = None,
    repeats: RepeatsOption = 9,
    json: JsonOption = False,
) -> None:
    """One encrypted cosine of two gradients: time, bytes both ways, error and its stated bound.

    Example: securefair profile alignment --dimension 1000000 --json
    """
    from securefair.ckks import cores, set_threads
    from securefair.collaboration.gossip import AlignmentSpec
    from securefair.report import Screen
    from securefair_lab.profiling.alignment import profile_alignment
    from securefair_lab.profiling.alignment_table import alignment_table

    set_threads(threads or cores())
    spec = AlignmentSpec(
        dimension=dimension,
        sketch=sketch or None,
        failure=failure,
        flooding_bits=flooding_bits,
    )
    measured = profile_alignment(spec, backend=backend, repeats=repeats)
    if json:
        say_json(measured)
    else:
        Screen().print(alignment_table(measured))


def averaging(
    parameters: Annotated[int, typer.Option(min=1, help="Of everyone's model.")] = 1_000_000,
    averaging: Annotated[
        str, typer.Option(help="How sums are formed: masked, ckks, crypten or clear.")
    ] = defaults.AVERAGING,
    senders: Annotated[int, typer.Option(help="Peers whose models are summed.")] = 3,
    bound: Annotated[float, typer.Option(help="Largest parameter in magnitude.")] = defaults.BOUND,
    precision: Annotated[
        float, typer.Option(help="Largest error of a parameter over the bound.")
    ] = defaults.SUM_PRECISION,
    flooding_bits: FloodingOption = defaults.SUM_FLOODING_BITS,
    threads: ThreadsOption = None,
    repeats: RepeatsOption = 5,
    json: JsonOption = False,
) -> None:
    """One private weighted sum of models: time and bytes for each sender, error, memory.

    Example: securefair profile averaging --parameters 1000000 --averaging ckks --json
    """
    from securefair.averaging import SumSpec
    from securefair.ckks import cores, set_threads
    from securefair.report import Screen
    from securefair_lab.profiling.averaging import profile_averaging
    from securefair_lab.profiling.averaging_table import averaging_table

    set_threads(threads or cores())
    spec = SumSpec(
        parameters=parameters,
        senders=senders,
        bound=bound,
        precision=precision,
        flooding_bits=flooding_bits,
    )
    measured = profile_averaging(averaging, spec, repeats=repeats)
    if json:
        say_json(measured)
    else:
        Screen().print(averaging_table(measured))


def cnn(
    network: Annotated[
        str,
        typer.Option(help="Reference network: mnist, cifar, cifar-wide, cifar-cosines or derma."),
    ],
    samples: Annotated[
        int | None, typer.Option(help="Images in the batch (default: a ciphertext's places).")
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="Folder of data sets (default: SECUREFAIR_DATA).")
    ] = None,
    cache: Annotated[Path | None, typer.Option(help="Folder for decoded images.")] = None,
    weights: Annotated[
        Path | None,
        typer.Option(help="Weights of lab/examples/train_network.py, not the packaged."),
    ] = None,
    backend: EngineOption = defaults.BACKEND,
    threads: ThreadsOption = None,
    warm: WarmOption = False,
    json: JsonOption = False,
) -> None:
    """A whole network on a batch of encrypted test images: time, bytes, memory, accuracy.

    Example: securefair profile cnn --network mnist --data DATA --json
    """
    from typing import cast

    from securefair.ckks import cores, set_threads
    from securefair.report import Screen
    from securefair_lab.networks import ReferenceName
    from securefair_lab.profiling.cnn import profile_cnn
    from securefair_lab.profiling.cnn_table import cnn_table
    from securefair_lab.profiling.cnn_task import cnn_task

    set_threads(threads or cores())
    task = cnn_task(
        cast(ReferenceName, network),  # checked there
        folder=data,
        cache=cache,
        weights=weights,
        samples=samples,
    )
    measured = profile_cnn(task, backend=backend, threads=threads, warm=warm)
    if json:
        say_json(measured)
    else:
        Screen().print(cnn_table(measured))
