"""A written configuration reads back as the same configuration."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from securefair.config import demo_config, keys_of, override, parse_config, to_toml
from securefair.config.describing import described_keys

TITLES = st.text(st.characters(exclude_categories=["Cs"]), max_size=120)


@given(
    title=TITLES,
    seeds=st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=5, unique=True),
    rate=st.floats(min_value=0, exclude_min=True, allow_nan=False, allow_infinity=False),
    comments=st.booleans(),
)
def test_what_is_written_reads_back_equal(title, seeds, rate, comments):
    config = override(
        demo_config(),
        {"report.title": title, "run.seeds": seeds, "training.learning_rate": rate},
    )
    assert parse_config(to_toml(config, comments=comments), source="t") == config


def test_a_partition_and_a_folder_survive():
    config = override(
        demo_config(),
        {
            "run.out": "runs/here",
            "data.source": "digits",
            "data.partition": {"kind": "imbalanced", "participants": 5, "kappa": 0.8},
        },
    )
    assert parse_config(to_toml(config), source="t") == config


@pytest.mark.parametrize("comments", [True, False])
def test_defaults_are_written_out(comments):
    written = tomllib.loads(to_toml(demo_config(), comments=comments))
    assert written["fairness"]["forced_every"] == 5
    assert written["encryption"]["precision"] == demo_config().encryption.precision


@pytest.mark.parametrize("comments", [True, False])
def test_what_nothing_reads_is_left_out_with_its_heading(comments):
    unread = {"fairness.alpha", "model.network", *keys_of("gossip", "privacy")}
    text = to_toml(demo_config(), comments=comments, unread=unread)
    written = tomllib.loads(text)
    assert "gossip" not in written
    assert "alpha" not in written["fairness"]
    assert "tau_opt" in written["fairness"]
    assert "network =" not in text


def test_what_nothing_reads_stays_where_it_differs_from_its_default():
    config = override(demo_config(), {"fairness.alpha": 0.125, "gossip.beta": 2.5})
    text = to_toml(config, unread=keys_of("fairness", "gossip"))
    written = tomllib.loads(text)
    assert written["fairness"] == {"alpha": 0.125}
    assert written["gossip"] == {"beta": 2.5}
    assert parse_config(text, source="t") == config


def test_comments_explain_every_key():
    lines = to_toml(demo_config(), comments=True).splitlines()
    keys = [at for at, line in enumerate(lines) if " =" in line and not line.startswith("# ")]
    assert len(keys) > 25
    assert all(lines[at - 1].startswith("# ") for at in keys)
    assert "# out =" in lines  # keys that are not set are shown as well


def test_every_key_of_every_section_can_be_listed():
    listed = described_keys()
    assert {"run", "training", "table.columns, kind numeric", "privacy"} <= set(listed)
    meaning, accepts, default = listed["training"]["rounds"]
    assert (meaning, default) == ("Protocol rounds", "8")
    assert accepts == "a whole number at least 1 and at most 100000"
    assert all(
        meaning and accepts for keys in listed.values() for meaning, accepts, _ in keys.values()
    )
