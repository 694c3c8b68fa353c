"""A trained model as bytes and back: what a hospital keeps of a collaboration.

The bytes are a safetensors file: arrays by name, which no reader can mistake for code, and one JSON
text that says how they are applied. Whatever an algorithm trains is one of a few functions of the
features, and all of them give logits in float64. Controls may be of one more kind that predicts
and is never kept.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from securefair.data.dataset import Samples
from securefair.errors import ConfigError, DataError, ModelError
from securefair.model.folded import FoldedNetwork, Layer, Square
from securefair.model.linear_maps import ConvMap, DenseMap, SumPool
from securefair.model.outcomes import outcome_of
from securefair.model.outcomes.interface import OwnPart
from securefair.model.transfer.leafed import Fitted, Leafed
from securefair.model.transfer.polynomial import Polynomial
from securefair.model.transfer.public_trees import PublicTrees
from securefair.model.usual import Estimated

if TYPE_CHECKING:
    from securefair.model.heads import Head
    from securefair.model.stacked import Stacked

Array = NDArray[np.float64]

FORMAT = 1
_ENTRY = "securefair"
"""Key of the JSON text in the header of the file."""


@dataclass(frozen=True, eq=False, repr=False)
class NamedNetwork:
    """A network of `architectures` with its parameters.

    Attributes:
        name: of the architecture.
        shape: of one sample.
        classes: M.
        vector: (V,), parameters and statistics in the order of `Stacked.slots`.
    """

    name: str
    shape: tuple[int, ...]
    classes: int
    vector: Array

    def logits(self, features: Array) -> Array:
        """Samples (B, ...) -> logits (B, M)."""
        import torch  # only such networks need it

        network = self.stacked().network(torch.from_numpy(self.vector))
        with torch.no_grad():
            shaped = torch.from_numpy(np.ascontiguousarray(features)).double()
            result: Array = network(shaped.reshape(-1, *self.shape)).numpy()
        return result

    def stacked(self) -> Stacked:
        """The architecture, in float64."""
        import torch

        from securefair.model.architectures import architecture
        from securefair.model.stacked import Stacked

        return Stacked(architecture(self.name, self.shape, self.classes), dtype=torch.float64)


Function = FoldedNetwork | Polynomial | Leafed | NamedNetwork | Estimated
"""Features -> logits; a polynomial of two classes has one logit, all others have M."""


def function_of(model: Head | Fitted) -> Function:
    """A trained model as a function that can be stored, detached from what trained it."""
    return model if isinstance(model, Polynomial | Leafed) else model.folded()


def is_stored(function: Function) -> bool:
    """Whether `to_bytes` takes it: all but what only predicts."""
    return not isinstance(function, Estimated)


def inputs_of(function: Function) -> int:
    """Numbers that one sample has."""
    match function:
        case FoldedNetwork() | Estimated():
            return function.features
        case Polynomial():
            return int(function.linear.shape[1])
        case Leafed():
            return int(function.polynomial.linear.shape[1])
        case NamedNetwork():
            return int(np.prod(function.shape))


def outputs_of(function: Function) -> int:
    """Logits that it gives: one for two classes where a transfer fitted it, else M."""
    one = isinstance(function, Polynomial | Leafed) and function.classes == 2
    return 1 if one else function.classes


def logits_of(function: Function, features: Array) -> Array:
    """Features (B, d) -> logits (B, L).

    Raises:
        ModelError: the features do not fit the model.
    """
    if features.ndim != 2 or features.shape[1] != inputs_of(function):
        raise ModelError(
            "the features do not fit the model",
            found=features.shape,
            expected=f"(B, {inputs_of(function)})",
        )
    if not len(features):
        return np.zeros((0, outputs_of(function)))
    return function.logits(features)


def own_part_of(function: Function, samples: Samples) -> OwnPart:
    """What a hospital adds to a model's predictors from its own training samples.

    Raises:
        ModelError: the features do not fit the model.
    """
    spread = function.spread if isinstance(function, Polynomial) else None
    predictors = logits_of(function, samples.features)
    return outcome_of(samples).own_part(predictors, samples, spread)


def to_bytes(function: Function) -> bytes:
    """The function as a safetensors file; equal functions give equal bytes.

    Raises:
        ModelError: it only predicts (`Estimated`).
    """
    told, tensors = _told(function)
    text = json.dumps({"format": FORMAT, **told}, sort_keys=True)
    plain = {name: np.ascontiguousarray(array, np.float64) for name, array in tensors.items()}
    return save(plain, metadata={_ENTRY: text})


def from_bytes(data: bytes, *, where: str) -> Function:
    """The function that `to_bytes` wrote.

    Args:
        data: of the file.
        where: its name, for errors.

    Raises:
        DataError: it is no such file, or of another version.
    """
    try:
        length = int.from_bytes(data[:8], "little")
        header = json.loads(data[8 : 8 + length])
        told = json.loads(header["__metadata__"][_ENTRY])
        tensors = load(data)
    except (SafetensorError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise DataError("these are no weights of a model", where=where, found=str(error)) from error
    if not isinstance(told, dict) or told.get("format") != FORMAT:
        raise DataError(
            "the weights are of another version of securefair",
            where=where,
            found=told.get("format") if isinstance(told, dict) else type(told).__name__,
            expected=FORMAT,
        )
    try:
        return _built(told, tensors)
    except (KeyError, TypeError, ValueError, ModelError, ConfigError, RuntimeError) as error:
        raise DataError("the weights are damaged", where=where, found=str(error)) from error


def _told(function: Function) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    match function:
        case Polynomial():
            return {"kind": "polynomial"}, _coefficients(function)
        case Leafed():
            trees = function.trees
            asked = {"columns": trees.columns, "thresholds": trees.thresholds}
            tensors = _coefficients(function.polynomial) | {"leaves": function.leaves}
            return {"kind": "polynomial and trees"}, tensors | asked
        case FoldedNetwork():
            layers = [_layer_told(layer) for layer in function.layers]
            weighted = (
                (at, layer)
                for at, layer in enumerate(function.layers)
                if isinstance(layer, ConvMap | DenseMap)
            )
            shape = list(function.input_shape)
            return {"kind": "network", "shape": shape, "layers": layers}, dict(_named(weighted))
        case NamedNetwork():
            told = {
                "kind": "named network",
                "name": function.name,
                "shape": list(function.shape),
                "classes": function.classes,
            }
            return told, {"vector": function.vector}
        case Estimated():
            raise ModelError("a model that only predicts is not kept", found=repr(function))


def _coefficients(function: Polynomial) -> dict[str, NDArray[Any]]:
    tensors = {"constant": function.constant, "linear": function.linear}
    if function.spread is not None:
        tensors["spread"] = np.array([function.spread])
    return tensors if function.square is None else tensors | {"square": function.square}


def _named(
    layers: Iterable[tuple[int, ConvMap | DenseMap]],
) -> Iterable[tuple[str, Array]]:
    for at, layer in layers:
        yield f"{at}.weights", layer.weights
        yield f"{at}.bias", layer.bias


def _layer_told(layer: Layer) -> dict[str, Any]:
    match layer:
        case ConvMap():
            moves = {"stride": list(layer.stride), "padding": list(layer.padding)}
            return {"is": "conv", **moves, "groups": layer.groups}
        case DenseMap():
            return {"is": "dense"}
        case SumPool():
            moves = {"stride": list(layer.stride), "padding": list(layer.padding)}
            return {"is": "pool", "kernel": list(layer.kernel), **moves}
        case Square():
            return {"is": "square"}


def _built(told: Mapping[str, Any], tensors: Mapping[str, Array]) -> Function:
    match told["kind"]:
        case "polynomial":
            return _polynomial(tensors)
        case "polynomial and trees":
            polynomial = _polynomial(tensors)
            columns = tensors["columns"].astype(np.int64)
            if not ((columns >= 0) & (columns < polynomial.linear.shape[1])).all():
                raise ModelError("a tree asks about a feature that there is not")
            trees = PublicTrees(columns, tensors["thresholds"])
            return Leafed(polynomial, trees, tensors["leaves"])
        case "network":
            layers = tuple(_layer(at, one, tensors) for at, one in enumerate(told["layers"]))
            return FoldedNetwork(tuple(told["shape"]), layers)
        case "named network":
            network = NamedNetwork(
                told["name"], tuple(told["shape"]), told["classes"], tensors["vector"]
            )
            expected = network.stacked().length
            if network.vector.shape != (expected,) or not np.isfinite(network.vector).all():
                raise ModelError(
                    "a network's parameters do not fit",
                    found=network.vector.shape,
                    expected=f"({expected},), finite",
                )
            return network
    raise ModelError("unknown kind of model", found=told["kind"])


def _polynomial(tensors: Mapping[str, Array]) -> Polynomial:
    spread = float(tensors["spread"][0]) if "spread" in tensors else None
    return Polynomial(tensors["constant"], tensors["linear"], tensors.get("square"), spread)


def _layer(at: int, told: Mapping[str, Any], tensors: Mapping[str, Array]) -> Layer:
    match told["is"]:
        case "conv":
            return ConvMap(
                tensors[f"{at}.weights"],
                tensors[f"{at}.bias"],
                tuple(told["stride"]),
                tuple(told["padding"]),
                told["groups"],
            )
        case "dense":
            return DenseMap(tensors[f"{at}.weights"], tensors[f"{at}.bias"])
        case "pool":
            return SumPool(tuple(told["kernel"]), tuple(told["stride"]), tuple(told["padding"]))
        case "square":
            return Square()
    raise ModelError("unknown layer", found=told["is"])
