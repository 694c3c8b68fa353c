"""A site goes on with other patients: who stays, stays where it was."""

from dataclasses import replace

import msgspec
import numpy as np
import pytest

from securefair.config import TableSection
from securefair.data.places import marks_of
from securefair.errors import ConfigError, DataError
from securefair.sites.couriers.interface import CourierSettings
from securefair.sites.rehearsal.rehearsal import hospitals, project_between
from securefair.sites.site.folder import SampleFiles, SiteSettings
from securefair.sites.site.renewing import Taken, samples_next, samples_now

SEED, KEY = 7, b"k"


@pytest.fixture(scope="module")
def terms():
    return project_between(hospitals(2), "transfer", 1, "clear")[0].terms


def written(path, samples, rows):
    np.savez(path, features=samples.features[rows], labels=samples.labels[rows])
    return str(path)


@pytest.fixture
def settings(tmp_path):
    """60 patients of one table; then 40 of these and 40 others."""
    samples = hospitals(2)[0].train
    first = written(tmp_path / "first.npz", samples, np.arange(60))
    then = written(tmp_path / "then.npz", samples, np.arange(20, 100))
    return SiteSettings(
        name="north",
        data=first,
        courier=CourierSettings(kind="flare"),
        renewals=(SampleFiles(data=then),),
    )


def marks(samples):
    return set(marks_of(samples, KEY))


def test_who_stays_stays_for_training_or_for_testing(settings, terms):
    before = samples_now(settings, terms, SEED, Taken())
    later = samples_next(settings, terms, SEED, 0, before)
    assert len(later.train) + len(later.test) == 80
    assert not marks(later.train) & marks(before.test)
    assert not marks(later.test) & marks(before.train)
    new = marks(later.train) - marks(before.train)
    assert 20 <= len(new) < 40  # of those who came some are for testing
    assert marks(later.test) - marks(before.test)
    whole = np.concatenate([later.train.features, later.test.features])
    table = np.load(settings.renewals[0].data)["features"]
    np.testing.assert_array_equal(table[later.rows], whole)


def test_the_parts_are_the_same_at_every_later_start(settings, terms):
    before = samples_now(settings, terms, SEED, Taken())
    later = samples_next(settings, terms, SEED, 0, before)
    key = SEED.to_bytes(16, "big")
    taken = Taken(number=1, trained=tuple(marks_of(later.train, key)))
    again = samples_now(settings, terms, SEED, taken)
    for part in ("train", "test"):
        one, other = getattr(later, part), getattr(again, part)
        np.testing.assert_array_equal(one.features, other.features)
        np.testing.assert_array_equal(one.labels, other.labels)


def test_a_table_of_their_own_for_testing_is_used_as_it_is(settings, terms, tmp_path):
    samples = hospitals(2)[1].train
    files = SampleFiles(
        data=settings.renewals[0].data,
        test_data=written(tmp_path / "test.npz", samples, np.arange(30)),
    )
    before = samples_now(settings, terms, SEED, Taken())
    later = samples_next(settings.with_next(0, files), terms, SEED, 0, before)
    assert (len(later.train), len(later.test)) == (80, 30)


def test_somebody_must_be_left_to_train_on(settings, terms):
    with pytest.raises(DataError, match="nobody is left to train on"):
        samples_now(settings, terms, SEED, Taken(number=1, trained=()))


def test_settings_name_what_was_taken_up(settings):
    assert settings.at(1).data == settings.renewals[0].data
    assert settings.with_next(0, SampleFiles(data="c.csv")).renewals == (SampleFiles(data="c.csv"),)
    assert len(settings.with_next(1, SampleFiles(data="c.csv")).renewals) == 2
    with pytest.raises(ConfigError, match="not named any more"):
        msgspec.structs.replace(settings, renewals=()).at(1)


def test_a_project_that_fills_gaps_in_goes_on_with_no_others(settings, terms):
    before = samples_now(settings, terms, SEED, Taken())
    table = TableSection(label="y", classes=(("0",), ("1",)), fill=True)
    filling = replace(terms, config=terms.config.model_copy(update={"table": table}))
    with pytest.raises(ConfigError, match="other values would be filled in"):
        samples_next(settings, filling, SEED, 0, before)
