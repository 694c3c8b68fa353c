"""What a report tells of a transfer is what was opened in it."""

import msgspec
import pytest

from securefair.collaboration.kinds import kind_of
from securefair.collaboration.transfer.telling import tell
from securefair.config import override, parse_config
from securefair.records import AlgorithmResult, StandInResult
from securefair.words import languages, words_of
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


def limits_of(people, **settings):
    config = override(CONFIG, {f"transfer.{key}": one for key, one in settings.items()})
    return dict(tell(config, concluded("transfer", NAMES[:people]), HOSPITALS).limits)


@pytest.mark.parametrize(
    ("people", "settings", "two"),
    [(3, {}, 0), (6, {"peers": 2}, 0), (4, {}, 1), (4, {"missing": 0}, None), (6, {}, None)],
)
def test_a_sum_over_two_hides_either_fit_roughly(people, settings, two):
    """`two` is how many may be missing where a sum may be over two only; None where none may."""
    limits = limits_of(people, **settings)
    said = limits["Collusion"]
    roughly = "2 hospitals that work together know it exactly; each alone knows it roughly" in said
    assert roughly == (two is not None)
    assert ("fewer do not" in said) == (two is None)
    assert (f"but {two} at most" in said) == bool(two)
    assert ("A sum over two" in limits["What the sum implies"]) == (two is not None)


def test_sums_tell_nobody_exactly_how_many_patients_there_are():
    """Their questions hold the digest of the plan alone."""
    said = limits_of(4)["Sizes and times"]
    assert "No message says how many patients a hospital has" in said
    assert "told exactly" not in said
    assert "told exactly how many patients" in limits_of(4, sums="none")["Sizes and times"]


def test_no_noise_hides_what_is_added_up():
    assert "noise" not in str(limits_of(4))


@pytest.mark.parametrize("kind", ["transfer", "validation"])
@pytest.mark.parametrize("names", [("b",), ("b", "c"), ()])
def test_what_a_model_that_was_brought_learnt_from_is_not_known(names, kind):
    found = StandInResult(model="forest", own=0.1, synthetic=0.1, other_class=0.0)
    nothing = dict.fromkeys(
        ("mva", "mcg", "cgs", "cgs_ddof1", "mva_spread", "mcg_spread", "cgs_spread"), 0.0
    )
    lists = {name: [] for name in ("accuracy", "gain", "accuracy_spread", "gain_spread")}
    algorithm = AlgorithmResult(**nothing, **lists, stand_ins=dict.fromkeys(names, found))
    result = concluded("transfer", NAMES[:4])
    result = msgspec.structs.replace(result, algorithms={"transfer": algorithm})
    steps = " ".join(
        kind_of(kind).tell(override(CONFIG, {"transfer.sums": "none"}), result, HOSPITALS).steps
    )
    assert "nothing that was opened flows back in an answer" in steps
    assert ("learnt from is not known here" in steps) == bool(names)
    if names:
        assert f"but for {HOSPITALS.listing(names)}, which answer" in steps


@pytest.mark.parametrize("language", languages())
def test_the_rule_is_no_logit_where_fits_are_added_up(language):
    """It heads reports of sums, too, in which nobody says a logit of anybody."""
    assert "ogit" not in words_of(language)(kind_of("transfer").wording.rule)
