"""What each side loads: a client, and a teacher that was saved, need neither torch nor tables."""

import math
import subprocess
import sys

import msgspec
import numpy as np
import pytest

from securefair import ExchangeSpec, Teacher, build_head, plan_exchange
from securefair.ckks.backends import kernels
from securefair.exchange.request import Request
from securefair.storage import KeystoreCost

HEAVY = ("torch", "scipy", "sklearn", "pandas", "pyarrow")
CHEAP = KeystoreCost(log2_n=1)
CLASSES = 2

pytestmark = pytest.mark.skipif(not kernels.available(), reason="torch computes without them")

BEGIN = """
import sys
import numpy as np
import securefair as sf

features = np.load("features.npy")
samples = sf.Samples(features, np.arange(len(features)) % 2, 2)
spec = sf.ExchangeSpec(
    features=features.shape[1], samples=len(samples), classes=2, hidden=2, q=3, release=sys.argv[1]
)
"""
KEYS = (
    BEGIN
    + """
from securefair.storage import KeystoreCost

sf.Student(spec, seed=b"s").save("student", "a passphrase", cost=KeystoreCost(log2_n=1))
"""
)
ENCRYPT = (
    BEGIN
    + """
student = sf.Student.load("student", "a passphrase")
p = np.full((len(samples), 2), 0.5) if spec.sends_predictions else None
open("request", "wb").write(student.request(samples, predictions=p))
"""
)
ANSWER = """
import securefair as sf

answer = sf.Teacher.load("teacher", "a passphrase").answer(open("request", "rb").read())
open("answer", "wb").write(answer)
"""
OPEN = (
    BEGIN
    + """
student = sf.Student.load("student", "a passphrase")
student.prepare(samples)
asked = open("request", "rb").read()
np.save("released.npy", student.open(open("answer", "rb").read(), request=asked).released)
"""
)
EACH = f"""
import os, sys, traceback
import securefair.exchange.student, securefair.exchange.teacher
import securefair.ckks.backends.rns

for code in sys.argv[2:]:
    if not os.fork():
        try:
            exec(code, {{}})
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        print([name for name in {HEAVY} if name in sys.modules], flush=True)
        os._exit(0)
    assert not os.wait()[1]
"""


def loaded(release, folder, *codes):
    """What a process of its own has loaded after each of some codes."""
    run = [sys.executable, "-W", "error", "-c", EACH, release, *codes]
    done = subprocess.run(run, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("release", "shape", "keys"),
    [
        ("logits", (8, 3), 0),
        # In pairs: a key for squares and one for conjugates.
        pytest.param("logits", (2100, 65), 2, marks=pytest.mark.slow),
        ("projection", (8, 3), 0),
        pytest.param("loss", (8, 3), 1, marks=pytest.mark.slow),
    ],
)
def test_every_stage_runs_without_torch_and_tables(release, shape, keys, tmp_path):
    features = np.random.default_rng(0).uniform(-1, 1, shape)
    np.save(tmp_path / "features.npy", features)
    spec = ExchangeSpec(
        features=shape[1], classes=CLASSES, samples=shape[0], hidden=2, q=3, release=release
    )
    plan = plan_exchange(spec)
    assert bool(plan.relinearization_limbs) + bool(plan.galois_limbs) == keys
    head = build_head("quadratic", shape[1], 2, CLASSES, seed=0)
    Teacher(head, spec, seed=b"s", max_numbers=math.inf).save(
        tmp_path / "teacher", "a passphrase", cost=CHEAP
    )
    assert loaded(release, tmp_path, KEYS, ENCRYPT, ANSWER, OPEN) == ["[]"] * 4
    sent = msgspec.msgpack.decode((tmp_path / "request").read_bytes(), type=Request)
    assert bool(sent.evaluation_keys) == bool(keys)
    if release == "logits":
        opened = np.load(tmp_path / "released.npy")
        assert np.abs(opened - head.logits(features)).max() < 0.05  # weights are rounded


def test_the_search_would_find_torch(tmp_path):
    (tmp_path / "torch.py").touch()
    assert loaded("", tmp_path, "import torch", "import json") == ["['torch']", "[]"]
