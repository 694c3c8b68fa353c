"""Memory is kept while somebody needs it, and given back by the last one."""

import pytest

from securefair.ckks import memory


@pytest.fixture
def calls(monkeypatch):
    made = []
    monkeypatch.setattr(memory, "_call", lambda *call: made.append(call))
    return made


def test_the_last_user_gives_it_back(calls):
    with memory.memory_kept():
        kept = list(calls)
        with memory.memory_kept():
            pass
        assert calls == kept
    assert kept == [("mallopt", -3, memory.KEPT), ("mallopt", -1, memory.KEPT)]
    back = [("mallopt", -3, memory.ORDINARY), ("mallopt", -1, memory.ORDINARY), ("malloc_trim", 0)]
    assert calls == kept + back


def test_so_does_one_that_fails(calls):
    with pytest.raises(ValueError, match="no answer"), memory.memory_kept():
        raise ValueError("no answer")
    assert calls[-1] == ("malloc_trim", 0)


def test_other_c_libraries_are_left_alone():
    memory._call("no_such_function_of_a_c_library", 1)
    with memory.memory_kept():
        pass
