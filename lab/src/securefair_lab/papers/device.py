"""Where an experiment's networks train."""

from __future__ import annotations

import torch

from securefair.errors import ConfigError


def chosen_device(named: str | None, size: str) -> str:
    """The device that is named; None: a GPU for the papers' sizes where there is one.

    Reduced sizes stay on the processor by default: their networks are too small for a GPU, and
    there equal seeds give equal bytes.

    Raises:
        ConfigError: torch does not know such a device, or cannot use it here.
    """
    if named is None:
        return "cuda" if size == "paper" and torch.cuda.is_available() else "cpu"
    try:
        torch.zeros(1, device=named).tolist()
    except (RuntimeError, AssertionError, ModuleNotFoundError, NotImplementedError) as error:
        raise ConfigError(
            "torch cannot use this device here",
            where="--device",
            found=named,
            expected="cpu, cuda or cuda:0, and so on",
            hint="See `securefair doctor`",
        ) from error
    return named
