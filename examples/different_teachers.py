"""A small clinic learns from a forest and from a network that nobody may have.

    python examples/different_teachers.py [BACKEND [SEEDS]]

North answers from a random forest, West from a neural network; Small has 40 images. Parameters of
models of different kinds cannot be added up, and an answer tells 32 of the 577 numbers of a
stand-in. The task: is a drawn digit odd? No line tells that well. What Small gains is stated over
whatever it can have alone, a forest and an ensemble among it.
"""

import sys

import numpy as np
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

import securefair as sf

BACKEND = sys.argv[1] if len(sys.argv) > 1 else "rns"
SEEDS = int(sys.argv[2]) if len(sys.argv) > 2 else 1
SAMPLES = {"North": 200, "West": 200, "Small": 40}

images, digits = load_digits(return_X_y=True)
features, odd = images / 8 - 1, digits % 2
teachers = {
    "North": "forest",
    "West": MLPClassifier((64,), alpha=0.1, max_iter=800, random_state=0),
}

found: dict[str, list[float]] = {}
for seed in range(SEEDS):
    order = np.random.default_rng(seed).permutation(len(odd))
    test, hospitals, start = order[1000:], {}, 0
    for name, samples in SAMPLES.items():
        own = order[start : start + samples]
        hospitals[name] = ((features[own], odd[own]), (features[test], odd[test]))
        start += samples
    result = sf.collaborate(
        hospitals, fit="trees", teachers=teachers, seed=seed, backend=BACKEND, progress=False
    )
    scored = result.outcome.result.algorithms
    for method in ("transfer", *result.controls):
        loss = scored[method].metrics["log_loss"].by_hospital["Small"]
        found.setdefault(method, []).append(float(loss or 0.0))

for name, one in scored["transfer"].stand_ins.items():
    print(f"{name} ({one.model}): its stand-in is off by {one.own:.3f} on own images held out")
sent = sum(row.bytes for row in result.traffic if row.sender == "Small")
print(f"Small sent {sent / 2e6:.2f} MB to each peer")
for method, losses in found.items():
    print(f"Small, {method}: log-loss {np.mean(losses):.3f}")
