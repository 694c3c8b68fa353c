"""For users of scikit-learn: a hospital's fit over its peers' answers, as an estimator.

Three hospitals with few patients each. The peers' answers are computed here in the clear; under
encryption `securefair.collaborate` or a run opens them, and gives models of the same kind.
"""

import numpy as np
from sklearn.inspection import permutation_importance
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_score

import securefair as sf

FEATURES = 8


def hospital(patients: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Patients whose outcome follows the same rule everywhere."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (patients, FEATURES))
    risk = 2.5 * x[:, 0] - 2 * x[:, 1] + x[:, 2]
    return x, np.where(rng.random(patients) < 1 / (1 + np.exp(-risk)), "ill", "well")


north, south, east, later = (hospital(n, s) for s, n in enumerate((30, 300, 200, 1000)))

# Alone: the tuned control, like any other estimator.
search = GridSearchCV(sf.TransferClassifier(), {"degree": [1, 2]}, cv=5).fit(*north)
alone = search.best_estimator_
loss = log_loss(later[1], alone.predict_proba(later[0]))
print(f"alone, degree {alone.degree}: log-loss {loss:.3f}")
print(f"cross-validated accuracy: {cross_val_score(alone, *north, cv=5).mean():.2f}")

# With what the peers' models say of the very patients that north fits to.
teachers = {
    "south": sf.TransferClassifier().fit(*south),
    "east": sf.TransferClassifier().fit(*east),
}
answers = {name: model.decision_function(north[0]) for name, model in teachers.items()}
together = sf.TransferClassifier(peers=answers, calibrate=True).fit(*north)
print(f"with peers: log-loss {log_loss(later[1], together.predict_proba(later[0])):.3f}")
print(f"trust in peers: {together.trust_.in_peers:.2f}")

# The same between hospitals that see ciphertexts only; clear here, to be quick.
result = sf.collaborate({"north": north, "south": south, "east": east}, backend="clear")
kept = result.models["north"]
print(f"run: log-loss {log_loss(later[1], kept.predict_proba(later[0])):.3f}")
importance = permutation_importance(kept, *later, n_repeats=3, random_state=0).importances_mean
print("features by importance:", np.argsort(-importance)[:3].tolist())
