"""What a call comes to, in figures and as files."""

import pytest

import securefair as sf
from securefair.errors import ConfigError
from securefair.run.folder import read_run

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


def test_a_name_that_cannot_be_a_folder_is_refused(result, tmp_path):
    with pytest.raises(ConfigError, match=r"run\.name"):
        result.write(tmp_path, name="../up")
    assert list(tmp_path.iterdir()) == []
