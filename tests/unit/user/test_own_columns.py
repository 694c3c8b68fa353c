"""Columns that not everybody has: each hospital uses its own, and what leaves is of the others."""

import numpy as np
import pytest

from securefair.collaboration.kinds import kinds_of
from securefair.collaboration.resolved import ResolvedRun
from securefair.config import load_config, override, parse_config, to_toml
from securefair.data import read_rows
from securefair.errors import ConfigError, DataError
from securefair.report.progress import Silence
from securefair.run.execute import run_resolved
from securefair.user.template import new_project

NAMES = ("north", "south", "east")


def table(at, count=45):
    """Illness follows age, and a marker that one hospital does not measure."""
    rng = np.random.default_rng(at)
    age, marker = rng.uniform(30, 80, count), rng.normal(0, 1, count)
    smokes = rng.integers(0, 2, count)
    ill = (age - 55) / 15 + 2 * marker + rng.logistic(size=count) > 0
    heads = ["age", "marker", "smokes", "ill"]
    rows = zip(age.round(1), marker.round(2), smokes, ill.astype(int), strict=True)
    lines = [",".join(map(str, row)) for row in rows]
    if NAMES[at] == "south":
        heads.remove("marker")
        lines = [",".join(line.split(",")[:1] + line.split(",")[2:]) for line in lines]
    if NAMES[at] == "east":
        heads.append("ward")
        lines = [f"{line},{'abc'[n % 3]}" for n, line in enumerate(lines)]
    return "\n".join([",".join(heads), *lines]) + "\n"


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for at, name in enumerate(NAMES):
        (tmp_path / f"{name}.csv").write_text(table(at))
    made = new_project(tmp_path / "mine", tables=[f"{name}.csv" for name in NAMES], label="ill")
    return made, tmp_path / "mine" / "config.toml"


def test_a_new_project_says_whose_they_are(project):
    made, path = project
    assert made.further == {"north": ["marker"], "east": ["marker", "ward"]}
    assert made.unused == {}
    config = load_config(path)
    assert [rule.name for rule in config.table.columns] == ["age", "smokes"]
    by_name = {one.name: [rule.name for rule in one.columns or ()] for one in config.participants}
    assert by_name == {"north": ["marker"], "south": [], "east": ["marker", "ward"]}
    again = parse_config(to_toml(config), source="again")
    assert [one.columns for one in again.participants] == [
        one.columns for one in config.participants
    ]


def test_a_run_keeps_models_of_own_columns_and_agrees_on_common_ones(project):
    _, path = project
    config = load_config(path)
    run = ResolvedRun.of(config, kinds_of(config)).load()
    seed = config.run.seeds[0]
    agreement = run.agreements[seed]["transfer"]
    assert agreement.features == 2
    widths = {own.name: own.train.features.shape[1] for own in run.data[seed]}
    assert widths == {"north": 3, "south": 2, "east": 6}
    outcome = run_resolved(run, Silence())
    kept = {one.model.record.hospital: one.model for one in outcome.models}
    for name, model in kept.items():
        found = model.predict_proba(read_rows(path.parent.parent / f"{name}.csv"))
        assert found.shape == (45, 2)
        assert len(model.record.table.features) == widths[name]
    with pytest.raises(DataError, match="marker"):
        kept["north"].predict_proba(read_rows(path.parent.parent / "south.csv"))


def test_inferred_in_a_run_where_the_kind_takes_them(project):
    _, path = project
    for algorithm, expected in (("transfer", {"north", "east"}), ("vpdl", set())):
        config = parse_config(
            f'[run]\nname = "x"\nalgorithms = ["standalone", "{algorithm}"]\n'
            '[data]\nsource = "files"\n[table]\nlabel = "ill"\n'
            + "".join(
                f'[[participants]]\nname = "{one}"\nfile = "{path.parent.parent / one}.csv"\n'
                for one in NAMES
            ),
            source="inferred",
        )
        run = ResolvedRun.of(config, kinds_of(config))
        assert {name for name, rules in run.further.items() if rules} == expected
        assert ("marker" in run.unused) == (algorithm == "vpdl")


def test_other_kinds_refuse_them(project):
    _, path = project
    config = load_config(path)
    config = override(config, {"run.algorithms": ["standalone", "vpdl"]}, source="test")
    with pytest.raises(ConfigError, match="columns that others have not") as caught:
        ResolvedRun.of(config, kinds_of(config)).load()
    assert "vpdl" in str(caught.value)


@pytest.mark.parametrize(
    ("own", "problem"),
    [
        ('name = "age"\nkind = "numeric"\nlow = 0\nhigh = 1', "everybody has"),
        ('name = "a"\nkind = "image"', "kind"),
    ],
)
def test_what_is_no_own_column_is_refused(project, own, problem):
    _, path = project
    text = path.read_text()
    end = text.index("[[participants.columns]]")
    text = f"{text[:end]}[[participants.columns]]\n{own}\n{text[end:]}"
    with pytest.raises(ConfigError, match=problem):
        parse_config(text, source="c")
