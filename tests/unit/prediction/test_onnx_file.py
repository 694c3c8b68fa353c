"""Other programs get the same probabilities."""

import json

import numpy as np
import pytest
import torch
from msgspec import structs
from torch import nn

from securefair.config import BinaryColumn, NumericColumn
from securefair.data import Samples, TableSpec, Target
from securefair.errors import ConfigError, ModelError
from securefair.model.heads import build_head
from securefair.model.networks.builder import he_network
from securefair.model.networks.fold import fold
from securefair.model.quadratic import Quadratic
from securefair.model.stored import NamedNetwork, function_of, inputs_of
from securefair.model.transfer import Leafed, Polynomial
from securefair.model.transfer.public_trees import public_trees
from securefair.prediction import Calibration, HospitalModel, ModelRecord, onnx_file, training_facts

onnx = pytest.importorskip("onnx")
RNG = np.random.default_rng(0)
SPEC = TableSpec(
    columns=(NumericColumn(name="age", low=20.0, high=80.0), BinaryColumn(name="smoker")),
    target=Target(name="ill", groups=(("no",), ("yes",))),
)


def kept(function, size, **changes):
    width = inputs_of(function)
    train = Samples(RNG.uniform(-1, 1, (5, width)), np.zeros(5, dtype=np.int64), size)
    record = ModelRecord(
        hospital="north",
        run="r",
        algorithm="transfer",
        seed=0,
        classes=[f"class {at}" for at in range(size)],
        table=None,
        feature_range=None,
        **training_facts(train)._asdict(),
        patients=5,
        calibration=Calibration(method="temperature", temperature=0.7, patients=5),
    )
    return HospitalModel(structs.replace(record, **changes), function)


def polynomial(outputs, features, *, quadratic):
    square = RNG.normal(size=(outputs, features, features))
    return Polynomial(
        RNG.normal(size=outputs),
        RNG.normal(size=(outputs, features)),
        (square + np.swapaxes(square, 1, 2)) if quadratic else None,
    )


def leafed(outputs, features):
    trees = public_trees(features)
    leaves = RNG.normal(size=(outputs, trees.leaves))
    return Leafed(polynomial(outputs, features, quadratic=False), trees, leaves)


def network():
    torch.manual_seed(0)
    layers = nn.Sequential(
        nn.Conv2d(1, 2, 3, stride=2, padding=1),
        Quadratic(2),
        nn.AvgPool2d(2),
        nn.Flatten(),
        nn.Linear(8, 3),
    )
    return fold(he_network(layers.double().eval(), (1, 8, 8)))


def named():
    empty = NamedNetwork("mlp-32", (5,), 3, np.zeros(0))
    return NamedNetwork("mlp-32", (5,), 3, RNG.normal(size=empty.stacked().length))


@pytest.mark.parametrize(
    "model",
    [
        kept(polynomial(1, 4, quadratic=False), 2),
        kept(polynomial(1, 4, quadratic=True), 2),
        kept(polynomial(3, 5, quadratic=True), 3, feature_range=(0.0, 255.0)),
        kept(polynomial(1, 2, quadratic=False), 2, table=SPEC, classes=["no", "yes"]),
        kept(function_of(build_head("quadratic", 4, 6, 3, seed=0)), 3),
        kept(network(), 3),
        kept(leafed(1, 4), 2),
        kept(leafed(3, 2), 3),
    ],
    ids=[
        "linear",
        "quadratic",
        "three classes of pixels",
        "table",
        "head",
        "network",
        "trees",
        "trees of three classes",
    ],
)
def test_onnxruntime_gives_the_same_probabilities(model):
    pytest.importorskip("onnxruntime")
    assert onnx_file.largest_difference(model, onnx_file.onnx_bytes(model)) < 1e-5


TIMES = {"times": [1.0, 2.5], "hazard": [0.1, 0.4], "events": [1.0, 2.0], "until": [3.0]}


def of_outcome(outcome, beside=(), within=None, own=None):
    target = Target(name="y", outcome=outcome, beside=beside, range=within)
    spec = TableSpec(columns=SPEC.columns, target=target)
    model = polynomial(1, 2, quadratic=False)
    return kept(model, 2, table=spec, classes=[], outcome=outcome, own=own or {})


@pytest.mark.parametrize(
    ("model", "told"),
    [
        (of_outcome("time", ("died",), own=TIMES), "log_hazard_ratio"),
        (of_outcome("number", within=(0.0, 200.0), own={"scale": [0.3]}), "expected"),
        (of_outcome("count", ("exposure",)), "rate"),
    ],
    ids=["time", "number", "count"],
)
def test_onnxruntime_gives_the_same_numbers_where_no_classes_are_told_apart(model, told):
    runtime = pytest.importorskip("onnxruntime")
    data = onnx_file.onnx_bytes(model)
    assert onnx_file.largest_difference(model, data) < 1e-5
    features = RNG.uniform(-1, 1, (7, 2)).astype(np.float32)
    session = runtime.InferenceSession(data, providers=["CPUExecutionProvider"])
    (found,) = session.run([told], {"features": features})
    expected = model.predict(features.astype(np.float64))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    stored = onnx.load_from_string(data)
    assert [one.name for one in stored.graph.output] == [told]
    metadata = {one.key: one.value for one in stored.metadata_props}
    assert metadata["outcome"] == model.record.outcome
    assert "own" not in metadata
    for times in model.record.own.values():
        assert not any(repr(one) in text for one in times for text in metadata.values())
    other = structs.replace(model.record, calibration=Calibration())
    assert onnx_file.largest_difference(HospitalModel(other, model.function), data) > 1e-3


def test_a_wrong_file_would_be_noticed():
    pytest.importorskip("onnxruntime")
    model, other = (kept(polynomial(1, 4, quadratic=False), 2) for _ in range(2))
    assert onnx_file.largest_difference(model, onnx_file.onnx_bytes(other)) > 0.01


def test_the_file_says_what_its_inputs_and_outputs_are():
    model = kept(polynomial(1, 2, quadratic=False), 2, table=SPEC, classes=["no", "yes"])
    stored = onnx.load_from_string(onnx_file.onnx_bytes(model))
    told = {one.key: one.value for one in stored.metadata_props}
    assert json.loads(told["features"]) == ["age", "smoker"]
    assert json.loads(told["classes"]) == ["no", "yes"]
    assert json.loads(told["table"])["columns"][0]["high"] == 80
    assert [one.name for one in stored.graph.output] == ["probabilities", "class"]


def test_a_network_that_has_no_such_graph_is_refused():
    with pytest.raises(ModelError, match="cannot be written as ONNX"):
        onnx_file.onnx_bytes(kept(named(), 3))


def test_what_is_not_installed_is_named(monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(onnx_file.importlib, "import_module", missing)
    with pytest.raises(ConfigError, match=r"onnx is not installed.*securefair\[onnx\]"):
        onnx_file.onnx_bytes(kept(polynomial(1, 2, quadratic=False), 2))
