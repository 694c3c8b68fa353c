"""Defaults that configurations, Python calls and agreements share: each stands here once.

The algorithms in the clear (`securefair.algorithms`) default to what the papers print. Rounds and
lambda_0 were chosen on training patients (docs/demonstration.md): more rounds overfit.
"""

ROUNDS = 8
LOCAL_EPOCHS = 40
LOCAL_STEPS = 5
HIDDEN = 16
TEMPERATURE = 5.0
LAMBDA_0 = 30.0
FORCED_EVERY = 5
MAX_SUMS = 6
ROUND_SECONDS = 600.0
SETUP_SECONDS = 3600.0
