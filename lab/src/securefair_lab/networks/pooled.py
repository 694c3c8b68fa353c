"""Normalisation, square and pool in one step of training, at a fraction of the memory traffic.

The mean over a window of a (g z + s)^2 + b (g z + s) + c is a polynomial in two means, of z and of
z^2; batch statistics are means of these again. So two passes over the large image suffice forward
and one backward, where the three modules take some forty.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import FunctionCtx
from torch.nn.functional import avg_pool2d

from securefair.model.networks import EncryptableNetwork, Quadratic, flat_modules

Pair = tuple[int, int]

PENALISED = 16
"""Images of a batch whose excess is computed: an estimate of all images', and much cheaper."""

_AXES = (0, 2, 3)
"""All but the channels."""

_KINDS = (torch.float32, torch.bfloat16)
"""Types of values beside float32 statistics; other networks go module by module."""


def with_excess(
    network: EncryptableNetwork, images: Tensor, *, bfloat16: bool = False
) -> tuple[Tensor, Tensor]:
    """As `EncryptableNetwork.with_excess`; what can be one step in training is one.

    The excess of such a step is that of some images of the batch.

    Args:
        network: in training or evaluation.
        images: (B, *input_shape), or flat ones (B, values).
        bfloat16: convolve in that precision: twice as fast where the processor multiplies it.
    """
    values = images.reshape(-1, *network.input_shape)
    kind, excess = values.dtype, values.new_zeros(())
    modules = [module for _, module in flat_modules(network.layers)]
    while modules:
        step = PooledStep.of(modules, values) if network.training else None
        if step is not None:
            values, beyond = step(values)
            excess, modules = excess + beyond, modules[3:]
            continue
        module, *modules = modules
        if isinstance(module, nn.Conv2d):
            with torch.autocast("cpu", torch.bfloat16, enabled=bfloat16):
                values = module(values)
            continue
        values = values.to(kind)
        if isinstance(module, Quadratic):
            excess = excess + module.excess(values)
        values = module(values)
    return values.to(kind).flatten(1), excess


@dataclass(frozen=True, eq=False)
class PooledStep:
    """Three modules that are one step of training."""

    norm: nn.BatchNorm2d
    activation: Quadratic
    pool: nn.AvgPool2d

    @staticmethod
    def of(modules: Sequence[nn.Module], values: Tensor) -> PooledStep | None:
        """The first three of these modules as a step, or None where they are something else.

        Args:
            modules: those that come next.
            values: (B, C, H, W), what they would take; windows must divide the image.
        """
        if len(modules) < 3 or values.dim() != 4:
            return None
        norm, activation, pool = modules[:3]
        if not isinstance(norm, nn.BatchNorm2d) or not norm.affine or norm.momentum is None:
            return None
        if norm.weight.dtype != torch.float32 or values.dtype not in _KINDS:
            return None
        if not isinstance(activation, Quadratic) or activation.channels is None:
            return None
        if not isinstance(pool, nn.AvgPool2d) or _pair(pool.padding) != (0, 0):
            return None
        window = _pair(pool.kernel_size)
        divided = all(size % k == 0 for size, k in zip(values.shape[2:], window, strict=True))
        whole = divided and _pair(pool.stride) == window
        return PooledStep(norm, activation, pool) if whole else None

    def __call__(self, values: Tensor) -> tuple[Tensor, Tensor]:
        """What the modules give in training, and the activation's excess.

        Running statistics move as the normalisation moves them.

        Args:
            values: (B, C, H, W), float32 or bfloat16; statistics are float32 anyway.

        Returns:
            (B, C, H', W') of the values' type; a scalar, the mean over the first `PENALISED`
            images.
        """
        norm, activation = self.norm, self.activation
        result, excess, mean, variance = _Pooled.apply(  # type: ignore[no-untyped-call]
            values,
            norm.weight,
            norm.bias,
            activation.square,
            activation.slope,
            activation.offset,
            norm.eps,
            activation.limit,
            _pair(self.pool.kernel_size),
        )
        assert norm.running_mean is not None  # `supported` refused others
        assert norm.running_var is not None
        assert norm.num_batches_tracked is not None
        assert norm.momentum is not None  # `of` did
        count = values.numel() // values.shape[1]
        norm.num_batches_tracked.add_(1)
        norm.running_mean.lerp_(mean, norm.momentum)
        norm.running_var.lerp_(variance * (count / (count - 1)), norm.momentum)
        return result, excess


class _Pooled(torch.autograd.Function):
    """Of the small vectors torch derives the gradients, of the images we do."""

    @staticmethod
    def forward(
        ctx: FunctionCtx,
        z: Tensor,
        weight: Tensor,
        bias: Tensor,
        square: Tensor,
        slope: Tensor,
        offset: Tensor,
        eps: float,
        limit: float,
        window: Pair,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        first, second = avg_pool2d(z, window), avg_pool2d(z * z, window)
        moments = [each.mean(_AXES, dtype=torch.float32) for each in (first, second)]
        with torch.enable_grad():
            leaves = [
                each.detach().requires_grad_()
                for each in (*moments, weight, bias, square, slope, offset)
            ]
            mean, power, w, shifted, a, b, c = leaves
            variance = power - mean * mean
            gain = w * torch.rsqrt(variance + eps)
            shift = shifted - mean * gain
            # a (g z + s)^2 + b (g z + s) + c by powers of z
            powers = [(a * shift + b) * shift + c, (2 * a * shift + b) * gain, a * gain * gain]
        constant, linear, quadratic = (_channels(each, z.dtype) for each in powers)
        result = torch.addcmul(torch.addcmul(constant, first, linear), second, quadratic)
        some = z[:PENALISED].float()
        inside = torch.addcmul(_channels(shift), some, _channels(gain))
        beyond = inside - inside.clamp(-limit, limit)
        ctx.save_for_backward(z, first, second, beyond)
        ctx.window = window  # type: ignore[attr-defined]
        ctx.small = (leaves, powers, gain, shift)  # type: ignore[attr-defined]
        variance = variance.detach()
        ctx.mark_non_differentiable(moments[0], variance)
        return result, beyond.square().mean(), moments[0], variance

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        z, first, second, beyond = ctx.saved_tensors
        leaves, powers, gain, shift = ctx.small
        result, excess = gradients[:2]
        down, right = ctx.window
        area = down * right
        by_inside = beyond * (2 * excess / beyond.numel())
        by_small = [
            result.sum(_AXES, dtype=torch.float32),
            (result * first).sum(_AXES, dtype=torch.float32),
            (result * second).sum(_AXES, dtype=torch.float32),
            (by_inside * z[:PENALISED]).sum(_AXES),
            by_inside.sum(_AXES),
        ]
        by_mean, by_power, *by_parameters = torch.autograd.grad(
            [*powers, gain, shift], leaves, by_small
        )
        windows = first.numel() // first.shape[1]
        _, linear, quadratic = powers
        by_first, by_second = (
            torch.addcmul(
                _channels(by_moment * (factor / (windows * area)), z.dtype),
                result,
                _channels(by_channel * (factor / area), z.dtype),
            )
            for by_moment, by_channel, factor in (
                (by_mean, linear, 1.0),
                (by_power, quadratic, 2.0),
            )
        )
        samples, channels, height, width = z.shape
        # Channels last, and the places of a window as axes of their own.
        split = (samples, height // down, down, width // right, right, channels)
        image = z.permute(0, 2, 3, 1).reshape(split)
        by_image = torch.addcmul(_spread(by_first), image, _spread(by_second))
        by_z = by_image.view(samples, height, width, channels).permute(0, 3, 1, 2)
        by_z[:PENALISED] += (by_inside * _channels(gain)).to(z.dtype)
        return (by_z, *by_parameters, None, None, None)


def _channels(vector: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    return vector.detach().to(dtype).view(-1, 1, 1)


def _spread(each: Tensor) -> Tensor:
    return each.permute(0, 2, 3, 1)[:, :, None, :, None]


def _pair(value: int | Pair) -> Pair:
    return value if isinstance(value, tuple) else (value, value)
