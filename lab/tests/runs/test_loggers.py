"""Loggers pass on every number of a round; where their library is missing, they say so."""

import builtins
import re
import sys
from types import SimpleNamespace

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from securefair.collaboration.kept import KeptModel
from securefair.errors import ConfigError
from securefair.prediction import ModelCard, ModelEvaluation
from securefair.records import RoundRecord
from securefair.run.callbacks import tell_models
from securefair_lab.runs.loggers import (
    MlflowLogger,
    TensorBoardLogger,
    card_scores,
    distinct,
    scalars,
)

NAMES = ("St. Mary's (Nord)", "A/B")


def record(round=0):
    nothing = [[None, None], [None, None]]
    return RoundRecord(
        algorithm="cycle",
        round=round,
        forced=True,
        accuracy=[0.5, 0.75],
        cross_entropy=[1.0, 3.0],
        reputation=[[None, 0.25], [None, None]],
        alignment=nothing,
        distillation_loss=nothing,
        asked=[[False, True], [True, False]],
        answered=[[False, True], [False, False]],
    )


def test_scalars_are_the_rounds_numbers():
    assert dict(scalars(record(), NAMES)) == {
        "cycle/mean accuracy": 0.625,
        "cycle/accuracy/St. Mary's (Nord)": 0.5,
        "cycle/accuracy/A_B": 0.75,
        "cycle/mean cross_entropy": 2.0,
        "cycle/cross_entropy/St. Mary's (Nord)": 1.0,
        "cycle/cross_entropy/A_B": 3.0,
        "cycle/reputation/St. Mary's (Nord)/A_B": 0.25,
        "cycle/answered": 0.5,
    }
    assert "cycle/accuracy/2" in dict(scalars(record()))


def test_every_seed_has_tags_of_its_own():
    """All seeds went under one tag, three points a step."""
    tags = [
        {tag for tag, _ in scalars(msgspec.structs.replace(record(), seed=seed), NAMES)}
        for seed in (None, 0, 1)
    ]
    assert "cycle/seed 1/mean accuracy" in tags[2]
    assert len(set.union(*tags)) == sum(map(len, tags))
    several = msgspec.structs.replace(kept("A").card, seeds=3)
    assert card_scores(several, "A") == {"cycle/seed 0/test/accuracy/A": 0.75}


def test_no_tag_is_a_folder_of_another():
    """MLflow's store of files made a file of one and a folder of the other."""
    tags = [tag for tag, _ in scalars(record(), NAMES)]
    assert not [(a, b) for a in tags for b in tags if b.startswith(f"{a}/")]


@pytest.mark.parametrize(
    "names",
    [("A/B", "A_B"), ("A_B", "A/B"), ("a", "a of b"), ("of", "of of of"), (".", "_"), ("..", "")],
    ids=str,
)
def test_every_number_has_a_tag_of_its_own(names):
    everyone = [[0.1, 0.2], [0.3, 0.4]]
    tags = [
        tag for tag, _ in scalars(msgspec.structs.replace(record(), reputation=everyone), names)
    ]
    assert len(set(tags)) == len(tags)
    assert not [tag for tag in tags if set(tag.split("/")) & {"", ".", ".."}]


texts = st.text(st.sampled_from("aä_/(. 2"), max_size=5)


@given(st.lists(texts, min_size=1, max_size=8, unique=True))
def test_names_stay_apart_and_lose_only_what_is_forbidden(names):
    forbidden = re.compile(r"[^\w\-. ]")
    found = distinct(names, forbidden)
    assert len(set(found)) == len(names)
    for name, one in zip(names, found, strict=True):
        assert not forbidden.search(one)
        if not forbidden.search(name) and name not in ("", ".", ".."):
            assert one == name


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["A/B", "A_B", "A_B 2"], ["A_B 3", "A_B", "A_B 2"]),
        (["A/B", "A_B", "A_B 2", "A_B 3"], ["A_B 4", "A_B", "A_B 2", "A_B 3"]),
        (["A/B", "A(B", "A.B"], ["A_B", "A_B 2", "A.B"]),
        (["..", "", "2"], [".. 2", "3", "2"]),
    ],
    ids=str,
)
def test_numbers_follow_the_name_itself(names, expected):
    assert distinct(names, re.compile(r"[^\w\-. ]")) == expected


def test_one_name_for_two_is_refused():
    with pytest.raises(ConfigError, match="one name"):
        list(scalars(record(), ["North", "North"]))


def test_names_of_others_are_refused():
    with pytest.raises(ConfigError, match="names of all participants"):
        list(scalars(record(), ["North"]))


@pytest.fixture
def without(monkeypatch):
    """Pretend that a package is not installed."""

    def hide(package):
        original = builtins.__import__

        def refuse(name, *args, **kwargs):
            if name == package or name.startswith(f"{package}."):
                raise ModuleNotFoundError(f"No module named '{name}'", name=name)
            return original(name, *args, **kwargs)

        for name in [n for n in sys.modules if n == package or n.startswith(f"{package}.")]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setattr(builtins, "__import__", refuse)

    return hide


@pytest.mark.parametrize(
    ("package", "make"),
    [
        ("torch.utils.tensorboard", lambda: TensorBoardLogger("runs")),
        ("mlflow", MlflowLogger),
    ],
)
def test_a_missing_library_is_named_with_its_extra(without, package, make):
    without(package)
    extra = package.rpartition(".")[2]
    with pytest.raises(ConfigError, match=rf"{extra} is not installed.*securefair-lab\[{extra}\]"):
        make()


class FakeMlflow:
    """The few functions of MLflow's interface that the logger uses."""

    def __init__(self, active):
        self.active, self.metrics, self.events = active, {}, []

    def active_run(self):
        return self.active

    def start_run(self, run_name=None):
        self.active = SimpleNamespace(name=run_name)
        self.events.append(("start", run_name))

    def end_run(self):
        self.active = None
        self.events.append(("end",))

    def log_metrics(self, metrics, step=None):
        self.metrics[step] = metrics

    def log_text(self, text, path):
        self.events.append((path, text.splitlines()[0]))

    def log_dict(self, values, path):
        self.events.append((path, values["hospital"]))


@pytest.mark.parametrize("active", [None, SimpleNamespace(name="the caller's")])
def test_mlflow_gets_allowed_names_and_only_its_own_run_is_ended(monkeypatch, active):
    fake = FakeMlflow(active)
    monkeypatch.setitem(sys.modules, "mlflow", fake)
    with MlflowLogger(NAMES, run_name="trial") as logger:
        for round in range(2):
            logger.on_round(record(round))
    logger.close()
    assert list(fake.metrics) == [0, 1]
    assert fake.metrics[0]["cycle/accuracy/St. Mary_s _Nord_"] == 0.5
    assert fake.events == ([] if active else [("start", "trial"), ("end",)])
    assert fake.active is active


def kept(hospital):
    test = ModelEvaluation(
        hospital=hospital,
        patients=4,
        classes=["0", "1"],
        scores={"accuracy": 0.75, "auc": None},
        accuracy_se=0.1,
        confusion=[[2, 0], [1, 1]],
        intervals={"accuracy": (0.3, 0.95)},
    )
    card = ModelCard(
        hospital=hospital, run="r", algorithm="cycle", backend="rns", seed=0, seeds=1, label="ill",
        features=["age"], train_by_class={"0": 3, "1": 2}, model=test, controls={}, taught=[],
        origin=None, limits=["none"], versions={},
    )  # fmt: skip
    return KeptModel(None, card)


def test_mlflow_without_a_place_to_log_to_is_one_clear_line(monkeypatch):
    """The small client of the extra has no database of its own, which is mlflow's default."""

    class Failing(FakeMlflow):
        exceptions = SimpleNamespace(MlflowException=RuntimeError)

        def start_run(self, **_):
            raise ModuleNotFoundError("No module named 'alembic'")

    monkeypatch.setitem(sys.modules, "mlflow", Failing(None))
    with pytest.raises(ConfigError, match=r"mlflow cannot begin a run.*alembic.*TRACKING_URI"):
        MlflowLogger(NAMES)


def test_mlflow_gets_the_cards(monkeypatch):
    fake = FakeMlflow(None)
    monkeypatch.setitem(sys.modules, "mlflow", fake)
    with MlflowLogger(NAMES) as logger:
        tell_models([logger, SimpleNamespace(on_round=None)], [kept(name) for name in NAMES])
    assert fake.events[1:-1] == [
        ("models/St. Mary_s _Nord_/card.md", "# Model of St. Mary's (Nord)"),
        ("models/St. Mary_s _Nord_/card.json", "St. Mary's (Nord)"),
        ("models/A_B/card.md", "# Model of A/B"),
        ("models/A_B/card.json", "A/B"),
    ]
    assert fake.metrics[None] == {"cycle/test/accuracy/A_B": 0.75}


def test_tensorboard_itself_reads_the_cards(tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    with TensorBoardLogger(tmp_path, NAMES) as logger:
        logger.on_models([kept(name) for name in NAMES])
    events = EventAccumulator(str(tmp_path))
    events.Reload()
    (card,) = events.Tensors("cycle/card/A_B/text_summary")
    assert b"# Model of A/B" in card.tensor_proto.string_val[0]
    assert events.Scalars("cycle/test/accuracy/A_B")[0].value == 0.75


def test_tensorboard_gets_every_number_with_its_round(monkeypatch):
    written, flushed, closed = [], [], []

    class FakeWriter:
        def __init__(self, folder):
            self.folder = folder

        def add_scalar(self, tag, value, step):
            written.append((self.folder, tag, value, step))

        def flush(self):
            flushed.append(len(written))

        def close(self):
            closed.append(self.folder)

    module = SimpleNamespace(SummaryWriter=FakeWriter)
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", module)
    with TensorBoardLogger("runs", NAMES) as logger:
        logger.on_round(record(4))
    assert ("runs", "cycle/accuracy/A_B", 0.75, 4) in written
    assert len(written) == len(dict(scalars(record(), NAMES)))
    assert flushed == [len(written)]
    assert closed == ["runs"]


def test_tensorboard_itself_reads_what_was_written(tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    with TensorBoardLogger(tmp_path, NAMES) as logger:
        for round in range(3):
            logger.on_round(record(round))
    events = EventAccumulator(str(tmp_path))
    events.Reload()
    shown = events.Scalars("cycle/accuracy/A_B")
    assert [(one.step, one.value) for one in shown] == [(0, 0.75), (1, 0.75), (2, 0.75)]


@pytest.mark.slow  # it loads half of a server
def test_mlflow_itself_keeps_what_was_logged(tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    with MlflowLogger(NAMES, run_name="trial") as logger:
        logger.on_round(record())
        logger.on_models([kept(name) for name in NAMES])
    (run,) = mlflow.search_runs(output_format="list")
    assert run.info.status == "FINISHED"
    assert run.data.metrics["cycle/accuracy/St. Mary_s _Nord_"] == 0.5
    assert run.data.metrics["cycle/mean accuracy"] == 0.625
    text = mlflow.artifacts.load_text(f"{run.info.artifact_uri}/models/A_B/card.md")
    assert text.startswith("# Model of A/B")
