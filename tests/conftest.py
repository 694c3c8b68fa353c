"""Settings every test shares: reproducible property tests, one thread."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
from hypothesis import HealthCheck, settings

# Heads are so small that threads mostly wait for each other: twenty times slower with two.
torch.set_num_threads(1)

settings.register_profile(
    "repeatable",
    derandomize=True,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("repeatable")
