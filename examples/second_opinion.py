"""One patient, and a vendor's model that nobody else may have: what does it say, for how much?

    python examples/second_opinion.py [BACKEND]

A vendor trained a forest, here on breast biopsies. A hospital wants its probability for one
patient. The vendor never sees the patient, the hospital never sees the forest. A stand-in answers,
fitted by the vendor to what its forest says: a linear function of the measurements and of 512
leaves of public trees, which the hospital computes of its patient before it encrypts.
"""

import sys
import time
from functools import partial

import numpy as np
from scipy.special import expit
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

import securefair as sf
from securefair.model.transfer.design import tree_design
from securefair.model.transfer.public_trees import public_trees
from securefair.model.transfer.stand_in import stand_in

BACKEND = sys.argv[1] if len(sys.argv) > 1 else "rns"

# Everybody: the measurements of a biopsy, by public ranges in [-1, 1].
measured, benign = load_breast_cancer(return_X_y=True)
low, high = measured.min(axis=0), measured.max(axis=0)
features = 2 * (measured - low) / (high - low) - 1
trees = public_trees(features.shape[1])
spec = sf.ExchangeSpec(
    features=features.shape[1] + trees.leaves, classes=1, samples=2, hidden=0, release="logits"
)

# The vendor: a forest, and its stand-in.
theirs = sf.Samples(features[:400], benign[:400], classes=2)
forest = RandomForestClassifier(min_samples_leaf=3, random_state=0).fit(
    theirs.features, benign[:400]
)
found = stand_in(
    forest.predict_proba, theirs, partial(tree_design, beside=True), np.random.default_rng(0)
)
vendor = sf.Teacher(found.function.on_mapped(), spec, backend=BACKEND)
print(
    f"stand-in: probabilities differ by {found.disagreement.own:.3f} on average, "
    f"{found.disagreement.other_class:.1%} of patients get another class"
)

# The hospital: one patient, who fills both places of the question.
patient = features[450:451].repeat(2, axis=0)
started = time.perf_counter()
student = sf.Student(spec, backend=BACKEND)
question = student.request(sf.Samples(trees.mapped(patient), np.zeros(2, dtype=np.int64), 1))
answer = vendor.answer(question)
probability = expit(student.open(answer).logits[0, 0])
seconds = time.perf_counter() - started
print(
    f"benign: {probability:.3f} by the second opinion, "
    f"{forest.predict_proba(patient)[0, 1]:.3f} by the forest itself"
)
print(
    f"question {len(question) / 1000:.0f} kB, answer {len(answer) / 1000:.0f} kB, "
    f"{seconds:.2f} s on both sides"
)
