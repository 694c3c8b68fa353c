"""A kept model as an ONNX file, for programs that know nothing of securefair.

The graph takes what the model takes after the rules of the table: features (B, d) as float32. It
clips, computes logits, divides them by the temperature and gives `probabilities` (B, M) and `class`
(B,), the number of the most probable one. Where no classes are told apart it gives the first of
what `securefair predict` tells, (B,), under its name: `log_hazard_ratio`, `expected`, `rate`. The
rules and the names of features and classes stand in the file's metadata. The hospital's own part of
predictions does not: no output needs it, and a baseline is the times of single patients' events.
Needs onnx; `largest_difference` needs onnxruntime.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from securefair.errors import ConfigError, ModelError
from securefair.model.folded import FoldedNetwork, Layer, Square
from securefair.model.linear_maps import ConvMap, DenseMap
from securefair.model.outcomes.interface import Frame
from securefair.model.stored import Function, inputs_of
from securefair.model.transfer import Leafed, Polynomial
from securefair.model.transfer.public_trees import (
    DEPTH,
    LEAVES_A_TREE,
    QUESTIONS_A_TREE,
    SCALE,
    PublicTrees,
)
from securefair.prediction.hospital_model import HospitalModel
from securefair.prediction.record import plain_section

OPSET = 17
IR_VERSION = 8
"""Old enough for runtimes of 2022."""


def onnx_bytes(model: HospitalModel) -> bytes:
    """The model as the bytes of an ONNX file.

    Raises:
        ConfigError: onnx is not installed, or the model fills missing values in.
        ModelError: it is a network that has no graph of these operations.
    """
    if model.record.table is not None and model.record.table.fill:
        raise ConfigError(
            "a graph of features fills no missing values in",
            where="table.fill",
            found=True,
            expected="a model of a run without it, or `securefair predict`",
        )
    onnx = _library("onnx")
    helper, kind = onnx.helper, onnx.TensorProto
    graph = _Graph(helper)
    outputs = [
        helper.make_tensor_value_info("probabilities", kind.FLOAT, ["B", None]),
        helper.make_tensor_value_info("class", kind.INT64, ["B"]),
    ]
    record, width = model.record, inputs_of(model.function)
    features = "features"
    if record.table is None and record.feature_range is not None:
        low, high = record.feature_range
        centred = graph.node("Sub", features, graph.constant((low + high) / 2))
        features = graph.node("Div", centred, graph.constant((high - low) / 2))
    clipped = graph.node("Clip", features, graph.constant(-1.0), graph.constant(1.0))
    logits = _logits(graph, clipped, model.function)
    calm = graph.node("Div", logits, graph.constant(record.calibration.temperature))
    outcome = model.outcome
    if not outcome.tells_classes:
        outputs = [helper.make_tensor_value_info(told_name(model), kind.FLOAT, ["B"])]
        _told(graph, calm, model)
    elif len(record.classes) == 2 and isinstance(model.function, Polynomial | Leafed):
        against = graph.node("Sigmoid", graph.node("Neg", calm))
        graph.named("Concat", "probabilities", against, graph.node("Sigmoid", calm), axis=1)
    else:
        graph.named("Softmax", "probabilities", calm, axis=1)
    if outcome.tells_classes:
        graph.named("ArgMax", "class", "probabilities", axis=1, keepdims=0)
    made = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "securefair",
            [helper.make_tensor_value_info("features", kind.FLOAT, ["B", width])],
            outputs,
            graph.constants,
        ),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="securefair",
    )
    names = list(record.table.features) if record.table is not None else None
    helper.set_model_props(
        made,
        {
            "hospital": record.hospital,
            "outcome": outcome.name,
            "classes": msgspec.json.encode(record.classes).decode(),
            "features": msgspec.json.encode(names).decode(),
            "table": msgspec.json.encode(record.table, enc_hook=plain_section).decode(),
            "use": "A result of research, no medical device. It tells of the patients that it was "
            "trained on.",
        },
    )
    onnx.checker.check_model(made, full_check=True)
    data: bytes = made.SerializeToString()
    return data


def told_name(model: HospitalModel) -> str:
    """What the file gives of each patient: probabilities, or the first number that is told."""
    if model.outcome.tells_classes:
        return "probabilities"
    return next(iter(_numbers_of(model, np.zeros((1, inputs_of(model.function))))))


def _numbers_of(model: HospitalModel, features: NDArray[np.float64]) -> dict[str, Any]:
    table = model.record.table
    within = None if table is None else table.target.range
    frame = Frame(model.record.classes, model.record.own, within)
    return model.outcome.told(model.said(features), frame)


def _told(graph: _Graph, predictor: str, model: HospitalModel) -> None:
    """From a predictor (B, 1) to what is told of it, in the unit of the table."""
    outcome, table, value = model.outcome, model.record.table, predictor
    if outcome.link == "exp":
        low, high = (graph.constant(end) for end in (-outcome.farthest, outcome.farthest))
        value = graph.node("Exp", graph.node("Clip", value, low, high))
    if outcome.ranged and table is not None and table.target.range is not None:
        least, most = table.target.range
        value = graph.node("Mul", value, graph.constant((most - least) / 2))
        value = graph.node("Add", value, graph.constant((least + most) / 2))
    graph.named("Reshape", told_name(model), value, graph.constant(np.array([-1])))


def largest_difference(model: HospitalModel, data: bytes, *, samples: int = 256) -> float:
    """The largest difference between the file, by onnxruntime, and the model.

    Of a probability; of other numbers over the largest one, where that is above 1.

    Args:
        model: that the file is of.
        data: the file.
        samples: random ones, in the range of the features and a little beyond.

    Raises:
        ConfigError: onnxruntime is not installed.
    """
    runtime = _library("onnxruntime")
    low, high = (-1.0, 1.0)
    if model.record.table is None and model.record.feature_range is not None:
        low, high = model.record.feature_range
    drawn = np.random.default_rng(0).uniform(-1.1, 1.1, (samples, inputs_of(model.function)))
    features = ((low + high) / 2 + drawn * (high - low) / 2).astype(np.float32)
    session = runtime.InferenceSession(data, providers=["CPUExecutionProvider"])
    name = told_name(model)
    (found,) = session.run([name], {"features": features})
    scaled = np.clip(2 * (features.astype(np.float64) - low) / (high - low) - 1, -1, 1)
    if model.outcome.tells_classes:
        return float(np.abs(found - model.probabilities(scaled)).max())
    expected = _numbers_of(model, scaled)[name]
    return float(np.abs(found - expected).max() / max(1.0, np.abs(expected).max()))


@dataclass(eq=False)
class _Graph:
    """Nodes and constants so far; every value has a name of its own."""

    helper: Any
    nodes: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)

    def node(self, operation: str, *inputs: str, **settings: object) -> str:
        """One operation; returns the name of its result."""
        return self.named(operation, f"v{len(self.nodes)}", *inputs, **settings)

    def named(self, operation: str, output: str, *inputs: str, **settings: object) -> str:
        """One operation whose result has this name."""
        self.nodes.append(self.helper.make_node(operation, list(inputs), [output], **settings))
        return output

    def constant(self, value: float | NDArray[Any]) -> str:
        """Numbers as float32, whole numbers as int64; returns their name."""
        array = np.asarray(value)
        kinds = importlib.import_module("onnx").TensorProto
        whole = array.dtype.kind == "i"
        kind, form = (kinds.INT64, np.int64) if whole else (kinds.FLOAT, np.float32)
        name = f"c{len(self.constants)}"
        self.constants.append(
            self.helper.make_tensor(name, kind, array.shape, array.astype(form).tobytes(), raw=True)
        )
        return name


def _logits(graph: _Graph, features: str, function: Function) -> str:
    match function:
        case Polynomial():
            result = graph.node("MatMul", features, graph.constant(function.linear.T))
            if function.square is not None:
                forms = [
                    graph.node(
                        "ReduceSum",
                        graph.node(
                            "Mul", graph.node("MatMul", features, graph.constant(one)), features
                        ),
                        graph.constant(np.array([1])),
                        keepdims=1,
                    )
                    for one in function.square
                ]
                result = graph.node("Add", result, graph.node("Concat", *forms, axis=1))
            return graph.node("Add", result, graph.constant(function.constant))
        case Leafed():
            found = _leaves(graph, features, function.trees)
            added = graph.node("MatMul", found, graph.constant(SCALE * function.leaves.T))
            return graph.node("Add", _logits(graph, features, function.polynomial), added)
        case FoldedNetwork():
            shape = graph.constant(np.array([-1, *function.input_shape]))
            value = graph.node("Reshape", features, shape)
            for layer in function.layers:
                value = _layer(graph, value, layer)
            return value
    raise ModelError(
        "this network cannot be written as ONNX",
        found=type(function).__name__,
        expected="a linear or quadratic model, or a network of convolutions and squares",
    )


def _leaves(graph: _Graph, features: str, trees: PublicTrees) -> str:
    """1 at the leaf of each tree: there every answer on the way is the one that leads to it."""
    asked = graph.node("Gather", features, graph.constant(trees.columns.ravel()), axis=1)
    above = graph.node("Greater", asked, graph.constant(trees.thresholds.ravel()))
    answers = graph.node("Cast", above, to=importlib.import_module("onnx").TensorProto.FLOAT)
    agreeing = np.zeros((trees.columns.size, trees.leaves))
    agreeing_without = np.zeros(trees.leaves)  # answers "no" on the way
    for leaf in range(trees.leaves):
        tree, place = divmod(leaf, LEAVES_A_TREE)
        at = place + QUESTIONS_A_TREE
        while at:
            yes, at = at % 2 == 0, (at - 1) // 2
            agreeing[tree * QUESTIONS_A_TREE + at, leaf] = 1 if yes else -1
            agreeing_without[leaf] += not yes
    counted = graph.node("MatMul", answers, graph.constant(agreeing))
    missed = graph.node("Add", counted, graph.constant(agreeing_without - (DEPTH - 1)))
    return graph.node("Relu", missed)


def _layer(graph: _Graph, value: str, layer: Layer) -> str:
    match layer:
        case Square():
            return graph.node("Mul", value, value)
        case DenseMap():
            flat = graph.node("Flatten", value, axis=1)
            mapped = graph.node("MatMul", flat, graph.constant(layer.weights.T))
            return graph.node("Add", mapped, graph.constant(layer.bias))
        case ConvMap():
            moved = graph.node(
                "Conv",
                value,
                graph.constant(layer.weights),
                strides=list(layer.stride),
                pads=[*layer.padding, *layer.padding],
                group=layer.groups,
            )
            by_place = layer.bias.ndim == 3
            bias = layer.bias if by_place else layer.bias[:, None, None]
            return graph.node("Add", moved, graph.constant(bias))
    mean = graph.node(
        "AveragePool",
        value,
        kernel_shape=list(layer.kernel),
        strides=list(layer.stride),
        pads=[*layer.padding, *layer.padding],
        count_include_pad=1,
    )
    return graph.node("Mul", mean, graph.constant(float(np.prod(layer.kernel))))


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ConfigError(
            f"{name} is not installed",
            where="export to ONNX",
            hint="pip install 'securefair[onnx]'",
        ) from error
