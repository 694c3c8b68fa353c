"""How many examples a property draws."""

import os

USUAL = 50
"""Of a property that does not say otherwise, where nothing is set; `make test` sets half of it."""


def examples(usual):
    """So many where nothing is set; else SECUREFAIR_EXAMPLES where that draws `USUAL`."""
    most = int(os.environ.get("SECUREFAIR_EXAMPLES", "0"))
    return max(1, usual * most // USUAL) if most else usual
