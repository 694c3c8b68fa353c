"""ResNet-18 with random weights, for small images and for large ones.

The layers are torchvision's (extra `vision`); only the first ones depend on the images' size.
"""

from __future__ import annotations

from torch import nn

from securefair.data.torchvision_import import import_torchvision

LARGE_IMAGES = 64
"""Pixels a side from which the first layers are those for ImageNet."""


def resnet18(channels: int, side: int, classes: int) -> nn.Module:
    """ResNet-18 (He and others 2016), with batch normalisation and therefore running statistics.

    From `LARGE_IMAGES` pixels on it begins as for ImageNet: a 7 x 7 convolution of stride 2 and a
    pooling layer, which together shrink images by four a side. Below, where that would leave next
    to nothing, with a 3 x 3 convolution of stride 1 and no pooling, as is usual for CIFAR:
    11,173,962 parameters for three channels and ten classes.

    Args:
        channels: of the images.
        side: the smaller of their height and width, in pixels.
        classes: M.

    Raises:
        BackendUnavailableError: torchvision is not installed.
    """
    network: nn.Module = import_torchvision().models.resnet18(weights=None, num_classes=classes)
    if side < LARGE_IMAGES:
        network.conv1 = _first(channels, 3, stride=1)
        network.maxpool = nn.Identity()
    elif channels != 3:
        network.conv1 = _first(channels, 7, stride=2)
    return network


def _first(channels: int, kernel: int, *, stride: int) -> nn.Conv2d:
    """A first convolution, initialised as torchvision initialises all of them."""
    layer = nn.Conv2d(channels, 64, kernel, stride=stride, padding=kernel // 2, bias=False)
    nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
    return layer
