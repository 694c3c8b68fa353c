"""The process around OpenFHE, with stand-ins that need no OpenFHE: every way to go wrong."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from securefair.ckks.backends import get_backend, openfhe_process
from securefair.ckks.backends.openfhe_child.frames import Op
from securefair.ckks.backends.openfhe_process import VARIABLE, ChildProcess, find_interpreter
from securefair.errors import BackendUnavailableError, EncryptionError

BACKENDS = str(Path(openfhe_process.__file__).parent)

STAND_IN = """
import os, sys, time
sys.path.append(sys.argv[1])
from openfhe_child.frames import Op, Status, pack, read_frame
seen = []
def read(size):
    data = sys.stdin.buffer.read(size)
    if len(data) < size:
        sys.exit(0)
    return data
def reply(status, parts):
    sys.stdout.buffer.write(pack(status, parts))
    sys.stdout.buffer.flush()
while True:
    code, parts = read_frame(read)
    what = parts[0] if parts else b""
    if code == Op.FORGET:
        seen.append(what)
        reply(Status.DONE, [])
    elif what == b"refuse":
        reply(Status.REFUSED, [b"not like this"])
    elif what == b"abort":
        sys.stderr.write("terminate called\\n")
        sys.stderr.flush()
        os.abort()
    elif what == b"leave":
        sys.exit(0)
    elif what == b"hang":
        time.sleep(1000)
    elif what == b"babble":
        sys.stdout.buffer.write(b"Warning: not a frame\\n")
        sys.stdout.buffer.flush()
    elif what == b"boast":
        sys.stdout.buffer.write(b"SFO1" + bytes([0, 1]) + b"\\xff" * 8)
        sys.stdout.buffer.flush()
    elif what == b"half":
        sys.stdout.buffer.write(pack(Status.DONE, [bytes(100)])[:50])
        sys.stdout.buffer.flush()
        sys.exit(0)
    elif what == b"seen":
        reply(Status.DONE, seen)
    else:
        reply(Status.DONE, parts)
"""


@pytest.fixture
def child():
    process = ChildProcess([sys.executable, "-I", "-c", STAND_IN, BACKENDS], seconds=30)
    yield process
    process.close()


def gone(process_id):
    """Neither running nor left behind as a zombie of ours."""
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return True
    return False


def test_nothing_starts_before_it_is_needed(child):
    assert child.process_id is None


def test_a_request_is_answered_by_the_same_process_each_time(child):
    generation, reply = child.start(Op.OPEN, b"a", b"b")
    assert reply == [b"a", b"b"]
    first = child.process_id
    assert child.start(Op.OPEN, b"c") == (generation, [b"c"])
    assert child.call(generation, Op.OPEN) == []
    assert child.process_id == first


def test_requests_larger_than_any_pipe_pass_both_ways(child):
    data = os.urandom(5 << 20)
    assert child.start(Op.OPEN, data)[1] == [data]


def test_a_refusal_is_an_error_and_the_process_goes_on(child):
    generation, _ = child.start(Op.OPEN)
    with pytest.raises(EncryptionError, match=r"refuses to load.*not like this"):
        child.call(generation, Op.LOAD, b"refuse")
    assert child.call(generation, Op.OPEN, b"still here") == [b"still here"]


@pytest.mark.parametrize(
    ("order", "said"),
    [
        (b"abort", f"exit code -{signal.SIGABRT.value}, last words 'terminate called'"),
        (b"leave", "exit code 0"),
        (b"babble", "not a frame"),
        (b"boast", "18446744073709551615 bytes"),
        (b"half", "it ended"),
    ],
)
def test_a_process_that_breaks_is_replaced(child, monkeypatch, order, said):
    monkeypatch.setattr(openfhe_process, "STOP_SECONDS", 1)
    generation, _ = child.start(Op.OPEN)
    broken = child.process_id
    with pytest.raises(EncryptionError, match="failed at linear") as error:
        child.call(generation, Op.LINEAR, order)
    assert said in str(error.value)
    assert gone(broken)
    with pytest.raises(EncryptionError, match="were lost") as error:
        child.call(generation, Op.OPEN)
    assert error.value.hint == "Generate new keys"
    fresh, reply = child.start(Op.OPEN, b"again")
    assert (fresh, reply) == (generation + 1, [b"again"])


def test_a_process_that_hangs_is_killed(monkeypatch):
    monkeypatch.setattr(openfhe_process, "STOP_SECONDS", 0.1)
    child = ChildProcess([sys.executable, "-I", "-c", STAND_IN, BACKENDS], seconds=5)
    generation, _ = child.start(Op.OPEN)
    hanging = child.process_id
    monkeypatch.setattr(child, "_seconds", 0.3)
    with pytest.raises(EncryptionError, match=r"no answer in time.*exit code -9"):
        child.call(generation, Op.OPEN, b"hang")
    assert gone(hanging)


def test_a_process_that_does_not_read_blocks_nobody(monkeypatch):
    monkeypatch.setattr(openfhe_process, "STOP_SECONDS", 0.1)
    child = ChildProcess([sys.executable, "-c", "import time; time.sleep(1000)"], seconds=0.5)
    with pytest.raises(EncryptionError, match="no answer in time"):
        child.start(Op.OPEN, bytes(1 << 20))


def test_a_process_killed_between_requests_is_missed(child):
    generation, _ = child.start(Op.OPEN)
    os.kill(child.process_id, signal.SIGKILL)
    os.waitid(os.P_PID, child.process_id, os.WEXITED | os.WNOWAIT)
    with pytest.raises(EncryptionError, match="were lost"):
        child.call(generation, Op.OPEN)
    assert child.start(Op.OPEN)[0] == generation + 1


def test_a_command_that_is_none_is_an_error():
    child = ChildProcess(["/nonexistent/python"])
    with pytest.raises(EncryptionError, match="cannot start"):
        child.start(Op.OPEN)
    assert child.process_id is None


def test_what_is_forgotten_goes_to_its_own_process_before_the_next_request(child):
    generation, _ = child.start(Op.OPEN)
    child.forget_later(generation, Op.FORGET, b"x")
    child.forget_later(generation - 1, Op.FORGET, b"of another process")
    child.forget_later(generation, Op.FORGET, b"y")
    assert child.call(generation, Op.OPEN, b"seen") == [b"x", b"y"]


def test_an_interrupted_request_leaves_no_stale_answer(child, monkeypatch):
    generation, _ = child.start(Op.OPEN)

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(openfhe_process, "read_frame", interrupted)
        with pytest.raises(KeyboardInterrupt):
            child.call(generation, Op.OPEN, b"stale")
    assert child.start(Op.OPEN, b"fresh")[1] == [b"fresh"]


def test_threads_take_turns(child):
    generation, _ = child.start(Op.OPEN)
    wrong = []

    def ask(name):
        for number in range(30):
            word = f"{name} {number}".encode() * 1000
            if child.call(generation, Op.OPEN, word) != [word]:
                wrong.append(word)

    threads = [threading.Thread(target=ask, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_closing_leaves_no_process_and_can_be_repeated(child):
    child.start(Op.OPEN)
    process = child.process_id
    child.close()
    child.close()
    assert child.process_id is None
    assert gone(process)


@pytest.mark.parametrize("end", ["", "os._exit(0)"])
def test_the_process_ends_with_its_parent(end):
    """Also where the parent has no time to say so: its end of the pipe closes."""
    code = f"""
import os, sys
from securefair.ckks.backends.openfhe_child.frames import Op
from securefair.ckks.backends.openfhe_process import ChildProcess
child = ChildProcess([sys.executable, "-I", "-c", {STAND_IN!r}, {BACKENDS!r}])
child.start(Op.OPEN)
sys.stdout.write(str(child.process_id))
sys.stdout.flush()
{end}
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    process = int(done.stdout)
    for _ in range(100):
        state = Path(f"/proc/{process}/stat")
        if not state.exists() or state.read_text().rsplit(")", 1)[1].split()[0] == "Z":
            break  # a zombie here is one that this container's first process has yet to reap
        threading.Event().wait(0.05)
    else:
        pytest.fail("the process outlived its parent")


def test_a_fork_starts_its_own_process():
    """In an interpreter of its own, because forking one with threads is not safe."""
    code = f"""
import os, sys
from securefair.ckks.backends.openfhe_child.frames import Op
from securefair.ckks.backends.openfhe_process import ChildProcess
child = ChildProcess([sys.executable, "-I", "-c", {STAND_IN!r}, {BACKENDS!r}])
generation, _ = child.start(Op.OPEN)
original = child.process_id
fork = os.fork()
if not fork:
    child.start(Op.OPEN, b"mine")
    another = child.process_id != original
    child.close()
    os._exit(0 if another else 1)
assert os.waitstatus_to_exitcode(os.waitpid(fork, 0)[1]) == 0
assert child.call(generation, Op.OPEN, b"unharmed") == [b"unharmed"]
assert child.process_id == original
child.close()
"""
    subprocess.run([sys.executable, "-c", code], check=True)


# -- which interpreter ---------------------------------------------------------------------------


def script(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_a_named_interpreter_is_the_only_one_tried(monkeypatch, tmp_path):
    able = script(tmp_path / "able", "exit 0")
    monkeypatch.setenv(VARIABLE, able)
    assert find_interpreter() == able
    monkeypatch.setenv(VARIABLE, script(tmp_path / "unable", "echo no such module >&2; exit 1"))
    with pytest.raises(BackendUnavailableError, match="unable: no such module") as error:
        find_interpreter()
    assert "make openfhe" in error.value.hint
    assert "able:" not in error.value.found.replace("unable:", "")


def test_an_interpreter_that_does_not_exist_is_told_apart(monkeypatch):
    monkeypatch.setenv(VARIABLE, "/nonexistent/python")
    with pytest.raises(BackendUnavailableError, match="No such file"):
        get_backend("openfhe")


def test_the_reason_of_a_failed_import_is_its_last_line(monkeypatch, tmp_path):
    traceback = (
        "printf 'Traceback (most recent call last):\\n  ...\\nImportError: why\\n' >&2; exit 1"
    )
    monkeypatch.setenv(VARIABLE, script(tmp_path / "python", traceback))
    with pytest.raises(BackendUnavailableError, match="python: ImportError: why"):
        find_interpreter()


def test_the_environment_next_to_ours_is_found(monkeypatch, tmp_path):
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(sys, "prefix", str(tmp_path / ".venv"))
    monkeypatch.setattr(sys, "executable", script(tmp_path / "ours", "exit 1"))
    on_path = script(tmp_path / "bin" / "python3.10", "exit 0")
    beside = script(tmp_path / ".venv-openfhe" / "bin" / "python", "exit 0")
    assert find_interpreter() == beside
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "elsewhere" / ".venv"))
    found = find_interpreter()
    # A checkout that has the environment itself comes before whatever is on the path.
    assert found == on_path or Path(found).parts[-3] == ".venv-openfhe"
