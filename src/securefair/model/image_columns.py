"""Images that a table names -> features, by a frozen network whose weights everybody compared.

A rule (`data.table.Image`) names the network, the SHA-256 of its weights and all that is done to an
image. Weights come as safetensors, those of EfficientNet-Lite0 as their authors wrote them; nothing
in either file is ever run. Features are computed once where they can be kept, under a hash of the
files and of the rule.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from torch import Tensor, nn

from securefair.config.columns import ImageColumn
from securefair.data.cache import cache_array, content_key
from securefair.data.dataset import FeatureArray
from securefair.data.images.files import check_image, read_image
from securefair.data.torchvision_import import import_torchvision
from securefair.errors import DataError, ModelError
from securefair.model.extractor import FrozenExtractor, efficientnet_lite0, leading_directions

BLOCK = 256
"""Images whose features are kept together: an interrupted extraction continues from there."""

BATCH = 32

LITE0 = "efficientnet_lite0"
"""The one architecture that is not torchvision's; its weights come with the extra `vision`."""

_LAST: dict[ImageColumn, FrozenExtractor] = {}
"""The one that was built last: it takes seconds, and all tables of a run share one."""


@dataclass(frozen=True, eq=False)
class ImageColumns:
    """What looks at the images of one table: `data.encoding.Extract`.

    Attributes:
        weights: files of weights, by their SHA-256.
        cache: folder that keeps features (8 d bytes an image), readable for its owner only; None,
            and one that cannot be written, compute every time.
    """

    weights: Mapping[str, Path]
    cache: Path | None = None

    def __call__(self, rule: ImageColumn, images: Sequence[tuple[Path, str]]) -> FeatureArray:
        """Features (K, d) in [-1, 1] of image files, each with its place for messages.

        Raises:
            DataError: an image or the weights cannot be read; names the place.
            ModelError: the weights are not those of the rule, or do not fit its network.
            BackendUnavailableError: torchvision or Pillow is not installed.
        """
        extractor = self.extractor(rule)
        blocks = [
            self._block(extractor, rule, images[at : at + BLOCK])
            for at in range(0, len(images), BLOCK)
        ]
        return np.concatenate([np.zeros((0, rule.features)), *blocks])

    def extractor(self, rule: ImageColumn) -> FrozenExtractor:
        """The network of a rule, with its weights.

        Raises:
            DataError, ModelError, BackendUnavailableError: see `__call__`.
        """
        path = self.weights.get(rule.sha256)
        weights = _checked_weights(rule, path)
        if rule not in _LAST:
            _LAST.clear()
            _LAST[rule] = (
                efficientnet_lite0(width=rule.features, side=rule.side, weights=path)
                if rule.architecture == LITE0
                else torchvision_extractor(rule, weights)
            )
        return _LAST[rule]

    def _block(
        self, extractor: FrozenExtractor, rule: ImageColumn, images: Sequence[tuple[Path, str]]
    ) -> FeatureArray:
        def compute() -> NDArray[np.float64]:
            batches = [images[at : at + BATCH] for at in range(0, len(images), BATCH)]
            return np.concatenate(
                [extractor(_pixels(batch, rule.side)).astype(np.float64) for batch in batches]
            )

        if self.cache is None:
            return compute()
        for path, where in images:
            check_image(path, where=where)
        files = [hashlib.sha256(path.read_bytes()).hexdigest() for path, _ in images]
        key = content_key(extractor.key, *files)
        try:
            self.cache.mkdir(mode=0o700, exist_ok=True)
        except OSError:  # data that can only be read
            return compute()
        if not os.access(self.cache, os.W_OK):
            return compute()
        return cache_array(self.cache, extractor.name, key, compute)


def decoded_only(
    decoded: set[Path], rule: ImageColumn, images: Sequence[tuple[Path, str]]
) -> FeatureArray:
    """Zeros (K, d) in the place of features: sees that every image is there, and is whole.

    Args:
        decoded: images that were found whole before, which is not seen again; grows.
        rule: of the column.
        images: files, each with its place for messages.

    Raises:
        DataError: an image cannot be read; names the place.
        BackendUnavailableError: Pillow is not installed.
    """
    for path, where in images:
        if path not in decoded:
            check_image(path, where=where, whole=True)
            decoded.add(path)
    return np.zeros((len(images), rule.features))


def weights_digest(path: Path) -> str:
    """SHA-256 of a file of weights.

    Raises:
        DataError: it cannot be read.
    """
    return hashlib.sha256(_content(path)).hexdigest()


def torchvision_extractor(rule: ImageColumn, weights: bytes) -> FrozenExtractor:
    """A classifier of torchvision without its last layer.

    Args:
        rule: names the network and what is done to images and features.
        weights: a safetensors file of its state, under torchvision's names. The last layer may
            have any number of classes; it is looked at only where fewer features are wanted.

    Raises:
        ModelError: no such network, the weights do not fit it, or it has not so many features.
        BackendUnavailableError: torchvision is not installed.
    """
    network = _network(rule.architecture)
    last = _last_layer(network, rule.architecture)
    width = int(network.get_parameter(f"{last}.weight").shape[1])
    try:
        state = load_tensors(weights)
    except SafetensorError as error:
        raise ModelError(
            "the weights of the extractor are no safetensors file",
            where=rule.architecture,
            found=str(error),
        ) from error
    classifier = state.pop(f"{last}.weight", None)
    state.pop(f"{last}.bias", None)
    parent, _, name = last.rpartition(".")
    setattr(network.get_submodule(parent), name, nn.Identity())
    _load(network, state, rule)
    directions = None
    if rule.features != width:
        if classifier is None or rule.features > min(classifier.shape):
            most = "none, as they lack the last layer" if classifier is None else "1 to {}"
            raise ModelError(
                "the extractor has not so many features",
                where=f"column {rule.name}",
                found=rule.features,
                expected=f"{width}, or fewer by these weights: "
                + most.format(0 if classifier is None else min(classifier.shape)),
            )
        directions = leading_directions(classifier, rule.features)
    facts = rule.model_dump_json(exclude={"name", "weights"})
    body = _Normalised(network, rule, directions).requires_grad_(False).eval()
    return FrozenExtractor(
        name=f"{rule.architecture}-{rule.features}",
        key=f"torchvision {facts}",
        side=rule.side,
        width=rule.features,
        body=body,
    )


class _Normalised(nn.Module):
    """Bytes -> normalised colours -> features, scaled to [-1, 1] or nearly."""

    def __init__(self, network: nn.Module, rule: ImageColumn, directions: Tensor | None) -> None:
        super().__init__()
        self.network, self.directions, self.limit = network, directions, rule.limit
        self.mean = torch.tensor(rule.mean)[:, None, None]
        self.deviation = torch.tensor(rule.deviation)[:, None, None]

    def forward(self, images: Tensor) -> Tensor:
        features: Tensor = self.network((images / 255.0 - self.mean) / self.deviation)
        if self.directions is not None:
            features = features @ self.directions
        return features / self.limit


def _network(architecture: str) -> nn.Module:
    """A classifier without weights: nothing random is drawn."""
    models = import_torchvision().models
    if architecture not in models.list_models(module=models):
        raise ModelError("torchvision has no such classifier", found=architecture)
    with torch.device("meta"):
        network: nn.Module = models.get_model(architecture, weights=None)
    return network.eval()


def _last_layer(network: nn.Module, architecture: str) -> str:
    """The name of the layer that makes classes of features."""
    names: list[str] = [
        name for name, part in network.named_modules() if isinstance(part, nn.Linear)
    ]
    if not names:
        raise ModelError("this network does not end in a linear layer", found=architecture)
    return names[-1]


def _load(network: nn.Module, state: dict[str, Tensor], rule: ImageColumn) -> None:
    wrong = [name for name, values in state.items() if not torch.isfinite(values).all()]
    expected = network.state_dict()
    odd = sorted(set(expected) ^ set(state))
    odd += [
        name for name in expected if name in state and expected[name].shape != state[name].shape
    ]
    if odd or wrong:
        raise ModelError(
            "the weights do not fit the architecture" if odd else "weights are not finite",
            where=f"column {rule.name}, {rule.architecture}",
            found=", ".join((odd or wrong)[:4]),
            expected="every tensor of torchvision's network, and no other",
        )
    floats = {
        name: values.float() if values.is_floating_point() else values
        for name, values in state.items()
    }
    network.load_state_dict(floats, assign=True)


def _checked_weights(rule: ImageColumn, path: Path | None) -> bytes:
    """The file of the weights that everybody agreed on, and no other."""
    if path is None:
        raise ModelError(
            "the extractor has no weights here",
            where=f"column {rule.name}",
            expected=f"a file of SHA-256 {rule.sha256}",
        )
    content = _content(path)
    found: str = hashlib.sha256(content).hexdigest()
    if found != rule.sha256:
        raise ModelError(
            "these are not the weights that were agreed on",
            where=str(path),
            found=found,
            expected=rule.sha256,
            hint="Everybody needs the same file: features of other weights mean something else",
        )
    return content


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(
            "the weights of the extractor cannot be read", where=str(path), found=error.strerror
        ) from error


def _pixels(images: Sequence[tuple[Path, str]], side: int) -> NDArray[np.uint8]:
    return np.stack([read_image(path, side, where=where) for path, where in images])
