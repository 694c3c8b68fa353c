"""Sites that look at each other's models, or only look, or are only looked at."""

from dataclasses import replace

import numpy as np
import pytest

from securefair.sites.site.records import stored_pieces


@pytest.fixture
def town(make_town):
    made = make_town(3, algorithm="validation", roles={"north": "student", "south": "teacher"})
    made.live()
    return made


def recalled(town, name, **changes):
    """As `site export` has it, from the store alone: a host, and pieces."""
    own = replace(town.data[name], **changes)
    with town.stores[name].view() as tx:
        pieces = stored_pieces(tx)
    seed = town.hosts[name]._seed
    host = town.kind.recalled(town.collaboration, own, seed=seed)
    return host, pieces


def found_by(town, name, **groups):
    host, pieces = recalled(town, name)
    return host.validation(pieces=pieces, **groups)


def test_whatever_was_opened_is_no_part_of_a_model_of_all_patients(town):
    own = town.data["north"]
    host, pieces = recalled(town, "north", test_rows=np.arange(len(own.test)))
    assert pieces  # that it opened
    alone = host.fitted_to_all({})
    whole = host.fitted_to_all(pieces)
    x = own.test.features
    np.testing.assert_array_equal(whole.function.logits(x), alone.function.logits(x))


def test_each_finds_the_scores_of_those_that_answered(town):
    (west,) = set(town.names) - {"north", "south"}
    north, other = found_by(town, "north"), found_by(town, west)
    assert set(north.pages) == {"south", west}
    assert set(other.pages) == {"south"}
    assert other.unanswered == ["north"]  # which only validates
    assert north.own is not None
    assert north.pages == town.hosts["north"].validation().pages
    assert town.numbers("north") == 0
    assert town.numbers("south") > 0
    assert not town.hosts["south"].notes.released  # which is validated only


def test_groups_are_of_all_patients(town):
    own = town.data["north"]
    half = np.where(np.arange(len(own.rows)) % 2, "a", "b")
    page = found_by(town, "north", groups={"half": half}).pages["south"]
    assert sum(one.patients for one in page.groups["half"].values()) == len(half)


def test_a_site_that_was_killed_finds_the_same(town):
    before = town.hosts["north"].validation()
    town.kill("north")
    assert town.hosts["north"].validation() == before
