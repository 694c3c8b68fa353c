"""Mistakes in a configuration file are named with file, key, found and expected."""

import pytest

from securefair.config import DirichletPartition, demo_config, load_config, override, parse_config
from securefair.errors import ConfigError

HEART = '[run]\nname = "trial"\n[data]\nsource = "heart"\n'
DIGITS = '[run]\nname = "trial"\n[data]\nsource = "digits"\n'


def mistake(text: str) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        parse_config(text, source="trial.toml")
    return caught.value


def test_the_demo_is_what_its_documentation_says():
    demo = demo_config()
    assert demo.data.source == "heart"
    assert demo.data.test_fraction == 1 / 3
    assert (demo.training.local_epochs, demo.training.rounds) == (40, 8)
    assert demo.training.local_steps == 5
    assert (demo.distillation.release, demo.distillation.q) == ("projection", 64)
    assert demo.distillation.lambda_0 == 30
    assert demo.run.collaborative == ("vpdl", "cycle", "transfer")


def test_defaults_are_the_values_of_the_demo():
    """All but what a demonstration wants for itself, such as repetitions and a heading."""
    demo = demo_config()
    settings = {
        "run.name": "demo",
        "run.seeds": list(demo.run.seeds),
        "run.algorithms": list(demo.run.algorithms),
        "run.smaller": demo.run.smaller,
        "report.title": demo.report.title,
        "transfer.sums": demo.transfer.sums,
    }
    assert override(parse_config(HEART, source="t"), settings) == demo
    assert parse_config(HEART, source="t").run.collaborative == ("transfer",)
    assert parse_config(HEART, source="t").encryption.precision == 2**-10


def test_a_file_is_read_from_disk(tmp_path):
    path = tmp_path / "trial.toml"
    path.write_text(HEART, encoding="utf-8-sig")  # with the mark that Windows writes
    assert load_config(path).run.name == "trial"


@pytest.mark.parametrize(
    ("content", "problem"),
    [(None, "cannot be read"), (b"\xff\xfe", "not UTF-8"), (b"[run\n", "not valid TOML")],
)
def test_an_unreadable_file_is_named(tmp_path, content, problem):
    path = tmp_path / "trial.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match=problem) as caught:
        load_config(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("text", "where", "hint"),
    [
        (HEART + "[training]\nlearnin_rate = 0.1\n", "training.learnin_rate", "learning_rate"),
        (HEART + "[training]\nalpha = 0.1\n", "training.alpha", "[fairness]"),
        (HEART + "[trainig]\nrounds = 3\n", "trainig", "training"),
        (HEART + "[report]\nqqq = 3\n", "report.qqq", "html, title"),
        (
            DIGITS + '[data.partition]\nkind = "dirichlet"\nparticipants = 3\ndetla = 1\n',
            "data.partition.detla",
            "delta",
        ),
    ],
)
def test_an_unknown_key_comes_with_a_suggestion(text, where, hint):
    error = mistake(text)
    assert error.where == f"trial.toml: {where}"
    assert error.problem == "there is no such key"
    assert hint in error.hint


@pytest.mark.parametrize(
    ("text", "where", "found", "expected"),
    [
        ("[training]\nrounds = 0", "training.rounds", 0, "a whole number at least 1"),
        ("[training]\nrounds = '5'", "training.rounds", "5", "a whole number"),
        ("[training]\nrounds = true", "training.rounds", True, "a whole number"),
        ("[training]\nmomentum = 1", "training.momentum", 1, "at least 0 and below 1"),
        ("[training]\nlearning_rate = inf", "training.learning_rate", float("inf"), "a number"),
        ("[model]\nkind = 'cubic'", "model.kind", "cubic", '"linear" or "network"'),
        ("[encryption]\nprecision = '1/0'", "encryption.precision", "1/0", "a number above 0"),
        ("[report]\nhtml = 1", "report.html", 1, "true or false"),
        ("[fairness]\ntau_opt = 0.8", "fairness.tau_opt", 0.8, "less than tau_max = 0.75"),
    ],
)
def test_a_refused_value_is_reported_with_what_was_expected(text, where, found, expected):
    error = mistake(HEART + text)
    assert error.where == f"trial.toml: {where}"
    assert error.found == found
    assert expected in error.expected


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ('name = "trial"', 'name = "../trial"', "run.name"),
        ('name = "trial"', 'name = "trial"\nseeds = []', "run.seeds"),
        ('name = "trial"', 'name = "trial"\nseeds = [1, -2]', "run.seeds[1]"),
        ('name = "trial"', 'name = "trial"\nseeds = [1, 1]', "run.seeds"),
        ('name = "trial"', 'name = "trial"\nalgorithms = ["cycle"]', "run.algorithms"),
        ('source = "heart"', "", "data.source"),
        ('source = "heart"', 'source = "digits"', "data.partition"),
        (
            'source = "heart"',
            'source = "heart"\npartition = {kind = "homogeneous", participants = 3}',
            "data.partition",
        ),
    ],
)
def test_each_refusal_names_its_key(old, new, where):
    assert mistake(HEART.replace(old, new)).where == f"trial.toml: {where}"


@pytest.mark.parametrize(
    ("partition", "where"),
    [
        ('kind = "random"\nparticipants = 3', "data.partition.kind"),
        ("participants = 3", "data.partition.kind"),
        ('kind = "imbalanced"\nparticipants = 3\nkappa = 0.5\nlarge = 2', "data.partition.kappa"),
        ('kind = "imbalanced"\nparticipants = 3\nkappa = 0.1\nlarge = 3', "data.partition.large"),
        ('kind = "ratio"\nratios = [0.5, 0.4]', "data.partition.ratios"),
        ('kind = "ratio"\nratios = [0.5, "x"]', "data.partition.ratios[1]"),
        ('kind = "homogeneous"\nparticipants = 1', "data.partition.participants"),
    ],
)
def test_a_partition_is_checked_by_its_kind(partition, where):
    assert mistake(f"{DIGITS}[data.partition]\n{partition}\n").where == f"trial.toml: {where}"


def test_a_partition_becomes_its_own_type():
    text = DIGITS + '[data.partition]\nkind = "dirichlet"\nparticipants = 3\ndelta = "1/4"\n'
    assert parse_config(text, source="t").data.partition == DirichletPartition(
        kind="dirichlet", participants=3, delta=0.25
    )


def test_all_mistakes_are_told_at_once():
    text = str(mistake(HEART + "[training]\nrounds = 0\nlocal_steps = 0\nlr = 1\n"))
    assert "training.rounds" in text
    assert "training.local_steps" in text
    assert "training.lr" in text


def test_a_configuration_cannot_be_changed_in_place():
    with pytest.raises(ValueError, match="frozen"):
        demo_config().training.rounds = 3


def test_overrides_are_checked_like_a_file():
    changed = override(demo_config(), {"training.rounds": 3, "run.seeds": [4, 5]})
    assert (changed.training.rounds, changed.run.seeds) == (3, (4, 5))
    with pytest.raises(ConfigError) as caught:
        override(demo_config(), {"training.round": 3}, source="command line")
    assert caught.value.where == "command line: training.round"
    with pytest.raises(ConfigError, match="no such key"):
        override(demo_config(), {"run.name.first": "x"})


def test_several_hidden_layers_are_refused_with_the_reason():
    error = mistake(HEART + "[model]\nhidden = [32, 16]\n")
    assert (error.where, error.found) == ("trial.toml: model.hidden", [32, 16])
    assert "one hidden layer" in error.problem
    assert "Student and Teacher take more layers" in error.problem  # tests/unit/exchange
    assert error.expected == "one width, such as hidden = 32"
    network = '[model]\nkind = "network"\nnetwork = "digits-8"\nhidden = [32, 16]\n'
    assert mistake(HEART + network).expected == "no such key: the network's name says its layers"
    assert mistake(HEART + "[model]\nhidden = []\n").expected == "one width, such as hidden = 16"
    config = parse_config(HEART + "[model]\nhidden = 32\n", source="t")
    assert config.model.hidden == 32


def test_a_decimal_comma_in_a_number_is_named():
    with pytest.raises(ConfigError, match=r"not valid TOML.*decimal point: 0\.33"):
        parse_config('[run]\nname = "x"\n[data]\ntest_fraction = 0,33\n', source="c.toml")
