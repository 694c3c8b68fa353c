import msgspec
import numpy as np
import pytest
from typer.testing import CliRunner

from securefair.circuit.planner import plan_exchange
from securefair.cli import app
from securefair.errors import ConfigError, DataError
from securefair.model.folded import FoldedNetwork, Square
from securefair.model.linear_maps import ConvMap, DenseMap, SumPool
from securefair.model.networks import balanced_by_values
from securefair_lab.profiling.cnn import profile_cnn
from securefair_lab.profiling.cnn_table import cnn_table
from securefair_lab.profiling.cnn_task import _LOADERS, CnnTask, cnn_task, network_spec


@pytest.fixture(scope="module")
def task():
    """Convolution, square, pool, dense on 6 x 6 pixels; 40 test images and 10 others."""
    rng = np.random.default_rng(0)
    images = rng.uniform(-1, 1, (50, 1, 6, 6)).astype(np.float32)
    network = FoldedNetwork(
        (1, 6, 6),
        (
            ConvMap(rng.normal(size=(2, 1, 3, 3)), rng.normal(size=2), padding=(1, 1)),
            Square(),
            SumPool((2, 2), (2, 2)),
            DenseMap(rng.normal(size=(3, 18)), rng.normal(size=3)),
        ),
    )
    inputs = images.astype(np.float64)
    network = balanced_by_values(network, inputs)
    spec = msgspec.structs.replace(
        network_spec(network, inputs, classes=3, largest=1.0, weight_bits=11, precision=2.0**-7),
        samples=len(images),
    )
    labels = network.logits(inputs[:40]).argmax(axis=1)
    return CnnTask("mnist", network, plan_exchange(spec), images, labels)


@pytest.mark.parametrize("backend", ["rns", "clear"])
def test_a_batch_is_classified_within_the_planned_error(task, backend):
    found = profile_cnn(task, backend=backend, threads=1)
    plan = task.plan
    assert found.max_abs_error <= found.error_bound
    assert found.accuracy_clear == 1.0  # its own predictions are the labels
    assert found.accuracy_encrypted == found.agreement >= 0.95
    assert (found.batch, found.test_images, found.beyond_bounds) == (50, 40, 0.0)
    assert found.slots == plan.params.slots
    assert found.latency_seconds * 1e3 >= found.ms_per_image * 50 > 0
    assert found.processor_ms_per_image > 0
    assert found.peak_rss_mb > 10
    assert found.multiply_adds == task.network.multiply_adds
    if backend == "rns":
        assert found.bytes_up_per_image * 50 == plan.feature_bytes
        assert found.bytes_down_per_image * 50 == plan.answer_bytes
        assert found.key_bytes <= plan.key_bytes
    shown = cnn_table(found)
    assert shown.row_count > 10


def test_a_large_upload_lies_in_a_file(task, monkeypatch):
    monkeypatch.setattr("securefair_lab.profiling.cnn.IN_MEMORY", 0)
    found = profile_cnn(task, threads=1)
    assert found.max_abs_error <= found.error_bound
    assert found.bytes_up_per_image * 50 == task.plan.feature_bytes


def test_slots_beyond_the_batch_repeat_it(task):
    rows = task.features(7, 9)
    assert rows.shape == (2, task.plan.params.slots)
    flat = task.images.reshape(50, -1)
    np.testing.assert_array_equal(rows[:, 50:100], flat[:, 7:9].T)


def test_without_a_folder_it_says_what_to_name(monkeypatch):
    monkeypatch.delenv("SECUREFAIR_DATA", raising=False)
    with pytest.raises(ConfigError, match="SECUREFAIR_DATA"):
        cnn_task("mnist")


def test_without_the_images_it_says_what_to_put_where(tmp_path):
    with pytest.raises(DataError, match=r"cifar10\.npz"):
        cnn_task("cifar", folder=tmp_path)


def test_weights_that_are_not_there_are_noticed_before_images_are_decoded(tmp_path, monkeypatch):
    monkeypatch.setitem(_LOADERS, "mnist", lambda *_: pytest.fail("images were decoded"))
    nowhere = str(tmp_path / "none.npz")
    result = CliRunner().invoke(
        app,
        ["profile", "cnn", "--network", "mnist", "--data", str(tmp_path), "--weights", nowhere],
    )
    assert result.exit_code == 2
    assert "weights cannot be read" in result.stderr
    assert "none.npz" in result.stderr


def test_other_networks_are_refused():
    with pytest.raises(ConfigError, match="mnist, cifar, cifar-wide, cifar-cosines, derma"):
        cnn_task("resnet")


def test_the_command_takes_a_network():
    result = CliRunner().invoke(app, ["profile", "cnn", "--help"])
    assert result.exit_code == 0
    assert "--network" in result.output
