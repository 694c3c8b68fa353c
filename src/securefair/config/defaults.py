"""Defaults that configurations, Python calls, commands and agreements share: each stands here once.

Every room may import this module, also those beside `config`: it imports nothing itself. A room's
other defaults are its own. The algorithms of the laboratory default to what
their papers print. Rounds and lambda_0 were chosen on training patients (docs/demonstration.md):
more rounds overfit.
"""

from typing import Final

# Data: what is held out, and how columns become features.
TEST_FRACTION = 1 / 3
NO, YES = "0", "1"
MISSING = (
    *("", "?", "-", ".", "NA", "N/A", "n/a", "n.a.", "NaN", "nan", "NULL", "null"),
    *("k.A.", "k. A.", "#NV", "#N/A"),
)
SPELLINGS: Final = "exact"
IMAGE_SIDE = 224
IMAGE_MEAN, IMAGE_DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # ImageNet's
IMAGE_LIMIT = 4.0
DELTA = 0.5
PARTITION_BY: Final = "class"

# Training.
MODEL_KIND: Final = "quadratic"
HIDDEN = 16
WEIGHT_BITS = 12
RANGE_PENALTY = 0.01
LEARNING_RATE = 0.05
MOMENTUM = 0.9
WEIGHT_DECAY = 1e-3
CLIP_NORM = 5.0
LOCAL_EPOCHS = 40
ROUNDS = 8
LOCAL_STEPS = 5
METRIC: Final = "log_loss"

# What a student learns from its teachers, and how much it learns of them.
RELEASE: Final = "projection"
BASIS: Final = "public"
Q = 64  # of a projection
TRANSFER_Q = 32
PEERS = 8
MISSING_TEACHERS = 1  # teachers of a mean that may be away
PREVALENCE: Final = "own"
TEMPERATURE = 5.0
LAMBDA_0 = 30.0
SAMPLE_CLIP, ANSWER_CLIP = 16.0, 8.0

# Reputation.
ALPHA = 0.5
TAU_OPT, TAU_MAX = 0.25, 0.75
FORCED_EVERY = 5

# Averages of models.
AVERAGING: Final = "masked"
TOPOLOGY: Final = "complete"
WEIGHTING: Final = "uniform"
BETA = 15.0
LEVELS = 5
MAX_SUMS = 6
SKETCH = 8192
SKETCH_FAILURE = 1e-6  # probability with which the stated error of a sketch may be exceeded
BOUND = 16.0
SUM_PRECISION = 2.0**-16
SUM_FLOODING_BITS = 40
FEWEST_DESCRIBED = 3  # hospitals whose patients are described together
MIN_SENDERS = 2  # a sum over one sender is that sender's model

# Encryption.
BACKEND: Final = "rns"
PROCESSOR: Final = "cpu"  # where ciphertexts are computed on
SAME_KERNELS: Final = "cpu-kernels"  # those of cards, on the processor
DEVICE_PATTERN: Final = r"cpu|cpu-kernels|cuda(:\d{1,2})?"
FLOODING_BITS = 30
ANSWERS = 16  # to one upload: as often as a student of some rounds asks
MIN_FLOODING_BITS, MAX_FLOODING_BITS = 30, 60  # nobody answers with less, nobody plans more
PRECISION = 2.0**-10
KEY_BITS = 64.0
KEY_OPENINGS = 64
DISCLOSURE_FRACTION = 1.0

# Differential privacy.
UNIT: Final = "patient"

# Time.
ROUND_SECONDS = 600.0
SETUP_SECONDS = 3600.0
SITE_ROUND_SECONDS = 3600.0  # between sites, where people start programs
SITE_SETUP_SECONDS = 86_400.0
