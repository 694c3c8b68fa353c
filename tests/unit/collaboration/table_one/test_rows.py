"""Table 1 of tables whose patients have several rows: each counts once, by the first one."""

import json
from dataclasses import replace

import numpy as np
import pytest

from securefair.config.columns import NumericColumn
from securefair.data import ParticipantData, Samples
from securefair.data.split import hold_out
from securefair.data.table import TableSpec, Target
from securefair.report.described import described_notes
from securefair.words import words_of
from support import described as support
from support.commands import invoke as invoke

SPEC = TableSpec(
    columns=(NumericColumn(name="age", low=0, high=100),),
    target=Target(name="ill", groups=(("0",), ("1",))),
)
VISITS = 3


def visits(seed, patients=30):
    """The first visit of each is at another age than all later ones, in a mixed order of rows."""
    rng = np.random.default_rng(seed)
    who = rng.permutation(np.repeat(np.arange(patients), VISITS))
    first = np.isin(np.arange(len(who)), np.unique(who, return_index=True)[1])
    x = np.where(first, rng.uniform(-1, 0, len(who)), rng.uniform(0, 1, len(who)))
    return Samples(x[:, None], who % 2, 2, patients=who), x[first]


@pytest.mark.parametrize("by_rows", [False, True])
def test_the_first_row_in_the_table_counts_whatever_is_held_out(by_rows):
    samples, first = visits(0)
    *_, agreement, _ = support.agreed_on(SPEC, dict.fromkeys("abc", samples))
    own = hold_out("a", samples, 0.3, seed=1, by_rows=by_rows)
    found = agreement.patients_of(own)
    assert len(found) == 30
    np.testing.assert_array_equal(found.features[:, 0], first)


def test_rows_of_a_table_for_testing_come_behind():
    samples, first = visits(0)
    later = replace(samples, features=samples.features + 5)
    *_, agreement, _ = support.agreed_on(SPEC, dict.fromkeys("abc", samples))
    found = agreement.patients_of(ParticipantData("a", samples, later))
    np.testing.assert_array_equal(found.features[:, 0], first)


def test_patients_are_counted_and_the_page_says_so():
    found = support.described(SPEC, {name: visits(at)[0] for at, name in enumerate("abc")})
    assert (found.patients, found.by_hospital) == (90, dict.fromkeys("abc", 30))
    assert found.first_rows
    for language, said in (
        ("en", "Of a patient with several rows the first one in the table counts."),
        ("de", "Von Patienten mit mehreren Zeilen zählt die erste in der Tabelle."),
        ("fr", "D\u2019un patient qui a plusieurs lignes, la première du tableau compte."),
    ):
        assert said in described_notes(found, words_of(language))
    alone = {name: replace(visits(0)[0], patients=None) for name in "abc"}
    plain = support.described(SPEC, alone)
    assert (plain.patients, plain.first_rows) == (270, False)
    assert len(described_notes(plain, words_of("en"))) == 2


def test_the_column_is_named_in_the_settings_and_both_files_are_one_hospitals(invoke, tmp_path):
    """Whoever is in the file for testing as well is no second patient."""
    for at, name in enumerate("abc"):
        rows = [f"P{at}{one % 30},{20 + one},{one % 2}" for one in range(60)]
        later = [f"P{at}{one},70,{one % 2}" for one in range(12)] + [f"N{at},70,1"]
        for file, lines in ((f"{name}.csv", rows), (f"{name}-test.csv", later)):
            text = "\n".join(["case,age,ill", *lines]) + "\n"
            (tmp_path / file).write_text(text, encoding="utf-8")
    people = "".join(
        f'[[participants]]\nname = "{name}"\nfile = "{name}.csv"\ntest_file = "{name}-test.csv"\n'
        for name in "abc"
    )
    (tmp_path / "config.toml").write_text(
        '[run]\nname = "d"\n[data]\nsource = "files"\n'
        '[table]\nlabel = "ill"\nclasses = [["0"], ["1"]]\npatient_column = "case"\n'
        '[[table.columns]]\nname = "age"\nkind = "numeric"\nlow = 0\nhigh = 100\n' + people,
        encoding="utf-8",
    )
    found = json.loads(invoke("describe", tmp_path / "config.toml", "--json").output)
    assert (found["patients"], found["first_rows"]) == (93, True)
