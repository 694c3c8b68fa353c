"""What a site joins is what its operator was shown, whoever writes to the share meanwhile."""

from types import SimpleNamespace

import pytest

from securefair.cli.joining import _unchanged
from securefair.errors import ConfigError


def test_a_project_file_that_was_replaced_is_not_joined():
    shown, other = (SimpleNamespace(digest=bytes([number]) * 32) for number in (1, 2))
    assert _unchanged(shown, shown.digest) is shown
    with pytest.raises(ConfigError, match="was changed since this site showed it"):
        _unchanged(other, shown.digest)
