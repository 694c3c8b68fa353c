"""The ml-inference workload from keys to labels, each stage a process: `make fhe-benchmark`.

    SECUREFAIR_DATA=FOLDER python bench/fhe_benchmark/run.py [--sizes single,small,medium,large]
        [--write docs/performance.md]

Writes results.json beside this file, step by step, prints a table, and puts it into a page. Every
run is checked: its labels are compared with those of the model in the clear.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from stage import IMAGES, Files, key_file
from task import features, model

import securefair as sf
from securefair.profiling.head import describe_machine
from securefair.report import read_json, write_json
from securefair_lab.data.folder import data_folder
from securefair_lab.data.images import load_mnist

sys.path.append(str(Path(__file__).parent.parent))
from page import PageOption, replace_tables, run_script  # a script beside the folder

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"

STAGES = {
    "client_key_generation": "Key Generation",
    "server_preprocess_model": "Model preprocessing",
    "client_preprocess_input": "Input preprocessing",
    "client_encode_encrypt_input": "Input encryption",
    "server_encrypted_compute": "Encrypted computation",
    "client_decrypt_decode": "Result decryption",
    "client_postprocess": "Result postprocessing",
}
"""Scripts in order, and what the workload calls them."""


def size_of(folder: Path) -> int:
    """Bytes of all files in it."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def write_images(own: Files, digits: Any) -> None:
    """The first test images, a line each, as the workload's generator writes them."""
    pixels = digits.test.pixels[: own.images].reshape(own.images, -1) / 255
    np.savetxt(own.pixels, pixels, fmt="%.6f")
    np.savetxt(own.labels, digits.test.labels[: own.images], fmt="%d")


def run(size: str, flooding_bits: int, digits: Any, root: Path) -> dict[str, Any]:
    """One pass over all stages.

    Raises:
        subprocess.CalledProcessError: a stage failed; its own message is on the standard error.
    """
    environment = {
        **os.environ,
        "SECUREFAIR_BENCHMARK": str(root),
        "SECUREFAIR_FLOODING_BITS": str(flooding_bits),
    }
    os.environ["SECUREFAIR_BENCHMARK"] = str(root)
    own = Files(size)
    for folder in own.folders:
        folder.mkdir(parents=True, exist_ok=True)
    write_images(own, digits)
    seconds = {}
    for stage, name in STAGES.items():
        started = time.perf_counter()
        subprocess.run([sys.executable, str(HERE / f"{stage}.py"), size], check=True,
                       env=environment)  # fmt: skip
        seconds[name] = time.perf_counter() - started
    keystore, key = own.secret / "student.keystore", key_file(own.secret)
    plan = sf.Student.load(keystore, passphrase_file=key).plan
    found, opened = np.loadtxt(own.predictions, dtype=int, ndmin=1), np.load(own.logits)
    rows = features(np.loadtxt(own.pixels, ndmin=2))
    clear, labels = model().logits(rows), digits.test.labels[: own.images]
    return {
        "size": size,
        "images": own.images,
        "flooding_bits": flooding_bits,
        "timing": {**seconds, "Total": sum(seconds.values())},
        "bandwidth": {
            "Public and evaluation keys": size_of(own.public),
            "Encrypted input": size_of(own.upload),
            "Encrypted results": size_of(own.download),
        },
        "quality": {
            "accuracy_encrypted": float(np.mean(found == labels)),
            "accuracy_clear": float(np.mean(clear.argmax(axis=1) == labels)),
            "agreement": float(np.mean(found == clear.argmax(axis=1))),
            "max_abs_error": float(np.abs(opened - clear).max()),
        },
        "security_bits": plan.security_bits,
        "ring_degree": plan.params.ring_degree,
        "limbs": plan.params.limbs,
        "log_qp": plan.params.log_qp,
    }


def table(results: dict[str, Any]) -> str:
    """What the workload's site lists, a row a run."""
    rows = [
        "| images | flooding, bits | keys, s | encryption, s | server, s | decryption, s "
        "| all stages, s | keys, MB | up, MB | down, MB | accuracy (clear) |",
        "|" + "---|" * 11,
    ]
    for r in results["runs"]:
        t, b, q = r["timing"], r["bandwidth"], r["quality"]
        rows.append(
            f"| {r['images']:,} | {r['flooding_bits']} | {t['Key Generation']:.2f} "
            f"| {t['Input encryption']:.2f} | {t['Encrypted computation']:.2f} "
            f"| {t['Result decryption']:.2f} | {t['Total']:.1f} "
            f"| {b['Public and evaluation keys'] / 1e6:.2f} | {b['Encrypted input'] / 1e6:.1f} "
            f"| {b['Encrypted results'] / 1e6:.2f} "
            f"| {q['accuracy_encrypted']:.4f} ({q['accuracy_clear']:.4f}) |"
        )
    return "\n".join(rows)


def changes(before: dict[str, Any] | None, after: dict[str, Any]) -> str:
    """Server times over those of the kept run before."""
    if before is None:
        return "no earlier run is kept"
    old = {(r["size"], r["flooding_bits"]): r["timing"] for r in before["runs"]}
    lines = []
    for r in after["runs"]:
        key = r["size"], r["flooding_bits"]
        if key in old:
            for name in ("Input encryption", "Encrypted computation", "Total"):
                ratio = r["timing"][name] / old[key][name]
                lines.append(f"{key[0]}, {key[1]} bits, {name}: {ratio:.2f} of the run before")
    return "\n".join(lines)


def main(
    sizes: Annotated[str, typer.Option(help="Some of single, small, medium, large.")] = ",".join(
        IMAGES
    ),
    out: Annotated[Path, typer.Option(help="Where results go.")] = RESULTS,
    write: PageOption = None,
) -> None:
    """Run, check, compare, write."""
    asked = sizes.split(",")
    if unknown := set(asked) - set(IMAGES):
        raise typer.BadParameter(f"{', '.join(unknown)}: choose of {', '.join(IMAGES)}")
    digits = load_mnist(data_folder())
    before = read_json(out, dict[str, Any]) if out.exists() else None
    machine = describe_machine()
    results: dict[str, Any] = {
        "model_name": "484-128-x^2-10",
        "dataset_name": "mnist",
        "machine": {"processor": machine.processor, "cores": machine.cores},
        "runs": [],
    }
    for size in asked:
        for flooding_bits in (30, 0):
            root = Path(tempfile.mkdtemp(prefix="securefair-benchmark-"))
            try:
                results["runs"].append(run(size, flooding_bits, digits, root))
            finally:
                shutil.rmtree(root)
            write_json(out, results)
    print(table(results))
    print(changes(before, results))
    if write is not None:
        replace_tables(write, {"public-benchmark": table(results)})


if __name__ == "__main__":
    run_script(main)
