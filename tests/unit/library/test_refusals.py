"""What one call cannot use is refused, and said where."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import Dataset

import securefair as sf
from securefair.errors import ConfigError, DataError, ModelError, PlanError
from securefair.model.networks import he_network
from support.own_modules import QUICK, Classifier, own_modules


class TestRefusals:
    """Every error is one of ours and says where."""

    def refusal(self, kind, *args, **settings):
        with pytest.raises(kind) as caught:
            sf.collaborate(*args, **QUICK | settings)
        return str(caught.value)

    @pytest.mark.parametrize(
        ("layer", "word"),
        [(nn.ReLU(), "'ReLU'"), (nn.Dropout(), "'Dropout'"), (nn.BatchNorm1d(5), "'BatchNorm1d'")],
    )
    def test_layers_that_encryption_does_not_know(self, hospitals, layer, word):
        model = nn.Sequential(nn.Linear(4, 5), layer, nn.Linear(5, 2))
        message = self.refusal(ModelError, hospitals, model)
        assert word in message
        assert "securefair.Quadratic()" in message

    @pytest.mark.parametrize(
        ("model", "words"),
        [
            ("resnet", ("no model", "'resnet'", "quadratic, linear")),
            (Classifier, ("no model", "not its class")),
            (3, ("no model",)),
            (lambda: Classifier(), ("no model", "not its class")),
            ({"North": "linear"}, ("do not go together", "North, South, East")),
            (nn.Linear(9, 2), ("North", "does not fit", "9 features", "4 features")),
        ],
    )
    def test_what_is_no_model_for_these_data(self, hospitals, model, words):
        message = self.refusal((ModelError, ConfigError), hospitals, model)
        for word in words:
            assert word in message

    def test_models_of_different_shape(self, hospitals):
        models = own_modules(hospitals) | {"South": Classifier(hidden=6)}
        message = self.refusal(ModelError, hospitals, models)
        assert "same shape" in message
        assert "South: 6 hidden units" in message

    @pytest.mark.parametrize("count", [0, 1])
    def test_nobody_to_collaborate_with(self, hospitals, count):
        message = self.refusal(ConfigError, dict(list(hospitals.items())[:count]))
        assert message.startswith("hospitals: a collaboration needs at least two")

    def test_hospitals_without_names(self, hospitals):
        assert "come by name" in self.refusal(ConfigError, list(hospitals.values()))
        assert "is a text" in self.refusal(ConfigError, dict(enumerate(hospitals.values())))

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            (lambda x, y: (x[:, :3], y), ("South: the number of features differs from North's",)),
            (lambda x, y: (np.where(x > 0.9, np.nan, x), y), ("South, sample", "NaN or infinite")),
            (lambda x, y: (np.where(x > 0.9, np.inf, x), y), ("South, sample", "NaN or infinite")),
            (lambda x, y: (3 * x, y), ("South, sample", "[-1, 1]", "feature_range")),
            (lambda x, y: (x, np.where(y, "ill", "well")), ("South", "class number", "from 0")),
            (lambda x, y: (x, y + 0.5), ("South", "class number", "float64")),
            (lambda x, y: (x, np.eye(2)[y]), ("South", "class number", "argmax")),
            (lambda x, y: (x, y - 1), ("South, sample", "no class", "-1")),
            (lambda x, y: (x, y[1:]), ("South", "disagree", "40 and 39")),
            (lambda x, y: (x[:1], y[:1]), ("South", "too few samples")),
            (lambda x, y: (x[:2], y[:2] * 0), ("South", "too few samples to train on")),
            (lambda x, _: {"x": x}, ("South", "no data set", "dict")),
            (lambda x, y: (np.ma.masked_greater(x, 0.9), y), ("South", "masked")),
            (lambda x, y: (x, np.ma.masked_equal(y, 0)), ("South", "masked")),
            (lambda x, y: (torch.tensor(x).bfloat16(), y), ("South", "BFloat16")),
            (lambda *_: "south.csv", ("South", "no data set", "label=")),
        ],
    )
    def test_data_that_cannot_be_used(self, make_arrays, change, words):
        data = {"North": make_arrays(30, 1), "South": change(*make_arrays(40, 2))}
        message = self.refusal(DataError, data)
        for word in words:
            assert word in message

    def test_a_data_set_that_fails_is_named(self, make_arrays):
        class Broken(Dataset):
            def __len__(self):
                return 3

            def __getitem__(self, at):
                raise OSError("the disk is gone")

        message = self.refusal(DataError, {"North": make_arrays(30), "South": Broken()})
        assert message == "South, sample 0: the data set failed with OSError: the disk is gone"

    def test_data_of_one_class(self, make_arrays):
        data = {name: (x, y * 0) for name, (x, y) in zip("ab", [make_arrays(9)] * 2, strict=True)}
        assert "one class only" in self.refusal(DataError, data)

    @pytest.mark.parametrize(
        ("settings", "words"),
        [
            ({"algorithm": "fedavg"}, ("collaborate: algorithm", "vpdl, cycle")),
            ({"algorithm": "cycl"}, ("collaborate: algorithm", "Did you mean cycle")),
            ({"rounds": 0}, ("training.rounds", "at least 1")),
            ({"rounds": 2.5}, ("training.rounds", "whole number")),
            ({"local_epochs": -1}, ("training.local_epochs", "at least 0")),
            ({"local_steps": 0}, ("training.local_steps",)),
            ({"temperature": 0}, ("distillation.temperature", "above 0")),
            ({"lambda_0": -1}, ("distillation.lambda_0",)),
            ({"hidden": 0}, ("model.hidden",)),
            ({"test_fraction": 1.5}, ("data.test_fraction", "below 1")),
            ({"feature_range": (1, -1)}, ("data.feature_range", "the smaller first")),
            ({"release": "loss"}, ("distillation.release", "only monitors")),
            ({"q": 0}, ("distillation.q",)),
            ({"forced_every": 0}, ("fairness.forced_every",)),
            ({"backend": "gpu"}, ("encryption.backend", '"rns"')),
            ({"flooding_bits": 10}, ("encryption.flooding_bits", "at least 30")),
            ({"algorithm": ["cycle"]}, ("collaborate: algorithm", "found 'list'")),
            ({"seed": -1}, ("collaborate: seed: ", "from 0 to")),
            ({"seed": True}, ("collaborate: seed: ", "from 0 to")),
            ({"optimizer": torch.optim.SGD}, ("optimizer", "learning_rate, momentum")),
            ({"rule": "strict"}, ("rule", "tau_opt")),
            ({"disclosure": 100}, ("disclosure", "student_total")),
            ({"privacy": 2.0}, ("privacy", 'Write privacy={"epsilon": 2.0}, or epsilon=2.0')),
            ({"lr": 0.1}, ("collaborate: lr", "Did you mean learning_rate")),
            ({"seeds": [1]}, ("collaborate: seeds", "Did you mean the argument seed")),
            ({"source": "digits"}, ("collaborate: source", "Known here")),
            ({"classes": 3}, ("collaborate: classes", "Known here")),
            ({"roundz": 3}, ("collaborate: roundz", "no such key", "Did you mean rounds")),
            ({"training": 3}, ("collaborate: training", "comes as a table")),
            ({"training": {"roundz": 3}}, ("training.roundz", "Did you mean rounds")),
            ({"training": {"rounds": 3}}, ("training.rounds", "given twice")),
            ({"run": {"seeds": [5]}}, ("collaborate: run.seeds", "the argument seed")),
            (
                {"run": {"algorithms": ["standalone", "cycle"]}},
                ("collaborate: run.algorithms", "the argument algorithm"),
            ),
            ({"run": {"name": "x"}}, ("collaborate: run.name", "Known here: ceiling, metric")),
            ({"run": {"out": "x"}}, ("collaborate: run.out",)),
            ({"run": {"smaller": [9]}}, ("collaborate: run.smaller",)),
            ({"data": {"most_training": 20}}, ("collaborate: data.most_training",)),
            (
                {"data": {"source": "digits", "partition": {"kind": "ratio"}}},
                ("collaborate: data.partition", "Known here: feature_range, test_fraction"),
            ),
            ({"threads": 0}, ("threads", "found 0", "so many threads")),
            ({"threads": "2"}, ("threads", "found '2'", "a whole number")),
            ({"threads": 1.5}, ("threads", "found 1.5", "a whole number")),
            ({"rounds": np.float64(2)}, ("training.rounds", "whole number")),
            ({"rounds": np.array([2, 3])}, ("training.rounds", "whole number")),
            ({"seed": np.int64(-1)}, ("collaborate: seed: ", "from 0 to")),
            ({"resume": True}, ("resume", "checkpoint")),
            ({"callbacks": [3]}, ("callbacks", "on_round")),
            ({"callbacks": print}, ("callbacks", "as a list")),
            ({"extractor": np.tanh}, ("extractor", "torch.nn.Module")),
        ],
    )
    def test_settings_out_of_range(self, hospitals, settings, words):
        message = self.refusal(ConfigError, hospitals, **settings)
        for word in words:
            assert word in message

    def test_more_numbers_than_samples(self, hospitals):
        message = self.refusal(PlanError, hospitals, q=40)
        assert message.startswith("North, q: so many numbers")

    def test_an_extractor_for_other_samples(self, hospitals):
        message = self.refusal(DataError, hospitals, extractor=nn.Linear(6, 2))
        assert message.startswith("North: the extractor cannot take these samples")
        assert "(12, 4)" in message

    @pytest.mark.parametrize(
        ("output", "words"),
        [
            (lambda _: None, ("North: the extractor gives no features", "'NoneType'")),
            (lambda x: (x, x), ("North: the extractor gives no features", "'tuple'")),
            (lambda x: x.mean(), ("North: the extractor gives no features", "Tensor ()")),
        ],
    )
    def test_an_extractor_that_gives_no_features(self, hospitals, output, words):
        class Extractor(nn.Module):
            def forward(self, x):
                return output(x)

        message = self.refusal(DataError, hospitals, extractor=Extractor())
        for word in words:
            assert word in message

    def test_training_that_diverges(self, hospitals):
        steep = {"learning_rate": 1e6, "clip_norm": 1e300}
        message = self.refusal(ModelError, hospitals, **steep, local_epochs=100)
        assert message.startswith("North, step")
        assert "Lower the learning rate" in message


@pytest.mark.parametrize(
    ("given", "keys"),
    [
        ({"rounds": 5}, ["training.rounds"]),
        (
            {"model": "linear", "rounds": 9, "lambda_0": 3, "local_epochs": 3},
            ["training.local_epochs", "training.rounds", "distillation.lambda_0"],
        ),
        ({"hidden": 5}, ["model.hidden"]),
        (
            {"alpha": 0.1, "tau_opt": 0.1},
            [f"fairness.{key}" for key in ("alpha", "tau_opt")],
        ),
        ({"algorithm": "vpdl", "forced_every": 2}, ["fairness.forced_every"]),
        ({"algorithm": "cycle-gossip", "q": 5}, ["distillation.q"]),
    ],
)
def test_what_the_algorithm_does_not_read_is_refused_and_never_passed_over(hospitals, given, keys):
    with pytest.raises(ConfigError, match="no algorithm of this run learns by") as caught:
        sf.collaborate(hospitals, **given)
    assert caught.value.where.split(", ") == keys
    assert caught.value.found == f"algorithm={given.get('algorithm', 'transfer')}"
    assert "cycle" in caught.value.hint


def test_a_transfer_takes_no_module(hospitals):
    with pytest.raises(ConfigError, match="models of its own"):
        sf.collaborate(hospitals, nn.Linear(4, 2), algorithm="transfer", backend="clear")


@pytest.mark.parametrize(
    ("algorithm", "words"),
    [("cycle-gossip", "start from one initialisation"), ("transfer", "models of its own")],
)
def test_who_starts_from_no_module_says_so_whatever_its_layers(hospitals, algorithm, words):
    for layers in ([nn.Linear(4, 2)], [nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 2)]):
        with pytest.raises(ConfigError, match=words) as refused:
            sf.collaborate(hospitals, nn.Sequential(*layers), algorithm=algorithm, progress=False)
        assert 'algorithm="cycle"' in refused.value.hint


def test_a_column_of_patients_that_nobody_could_read_is_not_passed_over(hospitals):
    with pytest.raises(ConfigError, match="no columns that name patients"):
        sf.collaborate(hospitals, "linear", patient_column="who", **QUICK)


def test_the_same_samples_twice_are_refused(hospitals):
    names = list(hospitals)
    copied = dict(hospitals) | {names[1]: hospitals[names[0]]}
    with pytest.raises(DataError, match="two hospitals bring the same samples"):
        sf.collaborate(copied)


def test_a_checkpoint_is_a_folder(hospitals, tmp_path):
    (tmp_path / "c").write_text("mine")
    with pytest.raises(ConfigError, match="a checkpoint is a folder"):
        sf.collaborate(hospitals, checkpoint=tmp_path / "c")


def test_a_network_of_ones_own_is_refused_with_what_takes_it(hospitals):
    network = he_network(nn.Sequential(nn.Linear(4, 2)), (4,))
    for model in (network, sf.NetworkHead(network, 2, np.zeros((3, 4)))):
        with pytest.raises(ModelError, match=r"not trained here .* let Teacher answer"):
            sf.collaborate(hospitals, model, algorithm="cycle")


def test_frames_whose_columns_stand_in_another_order_are_refused():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    x, y = rng.uniform(-1, 1, (40, 3)), np.arange(40) % 2
    north = (pandas.DataFrame(x, columns=["age", "crp", "bmi"]), y)
    for other in (["bmi", "age", "crp"], ["age", "crp", "weight"]):
        south = (pandas.DataFrame(-x, columns=other), y)
        with pytest.raises(DataError, match=r"south, feature .*same order.*as at north"):
            sf.collaborate({"north": north, "south": south}, **QUICK)
    unnamed = (pandas.DataFrame(-x), y)
    assert sf.collaborate({"north": north, "south": unnamed}, **QUICK).gain


def test_an_outcome_of_arrays_is_told_where_outcomes_come_from(hospitals):
    for name in ("outcome", "event", "exposure", "label_range"):
        with pytest.raises(ConfigError, match="columns of tables"):
            sf.collaborate(hospitals, **{name: "number"}, **QUICK)


def test_no_plan_without_a_spec():
    for spec in (None, {"features": 6}):
        with pytest.raises(PlanError, match=r"this is no spec.*ExchangeSpec"):
            sf.plan_exchange(spec)


def test_predictions_that_are_no_probabilities_are_told_so():
    spec = sf.ExchangeSpec(features=3, classes=2, samples=8, hidden=0, release="loss")
    samples = sf.Samples(np.zeros((8, 3)), np.arange(8) % 2, 2)
    with pytest.raises(DataError, match=r"predictions.*rows that sum to 1"):
        sf.Student(spec).request(samples, predictions=np.ones((8, 2)))


def test_training_validation_and_test_are_one_too_many():
    part = (np.zeros((8, 3)), np.arange(8) % 2)
    with pytest.raises(DataError, match=r"north.*data come in pairs.*a tuple of 3"):
        sf.collaborate({"north": (part, part, part), "south": part}, **QUICK)


def test_nothing_is_opened_at_a_temperature_of_0():
    student = sf.Student(sf.ExchangeSpec(features=3, classes=2, samples=8, hidden=0, q=2))
    for temperature in (0.0, -1.0, float("nan"), "5", None):
        with pytest.raises(DataError, match="temperature is above 0"):
            student.open(b"", temperature=temperature)


def refusal(kind, *args, **settings):
    with pytest.raises(kind) as caught:
        sf.collaborate(*args, **QUICK | settings)
    return str(caught.value)


def test_a_label_that_is_no_name_of_a_column():
    frame = pytest.importorskip("pandas").DataFrame({"age": [1, 2], "ill": [0, 1]})
    tables = {"North": frame, "South": frame}
    for label in (frame["ill"], ["ill"]):
        message = refusal(ConfigError, tables, label=label)
        assert message.startswith("label: a label is the name of a column")


def test_labels_of_which_one_is_none():
    x = np.random.default_rng(0).uniform(-1, 1, (30, 4))
    y = np.array(["ill", "well"] * 15, dtype=object)
    y[3] = None
    message = refusal(DataError, {"North": (x, y), "South": (x[::-1].copy(), y)})
    assert message.startswith("North, sample 3: a label is missing")


def test_a_module_that_wraps_another_or_has_no_values(hospitals):
    wrapped = nn.DataParallel(nn.Linear(4, 2))
    assert "model.module" in refusal(ModelError, hospitals, wrapped)
    empty = nn.Linear(4, 2).to("meta")
    assert "no values" in refusal(ModelError, hospitals, empty)


def test_most_patients_of_another_part_are_no_patients_of_ones_own():
    rng = np.random.default_rng(0)
    x, y = rng.uniform(-1, 1, (40, 4)), rng.integers(0, 2, 40)
    other = (rng.uniform(-1, 1, (40, 4)), rng.integers(0, 2, 40))
    tested = {"North": ((x[:20], y[:20]), (x, y)), "South": other}
    assert "North: a model is tested on" in refusal(DataError, tested)
    new = (rng.uniform(-1, 1, (40, 4)), rng.integers(0, 2, 40))
    mixed = tuple(
        np.concatenate([one[:25], two[:15]]) for one, two in zip((x, y), new, strict=True)
    )
    message = refusal(DataError, {"North": (x, y), "South": other, "East": mixed})
    assert message.startswith("East: two hospitals bring the same samples")
    assert "are the same" in message


def test_equal_patients_are_usual_where_few_values_are_possible():
    rng = np.random.default_rng(0)
    few = {name: (rng.integers(0, 2, (40, 3)), rng.integers(0, 2, 40)) for name in "ab"}
    assert sf.collaborate(few, backend="clear", progress=False).models
