"""How many examples a property draws."""

import os

USUAL = 50
"""In `make test`, of a property that does not say otherwise."""


def examples(usual):
    """So many in `make test`; in others SECUREFAIR_EXAMPLES where that draws `USUAL`."""
    most = int(os.environ.get("SECUREFAIR_EXAMPLES", "0"))
    return max(1, usual * most // USUAL) if most else usual
