"""What a report tells of a transfer is what was opened in it."""

import pytest

from securefair.collaboration.transfer.telling import tell
from securefair.config import override, parse_config
from securefair.words import words_of
from support.agreements import agree
from support.concluded import concluded

HOSPITALS = words_of().about("hospitals")
CONFIG = parse_config('[run]\nname = "x"\n[data]\nsource = "heart"', source="test")
NAMES = ("a", "b", "c", "d", "e", "f")


@pytest.mark.parametrize("people", [2, 3, 4, 6])
@pytest.mark.parametrize("peers", [2, 3, 4, 8])
@pytest.mark.parametrize("opened", ["auto", "each", "mean"])
def test_it_says_what_students_open(people, peers, opened):
    settings = {"transfer.peers": peers, "transfer.opened": opened, "transfer.sums": "none"}
    config = override(CONFIG, settings)
    agreed = agree("transfer", NAMES[:people], shape=3, samples=9, peers=peers, opened=opened)
    steps = " ".join(tell(config, concluded("transfer", NAMES[:people]), HOSPITALS).steps)
    assert ("only the mean" in steps) == agreed.sums


@pytest.mark.parametrize("people", [2, 3, 6])
@pytest.mark.parametrize("opened", ["auto", "each", "mean"])
@pytest.mark.parametrize("fit", ["linear", "quadratic"])
def test_it_says_what_was_added_up_and_why(people, opened, fit):
    config = override(CONFIG, {"transfer.opened": opened, "transfer.fit": fit})
    agreed = agree(
        "transfer", NAMES[:people], shape=3, samples=9, opened=opened, fit=fit, sums="auto"
    )
    told = tell(config, concluded("transfer", NAMES[:people]), HOSPITALS)
    steps = " ".join(told.steps)
    summed = not agreed.question.encrypts
    assert summed == (people >= 3 and opened != "each" and fit == "linear")
    assert ("Nothing was encrypted, and sums were chosen instead" in steps) == summed
    assert agreed.chosen_sum.because in steps
    together = f"{agreed.enough_together} hospital"
    assert not summed or any(together in words for _, words in told.limits)


TABLES = parse_config(
    '[run]\nname = "x"\n[data]\nsource = "files"\n[table]\nlabel = "ill"\n'
    + "".join(
        f'[[{section}]]\nname = "{name}"\nfile = "{name}.csv"\n'
        for section, names in (("participants", NAMES[:4]), ("renewals", "a"))
        for name in names
    ),
    source="test",
)


def test_a_reputation_decides_at_a_renewal_where_single_answers_were_opened_only():
    each, mean = (
        " ".join(
            tell(
                override(TABLES, {"transfer.opened": one}),
                concluded("transfer", NAMES[:4]),
                HOSPITALS,
            ).steps
        )
        for one in ("each", "mean")
    )
    assert "the patients of a changed" in each
    assert "follows its own reputation of who asks" in each
    assert "the patients of a changed" in mean
    assert "a bit" not in mean
    assert "No reputation decides who answers" in mean
    assert "that fitted anew itself gets nothing" in mean
