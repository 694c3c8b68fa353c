"""What a site says at the end of its rounds, and what an export leaves that fails."""

import errno
from contextlib import nullcontext
from unittest.mock import MagicMock

import msgspec
import pytest

from securefair.report import write_text
from securefair.sites.site import running
from securefair.sites.site.running import ending_of
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
