"""What is said of a transfer before it runs."""

from dataclasses import replace

import pytest

from securefair.collaboration.kinds import kind_of
from securefair.config.privacy import PrivacySection

KIND = kind_of("transfer")
OPEN = "every peer that is asked can read the features of these patients"


@pytest.mark.parametrize(
    ("backend", "how"), [("rns", "under encryption"), ("clear", "in the open (backend clear)")]
)
def test_how_fits_are_asked_follows_the_backend(make_hospitals, agree, backend, how):
    data = make_hospitals()
    found = KIND.forecast(agree(data, backend=backend), data)
    assert found.chosen.startswith(f"Fits are asked about samples, {how}: ")
    assert any(OPEN in one for one in found.warnings) == (backend == "clear")


def test_sums_hold_no_patients_whatever_the_backend(make_hospitals, agree):
    data = make_hospitals()
    found = KIND.forecast(agree(data, backend="clear", sums="auto"), data)
    assert not any(OPEN in one for one in found.warnings)


@pytest.mark.parametrize(
    ("names", "told"),
    [
        ("abc", "One answer determines a teacher's private fit (epsilon 2), not its own. So"),
        ("abcd", "determines the mean of the teachers' private fits (epsilon 2). That is"),
    ],
)
def test_what_a_private_teacher_tells_is_its_private_fit(make_hospitals, agree, names, told):
    data = make_hospitals(names)
    own = agree(data, q=16)
    private = replace(own, private=True, privacy=PrivacySection(epsilon=2.0))
    for found in (KIND.forecast(private, data).warnings, KIND.cautions(private)):
        (said,) = [one for one in found if "determines" in one]
        assert told in said
    assert not any("private" in one for one in KIND.forecast(own, data).warnings)
