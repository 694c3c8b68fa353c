"""A wheel that was installed works: one encrypted exchange, and the doctor finds nothing missing.

Run it with the interpreter of the environment that holds the wheel. `--native` also asks for the
compiled kernels, which a source installation without a compiler does without.
"""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import securefair as sf
from securefair.data import load_heart


def main() -> None:
    """Ask one hospital's model about another's patients, and compare with the clear logits."""
    if "--native" in sys.argv and find_spec("securefair.ckks.backends._native") is None:
        raise SystemExit("the wheel holds no compiled kernels")
    program = Path(sys.executable).with_name("securefair")
    subprocess.run([program, "doctor"], check=True)

    patients, *_ = load_heart(seed=0)
    model = sf.build_head("quadratic", features=32, hidden=16, classes=2, seed=0)
    samples = patients.train
    spec = sf.ExchangeSpec(
        features=32, classes=2, samples=len(samples), hidden=16, release="logits"
    )
    student, teacher = sf.Student(spec), sf.Teacher(model, spec)
    opened = student.open(teacher.answer(student.request(samples)))
    error = np.abs(opened.logits - model.logits(samples.features)).max()
    bound = sf.plan_exchange(spec).error_bound
    print(f"securefair {sf.__version__}: encrypted logits are off by {error:.1e} of {bound:.1e}")
    if not error < bound:
        raise SystemExit("encrypted and clear logits differ by more than was planned")


if __name__ == "__main__":
    main()
