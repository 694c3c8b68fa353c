import itertools
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

import securefair.worth.sharing as sharing_module
from securefair.errors import ConfigError, ModelError
from securefair.worth import coin, distillation_weights

NAMES = ["Cleveland", "Hungary", "Switzerland", "VA Long Beach"]
unit = st.floats(0, 1)


@cache
def all_coins(seed, rounds):
    pairs = list(itertools.permutations(NAMES, 2))
    return np.array([[coin(seed, t, k, n) for k, n in pairs] for t in range(rounds)])


def chi_square_tail(counts):
    expected = counts.sum() / counts.size
    return float(chi2.sf(((counts - expected) ** 2 / expected).sum(), counts.size - 1))


def test_coins_are_uniform():
    counts, _ = np.histogram(all_coins(7, 1000), bins=50, range=(0, 1))
    assert chi_square_tail(counts) > 1e-3


@pytest.mark.parametrize(
    "shifted",
    [
        lambda c: (c[:-1, 0], c[1:, 0]),  # one link in consecutive rounds
        lambda c: (c[:, 0], c[:, 3]),  # Cleveland -> Hungary and Hungary -> Cleveland
        lambda c: (c[:, 0], c[:, 1]),  # one teacher, two students
    ],
)
def test_coins_are_independent_of_one_another(shifted):
    one, other = shifted(all_coins(11, 8000))
    counts, _, _ = np.histogram2d(one, other, bins=8, range=((0, 1), (0, 1)))
    assert chi_square_tail(counts.ravel()) > 1e-3


def test_coins_of_neighbouring_seeds_differ():
    assert abs(np.corrcoef(all_coins(1, 500).ravel(), all_coins(2, 500).ravel())[0, 1]) < 0.05


def test_a_biased_coin_would_be_noticed():
    counts, _ = np.histogram(all_coins(7, 1000) ** 1.1, bins=50, range=(0, 1))
    assert chi_square_tail(counts) < 1e-3


@given(st.integers(), st.integers(0, 10**6), st.text(), st.text())
def test_coin_is_a_pure_function_in_the_half_open_interval(seed, round, teacher, student):
    value = coin(seed, round, teacher, student)
    assert 0.0 <= value < 1.0
    assert coin(seed, round, teacher, student) == value


def test_roles_and_boundaries_of_names_matter():
    assert coin(0, 1, "a", "b") != coin(0, 1, "b", "a")
    assert coin(0, 1, "ab", "c") != coin(0, 1, "a", "bc")
    assert coin(1, 11, "a", "b") != coin(11, 1, "a", "b")


def test_coins_never_change_between_versions_processes_or_hash_seeds():
    # Pinned: a change of these values breaks every published run's sharing decisions.
    expected = [0.32403918855286573, 0.4694090717260384, 0.3764433096887714]
    assert [coin(0, t, "Hungary", "Zürich") for t in range(3)] == expected
    source = Path(sharing_module.__file__).parents[2]
    code = (
        "import sys; from securefair.worth import coin;"
        "coins = [coin(0, t, 'Hungary', 'Z\\u00fcrich') for t in range(3)];"
        "sys.stdout.write(repr(coins))"
    )
    for hash_seed in ("1", "2"):
        out = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(source)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        assert out == repr(expected)


def test_full_reputation_gives_the_weights_of_vpdl():
    weights = distillation_weights(dict.fromkeys("abc", 1.0), participants=4)
    assert weights == dict.fromkeys("abc", 1 / 3)


@given(st.dictionaries(st.text(max_size=3), unit, max_size=5), st.integers(6, 9))
def test_weights_sum_to_one_at_most_and_raw_ones_are_reputations(reputations, participants):
    weights = distillation_weights(reputations, participants)
    assert list(weights) == list(reputations)
    assert sum(weights.values()) <= 1.0 + 1e-12
    assert distillation_weights(reputations, participants, raw=True) == reputations


def test_a_declined_answer_does_not_raise_the_weight_of_others():
    both = distillation_weights({"a": 0.5, "b": 0.5}, participants=3)
    assert distillation_weights({"a": 0.5}, participants=3)["a"] == both["a"] == 0.25


@pytest.mark.parametrize(("answers", "participants"), [(0, 1), (0, 0), (3, 3)])
def test_more_answers_than_peers_are_refused(answers, participants):
    with pytest.raises(ConfigError, match="participants"):
        distillation_weights({str(k): 1.0 for k in range(answers)}, participants)


@pytest.mark.parametrize("r", [-0.1, 1.1, float("nan")])
def test_weights_of_what_is_not_a_reputation_are_refused_by_peer(r):
    with pytest.raises(ModelError, match="peer b"):
        distillation_weights({"a": 1.0, "b": r}, participants=3)
