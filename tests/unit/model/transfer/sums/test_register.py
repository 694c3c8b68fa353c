import pytest

from securefair.errors import ConfigError
from securefair.model.transfer.sums import NONE, choose_sum, sum_of
from securefair.model.transfer.sums.register import AUTO, REGISTERED


def choose(wanted, teachers=5, **other):
    settings = {"linear": True, "private": False, "brought": False, "opened": "auto"}
    return choose_sum(wanted, teachers, **(settings | other))


OTHERS = [{"teachers": 1}, {"linear": False}, {"private": True}, {"brought": True}]
OTHERS += [{"opened": "each"}]
SAID = ["1 other, and a sum needs", "no linear fit", "private models", "it brings", "by itself"]


def test_every_name_has_a_sum_and_no_other_name_has_one():
    assert all(sum_of(name) is not None for name in REGISTERED)
    assert sum_of(NONE) is None


def test_sums_are_chosen_where_they_do_the_work():
    assert choose("auto").name == AUTO
    for other in OTHERS:
        chosen = choose("auto", **other)
        assert chosen.name == NONE
        assert chosen.because


@pytest.mark.parametrize("name", [*REGISTERED, NONE])
def test_what_is_asked_for_is_chosen(name):
    assert choose(name).name == name


@pytest.mark.parametrize("name", REGISTERED)
@pytest.mark.parametrize(
    ("other", "words"),
    [*zip(OTHERS, SAID, strict=True)],
)
def test_a_sum_that_is_impossible_is_refused_by_name(name, other, words):
    with pytest.raises(ConfigError, match=words):
        choose(name, **other)
