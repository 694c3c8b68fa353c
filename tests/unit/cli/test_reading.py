import json
import shutil

import pytest

from securefair.cli.diagnosis import Diagnosis, HealthFinding
from support.commands import ALONE

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def two(prepared):
    folder, invoke = prepared
    (folder / "c.toml").write_text(ALONE)
    for name in ("a", "b"):
        invoke("run", "c.toml", "--out", name)
    return folder


@pytest.fixture
def runs(two, tmp_path):
    return shutil.copytree(two, tmp_path, dirs_exist_ok=True)


class TestReport:
    def test_it_is_rebuilt(self, invoke, runs):
        page = (runs / "a" / "report.html").read_bytes()
        (runs / "a" / "report.html").unlink()
        result = invoke("report", "a")
        assert result.exit_code == 0, result.output
        assert result.stdout.rstrip().endswith("Report: a/report.html")
        assert (runs / "a" / "report.html").read_bytes() == page

    def test_another_language_stands_beside_it(self, invoke, runs):
        page = (runs / "a" / "report.html").read_bytes()
        result = invoke("report", "a", "--language", "de")
        assert result.exit_code == 0, result.output
        assert 'lang="de"' in (runs / "a" / "report.de.html").read_text("utf-8")
        assert (runs / "a" / "report.html").read_bytes() == page
        refused = invoke("report", "a", "--language", "xx")
        assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
        assert "en, de, fr" in refused.stderr

    def test_the_project_of_a_run_is_told_where_it_is(self, invoke, runs):
        (runs / "mine").mkdir()
        (runs / "runs").mkdir()
        (runs / "a").rename(runs / "runs" / "mine")
        assert "Did you mean runs/mine?" in invoke("report", "mine").stderr

    def test_it_may_go_elsewhere(self, invoke, runs):
        assert invoke("report", "a", "--out", "pages", "--json").exit_code == 0
        assert (runs / "pages" / "report.html").exists()

    def test_no_page_is_replaced_unasked(self, invoke, runs):
        (runs / "mine").mkdir()
        (runs / "mine" / "report.html").write_text("mine")
        refused = invoke("report", "a", "--out", "mine")
        assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
        assert "exists already" in refused.stderr
        assert (runs / "mine" / "report.html").read_text() == "mine"
        assert invoke("report", "a", "--out", "mine", "--force").exit_code == 0

    def test_a_folder_is_not_named_like_a_page(self, invoke, runs):
        done = invoke("report", runs / "a", "--out", "page.html")
        assert done.exit_code == 2
        assert "the report goes into a folder" in done.stderr

    def test_a_file_in_the_way_of_the_page(self, invoke, runs):
        (runs / "taken").write_text("mine")
        result = invoke("report", "a", "--out", "taken")
        assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
        assert "taken is not a folder" in result.stderr

    def test_a_folder_without_a_run(self, invoke):
        result = invoke("report", ".")
        assert result.exit_code == 2
        assert "no folder of a finished run" in result.stderr


class TestDoctor:
    @pytest.mark.parametrize(("healthy", "code"), [(True, 0), (False, 1)])
    def test_the_exit_code_tells_health(self, invoke, monkeypatch, healthy, code):
        status = "ok" if healthy else "broken"
        finding = HealthFinding(
            topic="Encryption", name="seal", status=status, found="this", required=True, hint="do"
        )
        monkeypatch.setattr(
            "securefair.cli.diagnosis.diagnose",
            lambda: Diagnosis(healthy=healthy, findings=[finding]),
        )
        result = invoke("doctor")
        assert result.exit_code == code
        assert ("does not work: seal" in result.stdout) is not healthy
        facts = invoke("doctor", "--json")
        assert facts.exit_code == code
        assert json.loads(facts.stdout)["healthy"] is healthy
