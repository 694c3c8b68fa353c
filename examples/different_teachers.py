"""A small clinic learns from a forest, a network and a line that nobody may have.

    python examples/different_teachers.py [BACKEND [SEEDS [two]]]

North answers from a random forest, West from a neural network, East from a line; Small has 40
images. With `two` there are two hospitals, North and Small: a sum over one other would be its
model, so only a question under encryption hides it. Parameters of models of different kinds cannot
be added up, and an answer tells 32 of the 577 numbers of a stand-in. The task: is a drawn digit
odd? No line tells that well. What Small gains is stated over whatever it can have alone, a forest
and an ensemble among it.
"""

import sys

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier

import securefair as sf

BACKEND = sys.argv[1] if len(sys.argv) > 1 else "rns"
SEEDS = int(sys.argv[2]) if len(sys.argv) > 2 else 1
TWO = sys.argv[3:] == ["two"]
SAMPLES = (
    {"North": 200, "Small": 40} if TWO else {"North": 200, "West": 200, "East": 200, "Small": 40}
)

images, digits = load_digits(return_X_y=True)
features, odd = images / 8 - 1, digits % 2
teachers = {
    "North": "forest",
    "West": MLPClassifier((64,), alpha=0.1, max_iter=800, random_state=0),
    "East": LogisticRegression(C=0.1, max_iter=1000),
}
teachers = {name: model for name, model in teachers.items() if name in SAMPLES}

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
print(f"Small sent {sent / 1e6 / (len(SAMPLES) - 1):.2f} MB to each peer")
for method, losses in found.items():
    print(f"Small, {method}: log-loss {np.mean(losses):.3f}")
best = min(
    (method for method in found if method != "transfer"), key=lambda one: np.mean(found[one])
)
gains = np.subtract(found[best], found["transfer"])
error = f" ± {gains.std(ddof=1) / len(gains) ** 0.5:.3f} over divisions" if SEEDS > 1 else ""
print(f"Small gains {gains.mean():.3f}{error} over {best}")
