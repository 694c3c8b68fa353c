"""What a report tells of distillation follows from who decides, and who only teaches."""

import pytest

from securefair.collaboration.distillation.telling import tell
from securefair.config import override, parse_config
from securefair.records import PrivacyResult, RunResult
from securefair.words import words_of

HOSPITALS = words_of().about("hospitals")
CONFIG = parse_config('[run]\nname = "x"\n[data]\nsource = "heart"', source="test")


APART = {"distillation.roles": "apart", "distillation.teachers": ["Cleveland"]}
PRIVATE = {
    "Cleveland": PrivacyResult(
        mechanism="objective perturbation",
        epsilon=2.0,
        delta=1e-4,
        spent_epsilon=2.0,
        unit="patient",
        noise="seed",
        asked_epsilon=None,
        meaning="A patient is hidden.",
        caveats=[],
    )
}


def told(config=CONFIG, *, reputations=False, privacy=None):
    return dict(tell(config, concluded(privacy), HOSPITALS, reputations=reputations).limits)


def concluded(privacy=None):
    return RunResult(
        format=1,
        name="x",
        seeds=[0],
        algorithm="vpdl",
        participants=[],
        algorithms={},
        encryption=None,
        privacy=privacy,
    )


def done(config=CONFIG, privacy=None):
    return " ".join(tell(config, concluded(privacy), HOSPITALS, reputations=False).steps)


def counted(privacy=None):
    return tell(CONFIG, concluded(privacy), HOSPITALS, reputations=False).counted


def test_reputations_are_told_of_where_there_are_any():
    formed, none = told(reputations=True), told()
    assert "shows its reputation" in formed["Sizes and times"]
    assert "Reputation notices" in formed["Honest answers"]
    assert "reputation" not in none["Sizes and times"]
    assert "counts like any other" in none["Honest answers"]


def test_with_roles_apart_nothing_flows_back():
    assert "can carry it back" in told()["Malicious teachers"]
    text = told(override(CONFIG, APART))["Malicious teachers"]
    assert "carry it back" not in text
    assert "answers nobody" in text


def test_private_models_answer_and_what_was_opened_does_not_come_back():
    """docs/threat-model.md, what stands against a malicious teacher."""
    text = told(privacy=PRIVATE)["Malicious teachers"]
    assert "Nobody answers from what it opened" in text
    assert "can carry it back" not in text
    decided = told(privacy=PRIVATE, reputations=True)["Malicious teachers"]
    assert "Only decisions can carry it back: whom a hospital asks" in decided
    assert "private model" in told(privacy=PRIVATE)["What the released numbers imply"]


def test_it_says_which_models_answered_and_how_long_they_last():
    assert "their current models" in done()
    assert "private" not in done()
    assert "changes from round to round" in counted()
    private = done(privacy=PRIVATE)
    assert "fitted a private model" in private
    assert "their private models" in private
    assert "current" not in private
    lasting = counted(PRIVATE)
    assert "changes from round to round" not in lasting
    assert "teacher's private model has" in lasting


@pytest.mark.parametrize("privacy", [None, PRIVATE])
def test_with_roles_apart_not_everybody_asked(privacy):
    text = done(override(CONFIG, APART), privacy)
    assert "Cleveland only taught, and all others only learned." in text
    assert "every hospital that learned asked the teachers" in text
    assert "in the role of a student" not in text
    assert "in the role of a student" in done(privacy=privacy)


@pytest.mark.parametrize(("q", "few"), [(8, True), (23, True), (24, False), (64, False)])
def test_few_numbers_are_not_said_to_be_refused(q, few):
    text = told(override(CONFIG, {"distillation.q": q}))["Malicious teachers"]
    assert (f"So few numbers ({q} a class and answer)" in text) == few
    assert ("99\u00a0%" in text) != few
    assert ("measured with q = 64 projections" in text) != few


@pytest.mark.parametrize("release", ["loss", "class_sums"])
def test_what_only_monitors_is_not_said_to_be_refused(release):
    text = told(override(CONFIG, {"distillation.release": release}))["Malicious teachers"]
    assert "So few numbers (1 a class and answer) let one count on no answer being refused" in text
    assert "is refused" not in text


def test_of_logits_the_number_of_projections_says_nothing():
    settings = {"distillation.q": 8, "distillation.release": "logits"}
    assert "So few" not in told(override(CONFIG, settings))["Malicious teachers"]
