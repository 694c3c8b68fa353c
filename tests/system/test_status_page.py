"""The status page in a real browser: it follows the site, and runs nothing that a name says."""

import http.client
import time

import pytest

from securefair.errors import ConfigError
from securefair.sites.operator.page import served
from securefair.sites.post.peers import read_peer, refused_once_more, write_peer
from securefair.sites.rehearsal.rehearsal import hospitals, make_places, project_between
from securefair.sites.site.records import RECOVERED
from securefair.sites.site.status import RECOVERED_SAID
from securefair.storage import Store
from support.browser import CHROMIUM, Chromium

HOSTILE = "<img src=x onerror=document.title='broken'>"


@pytest.fixture
def site(tmp_path):
    data = hospitals(2)
    project, identities = project_between(data, "transfer", 1, "clear")
    make_places(tmp_path, data, project, identities, "local")
    return tmp_path / data[0].name, data[1].name


def asked(server, path="/", host=None):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)
    connection.request("GET", path, headers={} if host is None else {"Host": host})
    return connection.getresponse()


def test_only_this_machine_may_ask_and_only_for_two_things(site):
    with served(site[0]) as server:
        page = asked(server)
        assert page.status == 200
        assert "script-src 'nonce-" in page.headers["Content-Security-Policy"]
        assert asked(server, host="evil.example").status == 403
        assert asked(server, "/store/store.sqlite").status == 404
        assert asked(server, "/../keys").status == 404
        events = asked(server, "/events")
        assert events.headers["Content-Type"] == "text/event-stream"
        assert events.readline().startswith(b"data: {")


def test_there_is_no_page_without_a_site(tmp_path):
    with pytest.raises(ConfigError, match="no site"), served(tmp_path):
        pass


@pytest.mark.skipif(CHROMIUM is None, reason="NO BROWSER: chromium is not installed")
def test_the_page_follows_the_site_in_a_browser(site, tmp_path_factory):
    folder, peer = site
    chromium = Chromium(tmp_path_factory.mktemp("profile"))
    try:
        with served(folder) as server:
            chromium.open(server.address)

            def await_text(what):
                until = time.monotonic() + 60
                while what not in (text := chromium.value("document.body.innerText")):
                    assert time.monotonic() < until, text
                    time.sleep(0.2)

            await_text(f"{folder.name}, project rehearsal")
            await_text("0 of 1 rounds are over")
            assert peer in chromium.value("document.body.innerText")
            with Store.open(folder / "store") as store, store.transaction() as tx:
                write_peer(tx, peer, read_peer(tx, peer).plus(fault=HOSTILE, bytes_in=123456))
                refused_once_more(tx, "forged", peer)
            await_text("123 kB")
            await_text(HOSTILE)
            await_text(f"forged, {peer}: 1")
            assert RECOVERED_SAID not in chromium.value("document.body.innerText")
            with Store.open(folder / "store") as store, store.transaction() as tx:
                tx.memory.put(RECOVERED, b"")
            await_text(RECOVERED_SAID)
            await_text("at least 0 of ")
            assert "project rehearsal" in chromium.value("document.title")
            assert chromium.value("document.images.length") == 0
            assert chromium.errors == []
        until = time.monotonic() + 30
        while chromium.value("document.getElementById('lost').hidden"):
            assert time.monotonic() < until
            time.sleep(0.2)
    finally:
        chromium.close()
