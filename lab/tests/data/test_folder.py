import numpy as np
import pytest

from securefair.errors import ConfigError, DataError
from securefair_lab.data.folder import DataFile, data_folder, read_arrays


def test_the_argument_comes_before_the_environment(tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    assert data_folder(other, {"SECUREFAIR_DATA": str(tmp_path)}) == other
    assert data_folder(None, {"SECUREFAIR_DATA": str(tmp_path)}) == tmp_path


def test_no_folder_says_how_to_name_one():
    with pytest.raises(ConfigError, match="Name it with --data DIR or SECUREFAIR_DATA"):
        data_folder(None, {})


def test_what_is_no_folder_is_refused_by_who_named_it(tmp_path):
    with pytest.raises(ConfigError, match=r"^--data: not a folder"):
        data_folder(tmp_path / "nowhere", {})
    with pytest.raises(ConfigError, match=r"^SECUREFAIR_DATA: not a folder"):
        data_folder(None, {"SECUREFAIR_DATA": str(tmp_path / "nowhere")})


def test_a_missing_file_says_what_it_is_and_where_to_put_it(tmp_path):
    with pytest.raises(DataError) as caught:
        DataFile(name="x.npz", origin="X of Y").find(tmp_path)
    assert str(tmp_path / "x.npz") in str(caught.value)
    assert "Put x.npz there (X of Y; format: docs/data.md)" in str(caught.value)


def test_arrays_come_in_the_order_asked_for(tmp_path):
    np.savez(tmp_path / "x.npz", a=np.arange(2), b=np.arange(3))
    b, a = read_arrays(tmp_path / "x.npz", "b", "a")
    assert (len(a), len(b)) == (2, 3)
    with pytest.raises(DataError, match=r"lacks arrays .*found 'a, b'"):
        read_arrays(tmp_path / "x.npz", "c")


def test_damaged_files_and_pickles_are_refused(tmp_path):
    path = tmp_path / "x.npz"
    np.savez(path, a=np.array([{"code": 1}], dtype=object))
    with pytest.raises(DataError, match="cannot read the arrays"):
        read_arrays(path, "a")
    np.savez_compressed(path, a=np.arange(5000) % 7)
    content = path.read_bytes()
    for damaged in (b"", b"PK", content[: len(content) // 2]):
        path.write_bytes(damaged)
        with pytest.raises(DataError, match="cannot read the arrays"):
            read_arrays(path, "a")
