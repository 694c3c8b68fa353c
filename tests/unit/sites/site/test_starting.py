"""How a site is opened. What a process that ended leaves is a matter of `test_site`."""

import contextlib
from dataclasses import replace

import numpy as np
import pytest

from securefair.errors import DataError
from securefair.sites.site import renewing
from securefair.sites.site.records import neighbours_of
from support.threads import of_blas
from support.years import small_hospitals, small_year


@pytest.mark.usefixtures("nobody_says")
def test_a_site_computes_its_fits_on_one_thread(tmp_path):
    year = small_year(tmp_path, small_hospitals(2), "transfer", 1, round_days=1)
    with contextlib.closing(year):
        year.start(year.names[0])
        assert of_blas() == {1}
    assert of_blas() == {2}


@pytest.mark.usefixtures("nobody_says")
@pytest.mark.parametrize("algorithm", ["cycle-gossip", "transfer"])
def test_an_opened_site_notes_whose_models_it_may_average(tmp_path, algorithm):
    year = small_year(tmp_path, small_hospitals(3), algorithm, 1, round_days=1)
    with contextlib.closing(year):
        name, *peers = year.names
        year.start(name)
        with year.opened(name).store.view() as tx:
            noted = neighbours_of(tx)
    assert noted == ((tuple(sorted(peers)), 2) if algorithm == "cycle-gossip" else ((), 0))


def test_a_site_goes_on_with_what_an_earlier_version_held_out(tmp_path, monkeypatch):
    """It held rows out, whosever they are: both parts may have rows of one patient."""
    own, begun = renewing.samples_now, []

    def samples(*asked, by_rows=False):
        data = own(*asked)
        parts = [
            replace(part, patients=np.arange(len(part)) // 2) for part in (data.train, data.test)
        ]
        if not by_rows and begun:  # held out by patients, it has other rows to train on
            parts[0] = parts[0].take(np.arange(len(parts[0]))[::-1])
        return replace(data, train=parts[0], test=parts[1])

    monkeypatch.setattr(renewing, "samples_now", samples)
    year = small_year(tmp_path, small_hospitals(2), "transfer", 1, round_days=1)
    with contextlib.closing(year):
        name = year.names[0]
        first = year.start(name) or year.opened(name).own
        year.stop(name)
        begun.append(True)
        year.start(name)
        again = year.opened(name).own
        assert (again.train.features == first.train.features).all()
        year.stop(name)
        begun.clear()

        def others(*asked, by_rows=False):
            data = samples(*asked, by_rows=by_rows)
            return replace(data, test=data.train)

        monkeypatch.setattr(renewing, "samples_now", others)
        with pytest.raises(DataError, match="not those that this site began with"):
            year.start(name)
