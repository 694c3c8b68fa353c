"""A file is whole or not there, and whoever asked for it hears its name."""

import errno
import os

import pytest

from securefair.storage.files import replace_file


@pytest.mark.parametrize("fails", ["open", "fsync", "replace"])
def test_an_error_names_the_file_that_was_asked_for(tmp_path, monkeypatch, fails):
    """Not the one beside it, of which nobody knows, nor none."""

    def full(*names, **_):
        raise OSError(errno.ENOSPC, "No space left on device", *map(str, names[:1]))

    with monkeypatch.context() as failing:
        failing.setattr(os, fails, full)
        with pytest.raises(OSError, match="No space left") as caught:
            replace_file(tmp_path / "scores.csv", b"scores", mode=0o600)
    assert caught.value.errno == errno.ENOSPC
    assert caught.value.filename == str(tmp_path / "scores.csv")
    assert caught.value.filename2 is None
    assert list(tmp_path.iterdir()) == []
