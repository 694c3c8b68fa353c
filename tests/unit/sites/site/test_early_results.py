"""A site that is through with all rounds, and waits for peers, has its results already."""

import time
from contextlib import closing

import pytest
from msgspec.structs import replace

from securefair.report.html import FILE_NAME
from securefair.report.presence import SiteLife
from securefair.sites.site import site
from securefair.sites.site.folder import OVER, RESULTS, STORE
from securefair.sites.site.records import keep_state, state_in
from securefair.sites.site.running import run_site
from securefair.sites.site.stopping import Stop
from securefair.storage import Store
from support.years import small_hospitals, small_year

ROUNDS = 2

pytestmark = pytest.mark.slow  # whole rounds of several sites


@pytest.fixture
def waits(tmp_path):
    """A site's folder and passphrase, after its last round and before that of its peers."""
    year = small_year(tmp_path, small_hospitals(4), "vpdl", ROUNDS, round_days=1, now=time.time())
    with closing(year):
        own = year.names[0]
        while len(year.records(own)) < ROUNDS:
            year.night()
        secret = year.secret
    with Store.open(tmp_path / own / STORE) as store, store.transaction() as tx:
        state = state_in(tx)
        behind = dict.fromkeys(state.peers.ready, ROUNDS - 1)
        keep_state(tx, replace(state, peers=replace(state.peers, ready=behind), left=0.0))
    return tmp_path / own, secret


def test_results_are_written_while_a_site_waits_for_its_peers(waits, monkeypatch):
    """They were written at the end alone, which may be that of the project, months later."""
    monkeypatch.setattr(site, "LOOK_AGAIN", 0.1)  # seconds: nobody else would end its first wait
    folder, secret = waits
    lines = []

    def say(line, facts):
        lines.append((line, dict(facts)))
        if facts.get("state") is SiteLife.WAITING:
            stop.ask()  # as its operator does

    with closing(Stop()) as stop, pytest.raises(KeyboardInterrupt):
        run_site(folder, secret, say, stop)
    line, _ = lines[-1]
    assert "its own rounds are over, and too few peers are through with theirs" in line
    assert (folder / RESULTS / FILE_NAME).is_file()
    assert not (folder / OVER).exists()
    with Store.open(folder / STORE) as store, store.view() as tx:
        assert not state_in(tx).closed
