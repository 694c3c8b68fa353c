from securefair.prediction.effects import ColumnEstimate
from securefair.report.estimates import estimate_rows
from securefair.words import words_of


def estimate(**given):
    numbers = {"value": 1.234, "low_90": 1.1, "high_90": 1.4, "low_95": 1.05, "high_95": 1.5}
    said = {"column": "age", "step": 5.0, "code": "", "instead": "", "effect": "odds_ratio"}
    return ColumnEstimate(**(said | numbers | given))


def test_alone_stands_beside_together_in_the_words_of_the_language():
    given = {
        "north": [
            estimate(fit="alone"),
            estimate(fit="together", value=2.0),
            estimate(fit="alone", column="sex", step=None, code="m", instead="f"),
            estimate(fit="together", column="sex", step=None, code="m", instead="f"),
        ]
    }
    age, sex = estimate_rows(given, words_of())
    assert (age.hospital, age.change) == ("north", "age: 5 more")
    assert age.alone == "1.23 (1.05 to 1.50)"
    assert age.together.startswith("2.00")
    assert sex.change == "sex: m instead of f"
    assert estimate_rows(given, words_of("de"))[0].alone == "1,23 (1,05 bis 1,50)"
    assert estimate_rows({}, words_of()) == []
