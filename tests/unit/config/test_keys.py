import pytest

from securefair.config import TrainingSection
from securefair.config.keys import in_sections
from securefair.errors import ConfigError

KEYS = ("training.rounds", "training.momentum", "encryption.precision", "gossip.precision")


def placed(**settings):
    return in_sections(settings, KEYS, source="here")


def test_a_key_stands_in_its_section():
    assert placed(rounds=3, momentum=None) == {"training": {"rounds": 3}}


def test_a_section_comes_as_a_table_or_as_itself():
    assert placed(training={"rounds": 3}, momentum=0.5) == {
        "training": {"rounds": 3, "momentum": 0.5}
    }
    assert placed(training=TrainingSection(rounds=3)) == {"training": {"rounds": 3}}


def test_a_key_of_two_sections_is_written_in_its_own():
    with pytest.raises(ConfigError) as refused:
        placed(precision=0.1)
    assert refused.value.where == "here: precision"
    assert "encryption={'precision': ...} or gossip=" in str(refused.value)
    assert placed(gossip={"precision": 0.1}) == {"gossip": {"precision": 0.1}}


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"roundz": 3}, "Did you mean rounds"),
        ({"trainin": {}}, "Did you mean training"),
        ({"zzz": 3}, "Known here: encryption, gossip, momentum, precision, rounds, training"),
        ({"seeds": 3}, "Known here: encryption"),
        ({"training": {"roundz": 2}}, "training.roundz.*Did you mean rounds"),
        ({"training": {"precision": 2}}, "training.precision.*Known here: momentum, rounds"),
        ({"training": 3}, "a section comes as a table"),
        ({"training": {"rounds": 2}, "rounds": 3}, "given twice"),
        ({"rounds": 3, "training": {"rounds": 2}}, "given twice"),
    ],
)
def test_what_cannot_be_placed_is_refused(settings, words):
    with pytest.raises(ConfigError, match=words):
        placed(**settings)


def test_what_to_write_instead_of_a_key_that_is_not_taken():
    for settings in ({"speed": 3}, {"training": {"speed": 3}}):
        with pytest.raises(ConfigError, match="Did you mean momentum"):
            in_sections(settings, KEYS, meant={"speed": "momentum"}, source="here")


def test_a_key_that_others_read_goes_where_they_have_it():
    found = in_sections({"rounds": 3, "q": 5}, KEYS, others=("transfer.q", "a.rounds"), source="t")
    assert found == {"training": {"rounds": 3}, "transfer": {"q": 5}}
