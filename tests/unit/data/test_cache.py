import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from securefair.data.cache import cache_array, content_key


def test_an_array_is_built_once_a_key(tmp_path):
    built = []

    def build():
        built.append(1)
        return np.arange(6.0).reshape(2, 3)

    folder = tmp_path / "a" / "b"
    first = cache_array(folder, "x", "key", build)
    again = cache_array(folder, "x", "key", build)
    assert (first == again).all()
    assert not again.flags.writeable
    assert len(built) == 1
    cache_array(folder, "x", "other", build)
    cache_array(folder, "y", "key", build)
    assert len(built) == 3
    assert sorted(path.name for path in folder.iterdir()) == [
        "x-key.npy",
        "x-other.npy",
        "y-key.npy",
    ]


def test_without_a_folder_nothing_is_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cache_array(None, "x", "key", lambda: np.ones(2)).tolist() == [1, 1]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("content", [b"", b"no array", None])
def test_a_damaged_file_is_made_anew(content, tmp_path):
    whole = np.arange(100.0)
    cache_array(tmp_path, "x", "key", lambda: whole)
    path = tmp_path / "x-key.npy"
    path.write_bytes(path.read_bytes()[:200] if content is None else content)
    assert (cache_array(tmp_path, "x", "key", lambda: whole) == whole).all()
    assert (np.load(path) == whole).all()


def test_an_interrupted_write_leaves_nothing(tmp_path, monkeypatch):
    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr("securefair.data.cache.os.fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        cache_array(tmp_path, "x", "key", lambda: np.ones(3))
    assert not list(tmp_path.iterdir())


@given(st.lists(st.integers(0, 255), min_size=1, max_size=20), st.integers(0, 19))
def test_keys_tell_contents_apart(values, at):
    array = np.array(values, dtype=np.uint8)
    other = array.copy()
    other[at % len(array)] ^= 1
    assert content_key(array) == content_key(array.copy())
    assert content_key(array) != content_key(other)
    assert content_key(array) != content_key(array[None])
    assert content_key(array) != content_key(array.astype(np.int8))


def test_keys_tell_parts_apart():
    assert content_key("ab", "c") != content_key("a", "bc") != content_key("abc")
    strided = np.arange(12).reshape(3, 4)[:, ::2]
    assert content_key(strided) == content_key(strided.copy())
