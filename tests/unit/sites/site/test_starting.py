"""How a site is opened. What a process that ended leaves is a matter of `test_site`."""

import contextlib

import pytest

from support.threads import of_blas
from support.years import small_hospitals, small_year


@pytest.mark.usefixtures("nobody_says")
def test_a_site_computes_its_fits_on_one_thread(tmp_path):
    year = small_year(tmp_path, small_hospitals(2), "transfer", 1, round_days=1)
    with contextlib.closing(year):
        year.start(year.names[0])
        assert of_blas() == {1}
    assert of_blas() == {2}
