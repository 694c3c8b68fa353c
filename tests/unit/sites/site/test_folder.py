"""A site's folder."""

from unittest.mock import MagicMock

import pytest

from securefair.errors import StorageError
from securefair.sites.site import folder


def test_a_folder_without_a_keystore_is_not_left(tmp_path, monkeypatch):
    """Such as on a full disk: it would be nobody's, and look like a site."""

    def full(*_, **__):
        raise StorageError("a file cannot be written", found="No space left on device")

    identity = MagicMock()
    identity.secrets.return_value = bytes(96)
    project = MagicMock(**{"card.return_value": identity.card})
    monkeypatch.setattr(folder, "check_agreement", lambda _: None)
    monkeypatch.setattr(folder.Keystore, "create", full)
    with pytest.raises(StorageError, match="No space left"):
        folder.make_place(tmp_path / "sites" / "north", MagicMock(), project, identity, MagicMock())
    assert list(tmp_path.iterdir()) == []
