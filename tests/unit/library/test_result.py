"""What a call comes to, in figures and as files."""

import re

import pytest
from msgspec import structs

import securefair as sf
from securefair.collaboration.verdict import control_title
from securefair.errors import ConfigError
from securefair.run.folder import read_run
from securefair.words import words_of

pytestmark = pytest.mark.slow


@pytest.fixture
def result(hospitals):
    return sf.collaborate(
        hospitals, algorithm="cycle", rounds=6, local_epochs=10, backend="clear", lambda_0=5.0
    )


def test_figures_agree_with_each_other(result):
    assert list(result.gain) == ["North", "South", "East"]
    for name, gain in result.gain.items():
        assert gain == pytest.approx(result.accuracy[name] - result.standalone[name])
    mean = sum(result.gain.values()) / 3
    assert result.mcg == pytest.approx(mean)
    squares = sum((gain - mean) ** 2 for gain in result.gain.values())
    assert result.cgs == pytest.approx((squares / 3) ** 0.5)
    assert result.controls[:3] == ["standalone", "early_stopping", "averaged_alone"]
    assert result.controls[3:] == ["alone-forest", "alone-ensemble", "most_common"]
    assert result.best_control in result.controls
    stopped = [r for r in result.outcome.rounds if r.algorithm == "early_stopping"][-1].accuracy
    for (name, gain), alone in zip(
        result.gain_over("early_stopping").items(), stopped, strict=True
    ):
        assert gain == pytest.approx(result.accuracy[name] - alone)
    with pytest.raises(ConfigError, match="averaged_alone"):
        result.gain_over("cycle")
    assert result.rounds[-1].accuracy == list(result.accuracy.values())
    assert sum(row.answers for row in result.ledger) == sum(e.answered for e in result.exchanges)
    assert {row.sender for row in result.traffic} == set(result.gain)
    assert result.problems == []
    assert repr(result).startswith(f"Result(6 rounds; {result.verdict}")


def test_a_notebook_shows_what_the_verdict_is_about(result):
    figures = result.outcome.result.algorithms
    verdict = figures["cycle"].verdict
    assert verdict.score == "log_loss"
    shown = result._repr_html_()
    heads = re.findall("<th>(.*?)</th>", shown.partition("</thead>")[0])
    control = control_title(verdict.control, words_of())
    assert heads == ["Hospital", "Log-loss", control, "Better by"]
    own, alone = (
        figures[one].metrics["log_loss"].by_hospital for one in ("cycle", verdict.control)
    )
    for name in result.gain:
        (row,) = re.findall(f"<tr><th>{name}</th>(.*?)</tr>", shown)
        cells = [float(one.replace("\u2212", "-")) for one in re.findall("<td>(.*?)</td>", row)]
        assert cells == pytest.approx([own[name], alone[name], alone[name] - own[name]], abs=6e-4)
    figures["cycle"] = structs.replace(figures["cycle"], verdict=None)
    assert "<th>Accuracy</th><th>Alone</th><th>Gain</th>" in result._repr_html_()


def test_a_written_run_reads_back(result, tmp_path):
    page = result.write(tmp_path / "new" / "folder", name="three-hospitals")
    assert page.name == "report.html"
    html = page.read_text(encoding="utf-8")
    assert "three-hospitals" in html
    assert "South" in html
    assert "The data came from code" in html
    run = read_run(page.parent)
    assert run.config.run.name == run.result.name == "three-hospitals"
    assert run.rounds == result.outcome.rounds
    assert run.ledger == result.ledger
    assert run.result.participants == result.outcome.result.participants
    assert result.outcome.result.name == "collaboration"


def test_what_is_no_run_is_replaced_only_where_that_is_said(result, tmp_path):
    (tmp_path / "report.html").write_text("somebody's")
    with pytest.raises(ConfigError, match=r"no run.*report\.html.*overwrite=True"):
        result.write(tmp_path)
    assert [one.name for one in tmp_path.iterdir()] == ["report.html"]
    assert (tmp_path / "report.html").read_text() == "somebody's"
    (tmp_path / "notes.txt").write_text("mine")
    assert "somebody's" not in result.write(tmp_path, overwrite=True).read_text()
    again = result.write(tmp_path, name="again")  # it is a run now
    assert "again" in again.read_text()
    assert (tmp_path / "notes.txt").read_text() == "mine"
    (tmp_path / "empty").mkdir()
    assert result.write(tmp_path / "empty").exists()


def test_a_name_that_cannot_be_a_folder_is_refused(result, tmp_path):
    with pytest.raises(ConfigError, match=r"run\.name"):
        result.write(tmp_path, name="../up")
    assert list(tmp_path.iterdir()) == []
