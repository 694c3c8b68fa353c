"""A page of peers' models on own patients."""

import pytest

from securefair.collaboration.validated import HospitalValidation, PeerValidation
from securefair.report.validated import validated_page
from securefair.words import languages, words_of
from unit.report.test_scored import page_of


@pytest.mark.parametrize("language", languages())
def test_pictures_name_the_column_that_is_predicted(language):
    peer = PeerValidation(page=page_of("time"), smooth=True, numbers=3)
    found = HospitalValidation(
        hospital="north",
        patients=200,
        peers={"south": peer},
        unanswered=[],
        own=None,
        unscored="",
        tells_fit=True,
        encrypted=True,
        private=False,
    )
    words = words_of(language).about("hospitals")
    page = validated_page(found, words, label="Monate")
    assert words("pictures.survival.across", label="Monate") in page
    nameless = words("pictures.survival.across", label=words("ward.label"))
    assert nameless not in page
    assert nameless in validated_page(found, words)
