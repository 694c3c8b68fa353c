"""`securefair export`: what may leave the house, of a run or of a kept model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from securefair.cli.ending import stop
from securefair.cli.options import ForceOption, JsonOption
from securefair.report.telling import say, say_json


def export(
    folder: Annotated[
        Path, typer.Argument(help="Folder of a finished run, or of a model such as RUN/models/A.")
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Folder or .zip file for a run, .onnx file for a model."),
    ] = None,
    force: ForceOption = False,
    json: JsonOption = False,
) -> None:
    """Bundle a run for a publication, or write a kept model as ONNX for other programs.

    The bundle of a run holds configuration, versions, seeds, scores by seed and LaTeX tables. It
    holds no patients. An ONNX file is a model: it tells of the patients that it was trained on. It
    is compared with the model by onnxruntime, where that is installed.

    Example: securefair export runs/mine --out mine.zip

    Example: securefair export runs/mine/models/north --out north.onnx
    """

    from securefair.report import check_new_file, check_writable

    if (folder / "model.json").exists():
        _model(folder, out or Path(f"{folder.absolute().name}.onnx"), force, json)
        return
    from securefair.run.bundle import write_bundle
    from securefair.run.folder import read_run

    run = read_run(folder)
    target = out or folder / "export"
    if target.suffix == ".zip":
        check_new_file(target, force=force)
    elif target.suffix == ".onnx":
        stop(f"{target}: this is a run, whose models are in {folder}/models; name one of them")
    elif out is not None and target.suffix[1:].isalpha() and not target.is_dir():
        stop(f"{target}: a bundle is a folder, or one file that ends in .zip")
    check_writable(target.parent)
    files = write_bundle(run, target)
    if json:
        say_json({"out": str(target), "files": files})
        return
    say(f"{target}: {', '.join(files)}")


def _model(folder: Path, out: Path, force: bool, json: bool) -> None:
    from importlib.util import find_spec

    from securefair.prediction import load_model
    from securefair.prediction.onnx_file import largest_difference, onnx_bytes
    from securefair.report import check_new_file
    from securefair.report.files import write_bytes

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
