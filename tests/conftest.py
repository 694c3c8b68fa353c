"""Settings every test shares: reproducible property tests, few threads."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "2")

from hypothesis import HealthCheck, settings

settings.register_profile(
    "repeatable",
    derandomize=True,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("repeatable")
