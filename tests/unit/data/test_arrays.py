import numpy as np
import pytest
import torch
from torch.utils.data import TensorDataset

from securefair.data import Samples, arrays_of, read_npz, samples_of
from securefair.errors import DataError

X = np.array([[0.5, -1.0], [0.25, 1.0], [0.0, 0.0]])
Y = np.array([0, 1, 1])


class Loader:
    """As torch's DataLoader: batches, and the data set behind them."""

    dataset = ()


class Broken:
    def __len__(self):
        return 2

    def __getitem__(self, index):
        raise OSError(f"no file {index}")


class Listed:
    """A map-style data set without torch."""

    def __init__(self, *pairs):
        self.pairs = pairs

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, index):
        return self.pairs[index]


@pytest.mark.parametrize(
    "data",
    [
        (X, Y),
        (X.tolist(), Y.tolist()),
        (torch.tensor(X), torch.tensor(Y)),
        (torch.tensor(X, requires_grad=True), torch.tensor(Y)),
        (X, Y.astype(float)),
        (X, Y[:, None]),
        (X[:, :, None], Y),
        Samples(X, Y, 2),
        TensorDataset(torch.tensor(X, dtype=torch.float32), torch.tensor(Y)),
        TensorDataset(torch.tensor(X), torch.tensor(Y, dtype=torch.float32)[:, None]),
        Listed(*((x, y) for x, y in zip(X, Y, strict=True))),
    ],
    ids=[
        *(
            "arrays",
            "lists",
            "tensors",
            "tensor with gradient",
            "float labels",
            "column of labels",
            "more dimensions",
        ),
        *("samples", "data set", "FLamby's shapes", "no torch"),
    ],
)
def test_every_form_gives_the_same_samples(data):
    samples = samples_of(data, where="here")
    np.testing.assert_allclose(samples.features, X)
    assert samples.features.dtype == np.float64
    assert samples.labels.tolist() == Y.tolist()
    assert samples.classes == 2


def test_a_public_range_is_scaled_and_clipped():
    samples = samples_of(
        ([[-9.0], [0.0], [1.5], [3.0]], [0, 0, 1, 1]), where="w", feature_range=(-3, 3)
    )
    assert samples.features.ravel().tolist() == [-1, 0, 0.5, 1]


def test_classes_may_be_more_than_occur():
    assert samples_of((X, Y), where="w", classes=5).classes == 5


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (([[0.0, np.nan]], [0]), ("sample 0, feature 1", "NaN")),
        (([[0.0], [2.5]], [0, 1]), ("sample 1, feature 0", "2.5", "feature_range")),
        (([[0.0], [0.1]], [0, -1]), ("sample 1", "found -1")),
        (([[0.0]], [0.5]), ("not one class number",)),
        (([[0.0]], [[0, 1]]), ("not one class number", "(1, 2)")),
        (([[0.0]], [np.nan]), ("sample 0: a label is missing",)),
        (([[0.0], [0.0]], [0]), ("disagree", "2 and 1")),
        (([["a"]], [0]), ("features are not numbers",)),
        ((np.zeros((0, 2)), np.zeros(0, int)), ("no samples",)),
        (Listed(), ("no samples",)),
        (Listed(3), ("sample 0", "no pair", "int")),
        (Listed(([0.0], 0), ([0.0, 1.0], 0)), ("differ in shape",)),
        ({"x": 1}, ("no data set", "dict")),
        (7, ("no data set", "int")),
        (Loader(), ("no data set", "Loader", "Give the data set of this loader")),
        (Broken(), ("sample 0", "failed with OSError: no file 0")),
        (Listed((X[0], 0, "a.png")), ("sample 0", "no pair", "tuple of 3")),
        (([[0.0], [0.0, 1.0]], [0, 1]), ("no array",)),
        (([["0"]], [["ill"]]), ("features are not numbers",)),
        (([[0.0]], ["ill"]), ("not one class number", "Number the classes from 0")),
        ((np.ma.masked_greater(X, 0.7), Y), ("masked", "entry [1, 1]", "Fill missing")),
        ((X, np.ma.masked_equal(Y, 0)), ("masked", "entry [0]")),
        (([X[0], np.ma.masked_equal(X[1], 1)], [0, 1]), ("masked", "entry [1, 1]")),
        (Listed((X[0], 0), (np.ma.masked_equal(X[1], 1), 1)), ("sample 1", "masked")),
        ((torch.tensor(X).bfloat16(), Y), ("numpy cannot read", "BFloat16", "tensor.float()")),
        (Listed((torch.tensor(X[0]).bfloat16(), 0)), ("sample 0", "BFloat16")),
        ((torch.tensor(X).to_sparse(), Y), ("numpy cannot read", "to_dense")),
    ],
)
def test_what_cannot_be_used_is_named(data, words):
    with pytest.raises(DataError) as caught:
        samples_of(data, where="north")
    for word in ("north", *words):
        assert word in str(caught.value)


def test_an_array_that_masks_nothing_is_an_array():
    whole = samples_of((np.ma.masked_greater(X, 2), np.ma.masked_array(Y)), where="here")
    assert np.array_equal(whole.features, X)
    assert whole.labels.tolist() == Y.tolist()


@pytest.mark.parametrize("what", ["features", "labels"])
def test_samples_take_no_masked_values(what):
    given = {"features": X, "labels": Y}
    with pytest.raises(DataError, match=f"{what}: a value is masked"):
        Samples(**given | {what: np.ma.masked_equal(given[what], 0)}, classes=2)


def test_npz_files_are_read(tmp_path):
    np.savez(tmp_path / "a.npz", features=X, labels=Y)
    assert samples_of(read_npz(tmp_path / "a.npz"), where="a").labels.tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    ("write", "words"),
    [
        (None, ("cannot read", "No such file")),
        (lambda path: path.write_bytes(b"not a zip"), ("not a .npz file",)),
        (lambda path: path.write_bytes(b""), ("not a .npz file",)),
        (lambda path: np.savez(path, features=X), ("labels", "missing", "found 'features'")),
        (
            lambda path: np.savez(path, features=np.array([{}], dtype=object), labels=Y),
            ("not a .npz file",),
        ),
    ],
)
def test_npz_files_that_cannot_be_used(tmp_path, write, words):
    path = tmp_path / "a.npz"
    if write:
        write(path)
    with pytest.raises(DataError) as caught:
        read_npz(path)
    for word in ("a.npz", *words):
        assert word in str(caught.value)


def test_a_range_far_from_a_feature_is_refused():
    features = np.column_stack([np.linspace(0, 1, 20), np.linspace(20, 90, 20)])
    labels = np.arange(20) % 2
    with pytest.raises(DataError, match="clips most values of a feature") as refused:
        samples_of((features, labels), where="north", feature_range=(0, 1))
    assert "north, feature 1" in str(refused.value)
    samples_of((features, labels), where="north", feature_range=(0, 70))


def test_codes_are_no_numbers_of_classes():
    with pytest.raises(DataError, match="labels are no numbers of classes"):
        samples_of((np.zeros((4, 2)), np.array([0, 1, 10**9, 0])), where="north")


def test_a_range_far_too_wide_is_refused():
    features, labels = np.linspace(-1, 1, 20)[:, None], np.arange(20) % 2
    with pytest.raises(DataError, match="all values become nearly equal"):
        samples_of((features, labels), where="north", feature_range=(-1e9, 1e9))
    samples_of((np.zeros((20, 1)), labels), where="north", feature_range=(-1e9, 1e9))


def images(count=20):
    grey = np.arange(256).reshape(16, 16) / 255
    return np.stack([np.roll(grey, at) for at in range(count)]), np.arange(count) % 2


def test_images_of_another_scale_than_the_range_are_refused():
    pixels, labels = images()
    with pytest.raises(DataError, match=r"nearly equal .*values 0 to 1.* images are 0 to 255"):
        samples_of((pixels, labels), where="north", feature_range=(0, 255))
    found = samples_of((255 * pixels, labels), where="north", feature_range=(0, 255))
    assert np.ptp(found.features) == 2


def test_what_no_model_learns_of_may_be_dark(caplog):
    """One image, or a small test part, says nothing of the range that all agreed on."""
    pixels, labels = images(1)
    found = samples_of((pixels, labels), where="new", feature_range=(0, 255), learns=False)
    assert len(found) == 1
    assert caplog.messages == ["new: values 0 to 1 become nearly equal by feature_range"]


def test_few_counts_are_told_and_not_refused(caplog):
    counts, labels = np.random.default_rng(0).poisson(0.3, (20, 8)), np.arange(20) % 2
    assert counts.max() < 4
    found = samples_of((counts, labels), where="north", feature_range=(0, 800))
    assert len(found) == 20
    (told,) = caplog.messages
    assert told.startswith(f"north: values 0 to {counts.max()} become nearly equal")
    with pytest.raises(DataError, match="nearly equal"):
        samples_of((counts / 2, labels), where="north", feature_range=(0, 800))


def test_a_few_values_may_be_alike_by_chance():
    found = samples_of((np.array([[100.1, 100.9]]), [0]), where="north", feature_range=(0, 800))
    assert len(found) == 1


def test_a_shape_is_remembered_without_axes_of_one():
    pixels, labels = images()
    first = samples_of((pixels[:, None], labels), where="w")
    assert first.shape == first.take(np.arange(2)).shape == (16, 16)
    assert samples_of(first, where="w").shape == (16, 16)
    assert samples_of((pixels.reshape(20, -1), labels), where="w").shape == (256,)


@pytest.mark.parametrize("missing", [None, np.nan, float("nan")])
def test_a_missing_label_is_no_class(missing):
    named = np.array(["ill", missing, "well"], dtype=object)
    with pytest.raises(DataError, match="north, sample 1: a label is missing"):
        arrays_of((X, named), where="north")
    with pytest.raises(DataError, match="north, sample 1: a label is missing"):
        arrays_of(Listed(*zip(X, named, strict=True)), where="north")
    if missing is not None:
        with pytest.raises(DataError, match="north, sample 2: a label is missing"):
            arrays_of((X, np.array([0.0, 1.0, missing])), where="north")


def test_a_range_that_clips_most_values_is_refused_and_many_are_told(caplog):
    x = np.linspace(-50, 50, 200)[:, None]
    y = np.arange(200) % 2
    with pytest.raises(DataError, match=r"clips most values.*80% of them beyond"):
        samples_of((x, y), where="north", feature_range=(-10, 10))
    assert not caplog.messages
    samples_of((x, y), where="north", feature_range=(-40, 40))
    assert "north, feature 0: feature_range clips 20 % of the values" in caplog.text
    caplog.clear()
    samples_of((x, y), where="north", feature_range=(-49, 49))
    assert not caplog.messages
