"""Exit codes of what ends a command: a unit starts again what may pass, and nothing else."""

import pytest
import typer

from securefair.cli.ending import EXIT_PASSING, EXIT_USAGE, errors
from securefair.errors import ConfigError, SecureFairError
from securefair.sites.couriers.folder import check_shared, make_project_folder
from securefair.sites.site.folder import check_data_file


def code_of(doing):
    with pytest.raises(typer.Exit) as ended, errors():
        doing()
    return ended.value.exit_code


def test_what_may_pass_by_itself_has_a_code_of_its_own():
    def refuse():
        raise ConfigError("a key is unknown")

    def wait():
        raise SecureFairError("the clock is not set", passing=True)

    assert code_of(refuse) == EXIT_USAGE
    assert code_of(wait) == EXIT_PASSING


def test_a_share_and_data_that_are_not_mounted_may_pass(tmp_path):
    gone = tmp_path / "not mounted"
    assert code_of(lambda: check_shared(gone, "north")) == EXIT_PASSING
    assert code_of(lambda: make_project_folder(gone, "heart", bytes(32))) == EXIT_PASSING
    assert not gone.exists()
    assert code_of(lambda: check_data_file(tmp_path / "own.csv")) == EXIT_PASSING
