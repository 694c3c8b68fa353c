import pytest

from securefair.errors import StorageError
from securefair.run.lock import only_run


def test_a_second_run_is_told_and_leaves_the_first_alone(tmp_path):
    out = tmp_path / "runs" / "a"
    with only_run(out):
        (out / "kept").write_text("mine")
        with (
            pytest.raises(StorageError, match=r"runs/a: the folder is in use by another run"),
            only_run(out),
        ):
            raise AssertionError("never entered")
        assert (out / "kept").exists()
    with only_run(out):
        assert (out / "kept").exists()


def test_a_run_that_leaves_nothing_leaves_no_folder(tmp_path):
    with pytest.raises(KeyError), only_run(tmp_path / "runs" / "a"):
        raise KeyError
    assert list(tmp_path.iterdir()) == []
