"""`securefair export`: a kept model for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from securefair.cli.ending import stop
from securefair.cli.options import ForceOption, JsonOption
from securefair.config.extensions import LABORATORY
from securefair.report.telling import say, say_json


def export(
    folder: Annotated[Path, typer.Argument(help="Folder of a model such as RUN/models/A.")],
    out: Annotated[
        Path | None, typer.Option("--out", help="File that ends in .onnx (default: NAME.onnx).")
    ] = None,
    force: ForceOption = False,
    json: JsonOption = False,
) -> None:
    """Write a kept model as ONNX for other programs.

    An ONNX file is a model: it tells of the patients that it was trained on. It is compared with
    the model by onnxruntime, where that is installed.

    Example: securefair export runs/mine/models/north --out north.onnx
    """
    from importlib.util import find_spec

    from securefair.prediction import load_model
    from securefair.prediction.onnx_file import largest_difference, onnx_bytes
    from securefair.report import check_new_file
    from securefair.report.files import write_bytes

    if (folder / "metrics.json").exists():
        stop(
            f"{folder}: this is a run, whose models are in {folder}/models; name one of them. What "
            f"a run may tell a publication: securefair bundle (with {LABORATORY})"
        )
    out = out or Path(f"{folder.absolute().name}.onnx")
    if out.suffix != ".onnx":
        stop(f"{out}: a model is written as ONNX; name a file that ends in .onnx with --out")
    check_new_file(out, force=force)
    model = load_model(folder)
    data = onnx_bytes(model)
    apart = largest_difference(model, data) if find_spec("onnxruntime") else None
    if apart is not None and apart > 1e-3:
        stop(f"{out}: onnxruntime gives other numbers, by {apart:.1e}; nothing was written")
    write_bytes(out, data, private=True)
    holds = model.outcome.own_holds
    if json:
        said = {"out": str(out), "largest_difference": apart, "left_out": holds}
        say_json(said)
        return
    checked = (
        "not compared: onnxruntime is not installed"
        if apart is None
        else f"onnxruntime gives the same numbers within {apart:.1e}"
    )
    say(f"{out}: {checked}")
    if holds:
        say(f"{folder / 'model.json'} holds {holds}; the file that was written does not.")
