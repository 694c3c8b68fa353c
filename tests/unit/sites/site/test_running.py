"""What a site says while it runs and at its end, and what an export leaves that fails."""

import errno
import os
from contextlib import closing, nullcontext
from unittest.mock import MagicMock

import msgspec
import pytest

from securefair.report import write_text
from securefair.sites.couriers import folder as by_folder
from securefair.sites.site import running, site
from securefair.sites.site.health import Heart
from securefair.sites.site.running import ending_of, run_site
from securefair.sites.site.status import status_of
from securefair.sites.site.stopping import Stop
from securefair.storage import Secret
from support.operators import PASSPHRASE, found
from support.site_statuses import RECORD

AWAY = msgspec.structs.replace(RECORD, opened=(), asked=(), received={}, away=("south",))


def test_of_a_teacher_nobody_was_away_and_nothing_was_to_come():
    """It had not heard of its student when its round ended, which it answered later."""
    assert list(ending_of([AWAY], "teacher", learns=True)) == []


@pytest.mark.parametrize("role", ["both", "student"])
def test_who_asks_says_who_was_away_and_that_nothing_came(role):
    said = dict(ending_of([AWAY], role, learns=True))
    assert said == {
        "south was away in 1 of 1 rounds": {"peer": "south", "away": 1},
        "NOTHING CAME FROM ANY PEER: the model is of this site's patients alone": {},
    }
    assert list(ending_of([RECORD], role, learns=True)) == []


def test_where_nobody_learns_the_model_is_always_of_own_patients():
    *_, (line, _) = ending_of([AWAY], "both", learns=False)
    assert line == "NOTHING CAME FROM ANY PEER"


def test_an_export_that_fails_leaves_the_folder_as_it_was(tmp_path, monkeypatch):
    """Else a second one, once the disk has room, would be refused."""

    def full(out, *_, **__):
        write_text(out / "models" / "north" / "card.md", "card")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(running, "open_site", lambda *_, **__: nullcontext(MagicMock()))
    monkeypatch.setattr(running, "write_results", full)
    for _ in range(2):
        with pytest.raises(OSError, match="No space left"):
            running.export_site(tmp_path / "site", None, tmp_path / "deep" / "results")
    assert list(tmp_path.iterdir()) == []


def test_a_share_that_is_full_is_told_at_once_in_log_and_status(swift_folder, monkeypatch):
    """Nobody has to wait for the line of the hour, or for six hours of silence."""
    found(swift_folder, wishes=("--algorithm", "transfer"))
    put, told = by_folder.put, []

    class WeakHeart(Heart):
        """Ends a site that tells nothing."""

        left = 200

        def beat(self, *seen, working):
            super().beat(*seen, working=working)
            self.left -= 1
            if not self.left:
                stop.ask()

    def put_unless_full(folder, site, name, data):
        if name.endswith(".parcel"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        put(folder, site, name, data)

    def say(line, facts):
        if "state" in facts:
            told.append((line, status_of(swift_folder / "north")))
            stop.ask()

    monkeypatch.setattr(by_folder, "put", put_unless_full)
    monkeypatch.setattr(by_folder, "WAIT", 0.1)
    monkeypatch.setattr(site, "LOOK_AGAIN", 0.05)
    monkeypatch.setattr(running, "Heart", WeakHeart)
    with closing(Stop()) as stop, pytest.raises(KeyboardInterrupt):
        run_site(swift_folder / "north", Secret(PASSPHRASE.encode()), say, stop)
    [(line, status)] = told
    assert line.endswith(status.summary)
    assert "No space left on device" in line
    assert status.code == 1
