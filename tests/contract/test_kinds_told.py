"""Every kind that is registered says in reports what is true of it, and of how it was run."""

import itertools

import pytest

from contract.kinds import configured, told_of
from securefair.collaboration.kinds import REGISTERED, kind_of
from securefair.words import words_of


@pytest.fixture(params=sorted(REGISTERED))
def name(request):
    return request.param


def test_it_says_what_it_does_counts_and_does_not_protect(name):
    kind, config, result = kind_of(name), configured(name), told_of(name)
    told = kind.tell(config, result, words_of().about("hospitals"))
    steps, limits, counted = told.steps, told.limits, told.counted
    assert len(steps) >= 3
    assert len({title for title, _ in limits}) == len(limits) >= 5
    assert "not a formal guarantee" in counted
    for text in (*steps, counted, *itertools.chain(*limits)):
        assert text.strip() == text
        assert "{" not in text
        assert "participant" not in text  # it is hospitals that read
    decides = "eputation" in str(steps) or "By that weight" in str(steps)
    assert decides == kind.wording.reputations


@pytest.mark.parametrize("backend", ["rns", "clear"])
def test_what_is_said_of_keys_and_noise_is_said_where_something_was_encrypted(name, backend):
    kind, config = kind_of(name), configured(name, **{"encryption.backend": backend})
    told = kind.tell(config, told_of(name, backend), words_of().about("hospitals"))
    said = str([told.steps, told.limits])
    asks = name not in ("table-one", "cycle-gossip")  # which answer no questions of samples
    for words in ("secret key", "encrypt anything", "noise that hides"):
        assert (words in said) == (asks and backend == "rns")
    assert ("can ask about anything" in said) == (asks and backend == "clear")


def test_it_says_who_is_told_how_many_patients_there_are(name):
    told = kind_of(name).tell(configured(name), told_of(name), words_of().about("hospitals"))
    said = dict(told.limits).get("Sizes and times", "")
    assert ("told exactly how many patients" in said) == (name not in ("table-one", "cycle-gossip"))
    assert ("A sum tells exactly how many the others have" in said) == (name == "table-one")
