"""What a report tells of distillation follows from who decides, and who only teaches."""

from securefair.collaboration.distillation.telling import not_protected
from securefair.collaboration.wording import HOSPITALS
from securefair.config import override, parse_config

CONFIG = parse_config('[run]\nname = "x"\n[data]\nsource = "heart"', source="test")


def told(config=CONFIG, *, reputations=False):
    return dict(not_protected(config, None, HOSPITALS, reputations=reputations))


def test_reputations_are_told_of_where_there_are_any():
    formed, none = told(reputations=True), told()
    assert "shows its reputation" in formed["Sizes and times"]
    assert "Reputation notices" in formed["Honest answers"]
    assert "reputation" not in none["Sizes and times"]
    assert "counts like any other" in none["Honest answers"]


def test_with_roles_apart_nothing_flows_back():
    apart = {"distillation.roles": "apart", "distillation.teachers": ["Cleveland"]}
    assert "can carry it back" in told()["Malicious teachers"]
    text = told(override(CONFIG, apart))["Malicious teachers"]
    assert "carry it back" not in text
    assert "answers nobody" in text
