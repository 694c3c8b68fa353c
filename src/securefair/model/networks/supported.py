"""Which modules and options encryption can evaluate, and what to use instead of others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import nn

from securefair.errors import ModelError
from securefair.model.quadratic import Quadratic

VANISHING = (nn.Identity, nn.Dropout, nn.Dropout2d)
"""Modules that do nothing in evaluation mode."""

SQUARE = "Quadratic(channels)"
STATISTICS = "BatchNorm2d, whose statistics are constants in evaluation"
LATER = "nothing here: the student applies it after decryption"

ALTERNATIVES: dict[type[nn.Module], str] = {
    **dict.fromkeys(
        (
            nn.ReLU,
            nn.ReLU6,
            nn.LeakyReLU,
            nn.PReLU,
            nn.ELU,
            nn.GELU,
            nn.SiLU,
            nn.Hardswish,
            nn.Sigmoid,
            nn.Tanh,
            nn.Softplus,
        ),
        SQUARE,
    ),
    nn.MaxPool2d: "AvgPool2d of the same window",
    nn.AdaptiveMaxPool2d: "AvgPool2d with a fixed window",
    nn.AdaptiveAvgPool2d: "AvgPool2d with a fixed window",
    nn.LayerNorm: STATISTICS,
    nn.GroupNorm: STATISTICS,
    nn.InstanceNorm2d: STATISTICS,
    nn.Softmax: LATER,
    nn.LogSoftmax: LATER,
}
"""Modules that people reach for, and what to use under encryption."""


def check_supported(name: str, module: nn.Module) -> None:
    """Refuse a module that encryption cannot evaluate.

    Args:
        name: where it stands in its network.
        module: what to check; sequences are the caller's business.

    Raises:
        ModelError: the module or one of its options; the hint names the alternative.
    """
    check = SUPPORTED.get(type(module))
    if check is None:
        alternative = ALTERNATIVES.get(type(module))
        raise ModelError(
            "encryption cannot evaluate this module",
            where=f"module {name}",
            found=type(module).__name__,
            expected=", ".join(kind.__name__ for kind in SUPPORTED),
            hint=f"Use {alternative}" if alternative else None,
        )
    hint = check(module)
    if hint:
        raise ModelError(
            "encryption cannot evaluate an option of this module",
            where=f"module {name}",
            found=repr(module),
            hint=hint,
        )


def _convolution(module: nn.Conv2d) -> str | None:
    if module.dilation != (1, 1):
        return "Set dilation to 1"
    if isinstance(module.padding, str):
        return "Say the padding in numbers, the same on both sides"
    if module.padding_mode != "zeros":
        return "Set padding_mode to 'zeros'"
    return None


def _pool(module: nn.AvgPool2d) -> str | None:
    if module.ceil_mode or module.divisor_override:
        return "Leave ceil_mode and divisor_override out"
    if not module.count_include_pad and module.padding not in (0, (0, 0)):
        return "Set count_include_pad: the divisor must not depend on the position"
    return None


def _normalisation(module: nn.BatchNorm1d | nn.BatchNorm2d) -> str | None:
    return None if module.track_running_stats else "Set track_running_stats"


def _flatten(module: nn.Flatten) -> str | None:
    whole = (module.start_dim, module.end_dim) == (1, -1)
    return None if whole else "Flatten everything but the samples: nn.Flatten()"


def _anything(_: nn.Module) -> str | None:
    return None


SUPPORTED: dict[type[nn.Module], Callable[[Any], str | None]] = {
    nn.Conv2d: _convolution,
    nn.AvgPool2d: _pool,
    nn.BatchNorm2d: _normalisation,
    nn.BatchNorm1d: _normalisation,
    Quadratic: _anything,
    nn.Flatten: _flatten,
    nn.Linear: _anything,
}
"""Each supported module, and a check of its options that returns a hint where one is not."""
