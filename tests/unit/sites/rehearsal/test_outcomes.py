"""Sites whose patients have an outcome that is no class: from files to reports."""

import contextlib
import html
import json

import numpy as np
import pytest

from securefair.errors import ConfigError, DataError, SecureFairError
from securefair.model.outcomes import outcome_named
from securefair.model.stored import from_bytes
from securefair.sites.rehearsal.days import Year
from securefair.sites.rehearsal.expected import in_one_process, same
from securefair.sites.rehearsal.made_up import FARTHEST, made_up
from securefair.sites.rehearsal.nights import DAY, Clock
from securefair.sites.rehearsal.rehearsal import make_places, project_between
from securefair.sites.rehearsal.year import ROUND_DAYS
from securefair.sites.site.export import write_results
from securefair.sites.site.records import MODEL
from securefair.sites.site.samples import check_same_samples

NOW = 1_800_000_000
OUTCOMES = ("time", "number", "count")


@pytest.mark.parametrize("name", OUTCOMES)
def test_made_up_tables_are_read_as_any_table(tmp_path, name):
    tables = made_up(tmp_path / "tables", name, 3)
    data = tables.data()
    assert [one.name for one in data] == list(tables.names)
    assert {one.train.outcome for one in data} == {name}
    assert {one.train.features.shape for one in data} == {(60, 4)}
    assert not np.array_equal(data[0].train.features, data[1].train.features)
    again = made_up(tmp_path / "again", name, 3).data()
    np.testing.assert_array_equal(data[2].test.values, again[2].test.values)
    if outcome_named(name).ranged:
        assert np.abs(data[0].train.values[:, 0]).max() <= 1
        assert tables.rules["label_range"] == [-FARTHEST, FARTHEST]


def test_tables_are_made_up_for_no_classes(tmp_path):
    for name in ("two_classes", "nonsense"):
        with pytest.raises(ConfigError, match="outcome"):
            made_up(tmp_path, name, 3)


@contextlib.contextmanager
def sites_of(folder, name, algorithm="transfer"):
    tables = made_up(folder / "tables", name, 3)
    project, identities = project_between(
        tables.data(),
        algorithm,
        1,
        "clear",
        rules=tables.rules,
        now=NOW,
        days=30,
        round_seconds=ROUND_DAYS * DAY,
    )
    make_places(folder, tables.data(), project, identities, "local", tables=tables)
    year = Year(folder, project, Clock(NOW))
    with contextlib.closing(year):
        yield year, project, tables


@pytest.mark.slow  # whole rounds of three sites
@pytest.mark.parametrize(
    ("name", "algorithm"),
    [*((name, "transfer") for name in OUTCOMES), ("time", "validation"), ("count", "validation")],
)
def test_sites_end_as_the_simulation_does(tmp_path, name, algorithm):
    with sites_of(tmp_path, name, algorithm) as (year, project, tables):
        for _ in range(6):
            year.night()
        assert year.answered() == 1
        expected = in_one_process(project, tables.data(), 1, 0)
        for own in tables.data():
            site = year.opened(own.name)
            with site.store.view() as tx:
                model = from_bytes(tx.memory.get(MODEL), where=own.name)
            assert same(model, expected.hosts[own.name].model(), own.test)
            (record,) = expected.records[own.name]
            assert year.records(own.name)[0].decisions == record.decisions
            headline = outcome_named(name).headline
            results = write_results(
                tmp_path / own.name / "out",
                project,
                site.own,
                site.store,
                seed=0,
                data=str(tables.files(own.name)[0]),
                role="both",
                agreement=site.agreement,
            )
            page = results.page.read_text("utf-8")
            assert "accuracy" not in page.casefold()
            assert html.escape(site.agreement.summary, quote=False) in page
            assert outcome_named(name).scores[headline] in page
            assert page.count("<figure") >= 2
            told = json.loads((results.model / "card.json").read_text("utf-8"))
            assert told["model"]["outcome"] == name
            assert told["model"]["pictures"]


def test_other_times_are_other_samples(tmp_path):
    """What is known beside labels counts: strata alone would not tell."""
    with sites_of(tmp_path, "time") as (year, _, _tables):
        name = year.names[0]
        year.start(name)
        site = year.opened(name)
        check_same_samples(site.store, site.own)
        site.own.train.values[0, 0] += 1.0
        with pytest.raises(DataError, match="not those that this site began with"):
            check_same_samples(site.store, site.own)


def test_a_promise_to_patients_is_refused_by_name(tmp_path):
    from securefair.sites.project.agreeing import agreement_of
    from securefair.sites.project.terms import checked_terms

    with sites_of(tmp_path, "count") as (_, project, _tables):
        table = project.terms.as_table()
        table["privacy"] = {"epsilon": 1.0}
        with pytest.raises(SecureFairError, match=r"no mechanism .* for a count") as refused:
            agreement_of(
                type(project)(terms=checked_terms(table, source="test"), cards=project.cards)
            )
        assert "[privacy] takes classes, two or more" in str(refused.value)
