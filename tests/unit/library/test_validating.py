import numpy as np
import pytest
from scipy.special import expit
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

import securefair as sf
from securefair.collaboration.transfer.renewal import fitted
from securefair.errors import ConfigError, DataError


def hospitals(sizes, seed=0):
    rng = np.random.default_rng(seed)
    found = {}
    for name, size in sizes.items():
        x = rng.uniform(-1, 1, (size, 5))
        y = (x[:, 0] - x[:, 1] + 0.5 * rng.standard_normal(size) > 0).astype(np.int64)
        half = size * 3 // 4
        found[name] = ((x[:half], y[:half]), (x[half:], y[half:]))
    return found


@pytest.mark.parametrize("backend", ["clear", "rns"])
def test_scores_are_those_of_the_peers_own_fit_by_another_library(backend):
    given = hospitals({"a": 80, "b": 60})
    found = sf.validate(given, backend=backend, feature_range=(-1.0, 1.0))
    own = [sf.Samples(*part, classes=2) for part in given["b"]]
    fit = fitted(sf.ParticipantData("b", *own), 1, seed=0).model
    x, y = (np.concatenate(part) for part in zip(*given["a"], strict=True))
    said = expit(fit.logits(x)[:, 0])
    scores = found.hospitals["a"].peers["b"].page.scores
    assert scores["auc"].mean == pytest.approx(roc_auc_score(y, said), abs=0.01)
    assert scores["log_loss"].mean == pytest.approx(log_loss(y, said), abs=0.005)
    assert scores["brier"].mean == pytest.approx(brier_score_loss(y, said), abs=0.003)
    again = LogisticRegression(C=np.inf).fit(fit.logits(x), y)
    assert scores["calibration_slope"].mean == pytest.approx(again.coef_[0, 0], rel=0.02)


def test_a_model_made_elsewhere_is_what_is_validated():
    given = hospitals({"a": 90, "b": 90}, seed=1)
    (x, y), _ = given["b"]
    forest = RandomForestClassifier(60, random_state=0).fit(x, y)
    found = sf.validate(
        given,
        teachers={"b": forest},
        fit="trees",
        backend="clear",
        feature_range=(-1.0, 1.0),
    )
    page = found.hospitals["a"].peers["b"].page
    everyone = [np.concatenate(part) for part in zip(*given["a"], strict=True)]
    said = forest.predict_proba(everyone[0])
    assert page.scores["auc"].mean == pytest.approx(
        roc_auc_score(everyone[1], said[:, 1]), abs=0.05
    )
    assert page.scores["log_loss"].mean == pytest.approx(log_loss(everyone[1], said), abs=0.08)
    brier = brier_score_loss(everyone[1], said[:, 1])
    assert page.scores["brier"].mean == pytest.approx(brier, abs=0.03)
    assert 0 < found.stand_ins["b"].own < 0.15  # its disagreement is measured, and told
    assert found.hospitals["b"].own is None  # the model knows its own patients


def test_too_few_patients_have_no_scores_and_say_why():
    found = sf.validate(hospitals({"a": 8, "b": 60}), backend="clear", feature_range=(-1.0, 1.0))
    assert found.hospitals["a"].peers["b"].page is None
    assert "too few patients" in found.hospitals["a"].unscored
    assert found.hospitals["b"].peers["a"].page is not None


def test_groups_need_tables():
    with pytest.raises(ConfigError, match="columns of a table"):
        sf.validate(hospitals({"a": 40, "b": 40}), by=["sex"], backend="clear")


def test_keys_that_only_learning_reads_are_refused():
    with pytest.raises(ConfigError):
        sf.validate(hospitals({"a": 40, "b": 40}), q=3)


def test_one_column_to_group_by_may_be_a_text_and_patients_come_as_tables():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    tables = {}
    for name in ("a", "b"):
        age, sex = rng.integers(30, 80, 60), rng.choice(["f", "m"], 60)
        ill = np.where(age / 10 + rng.normal(size=60) > 5.5, "yes", "no")
        tables[name] = pd.DataFrame({"age": age, "sex": sex, "ill": ill})
    found = sf.validate(tables, label="ill", by="sex", backend="clear")
    listed = sf.validate(tables, label="ill", by=["sex"], backend="clear")
    assert found.hospitals["a"].peers["b"].page == listed.hospitals["a"].peers["b"].page
    model = sf.collaborate(tables, label="ill", backend="clear", progress=False).models["a"]
    for one in (tables["a"].iloc[0], {"age": 50, "sex": "m"}, [{"age": 50, "sex": "m"}]):
        with pytest.raises(DataError, match=r"no table of patients .*columns of the training: age"):
            model.predict(one)
