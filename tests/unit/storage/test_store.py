"""Opening, locking, migrating; and that a transaction is whole or not there."""

import contextlib
import os
import sqlite3
import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest

from securefair.errors import LedgerError, StorageError
from securefair.storage import Access, Store
from securefair.storage.blobs import INLINE_BYTES
from securefair.storage.files import DamagedError

LARGE = b"x" * (INLINE_BYTES + 1)


def run(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_a_new_store_is_closed_to_others_and_durable(tmp_path):
    folder = tmp_path / "new" / "store"
    with Store.open(folder) as store, store.transaction() as tx:
        tx.memory.put("large", LARGE)
        mode = store._connection.execute("PRAGMA journal_mode").fetchone()[0]
        synchronous = store._connection.execute("PRAGMA synchronous").fetchone()[0]
    assert (mode, synchronous) == ("wal", 2)  # 2: FULL
    assert folder.stat().st_mode & 0o777 == 0o700
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}


def test_a_folder_that_others_can_enter_is_refused(tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir(mode=0o755)
    Store.open(empty).close()
    assert empty.stat().st_mode & 0o777 == 0o700
    empty.chmod(0o755)
    with pytest.raises(StorageError, match="chmod 700"):
        Store.open(empty)


def test_a_store_outlives_its_process(tmp_path):
    with Store.open(tmp_path / "s") as store, store.transaction() as tx:
        tx.memory.put("machine", b"round 3")
    with Store.open(tmp_path / "s", create=False) as store, store.view() as tx:
        assert tx.memory.get("machine") == b"round 3"
        assert tx.memory.get("other") is None


def test_what_raises_leaves_nothing(tmp_path):
    with Store.open(tmp_path / "s") as store:

        def turn():
            with store.transaction() as tx:
                tx.memory.put("a", LARGE)
                tx.outbox.add("b", 0, b"envelope")
                tx.audit.append("sent", {}, at="now")
                raise LedgerError("a limit was exceeded")

        with pytest.raises(LedgerError):
            turn()
        with store.view() as tx:
            assert tx.memory.names() == []
            assert list(tx.outbox.pending()) == []
            assert tx.audit.head().length == 0


def test_a_view_changes_nothing(tmp_path):
    with Store.open(tmp_path / "s") as store:
        with store.view() as tx:
            tx.memory.put("a", b"1")
        with store.view() as tx:
            assert tx.memory.names() == []


def test_missing_stores_and_strange_files_are_refused(tmp_path):
    with pytest.raises(StorageError, match="no store"):
        Store.open(tmp_path / "none", create=False)
    with pytest.raises(StorageError, match="no store"):
        Store.open(tmp_path / "none", access=Access.READ)
    assert not (tmp_path / "none").exists()
    file = tmp_path / "file"
    file.write_text("text")
    with pytest.raises(StorageError, match="not a folder"):
        Store.open(file)
    for name, content in (("text", b"not a database" * 100), ("cut", b"SQLite format 3\0" * 99)):
        folder = tmp_path / name
        folder.mkdir(mode=0o700)
        (folder / "store.sqlite").write_bytes(content)
        with pytest.raises(StorageError, match=r"damaged.*site recover"):
            Store.open(folder)


def test_a_page_that_nobody_has_read_yet_is_checked(tmp_path):
    with Store.open(tmp_path / "s") as store, store.transaction() as tx:
        for number in range(400):
            tx.outbox.add("b", number, b"x" * 1000)
    file = tmp_path / "s" / "store.sqlite"
    content = bytearray(file.read_bytes())
    content[-8 * 4096 : -2 * 4096] = bytes(6 * 4096)
    for damaged in (False, True):
        if damaged:
            file.write_bytes(content)
        with Store.open(tmp_path / "s", access=Access.READ) as store:
            with store.view() as tx:
                assert tx.memory.names() == []
            with pytest.raises(DamagedError) if damaged else contextlib.nullcontext():
                store.check_whole()


OPEN = """
import sys
from pathlib import Path
from securefair.errors import StorageError
from securefair.storage import Access, Store
try:
    Store.open(Path(sys.argv[1]), access=Access(sys.argv[2])).close()
except StorageError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("first", "second", "refused"),
    [
        ("exclusive", "exclusive", True),
        ("exclusive", "shared", True),
        ("shared", "exclusive", True),
        ("shared", "shared", False),
        ("exclusive", "read", False),
    ],
)
def test_who_may_open_a_store_at_once(tmp_path, first, second, refused):
    with Store.open(tmp_path / "s", access=Access(first)):
        with_error = run(OPEN, tmp_path / "s", second)
    assert with_error.returncode == 0, with_error.stderr
    assert ("another process has this store open" in with_error.stdout) == refused
    if first == "exclusive" and refused:
        assert f"process {os.getpid()}" in with_error.stdout


def test_a_second_opener_waits_as_long_as_it_is_told(tmp_path):
    first = Store.open(tmp_path / "s")
    timer = threading.Timer(0.1, first.close)
    timer.start()
    Store.open(tmp_path / "s", wait_s=10.0).close()
    timer.join()


CRASH = """
import os, signal, sys
from pathlib import Path
from securefair.storage import Store

folder, last = Path(sys.argv[1]), 0

def turn(store, number):
    with store.transaction() as tx:
        item = tx.inbox.next()
        if item is not None:
            tx.inbox.done(item)
        tx.memory.put("turns", str(number).encode())
        tx.memory.put("large", number.to_bytes(4, "big") * 50000)
        tx.outbox.add("b", number, b"answer %d" % number)
        tx.inbox.add("b", number, b"query")
        tx.audit.append("turn", {"number": number}, at=str(number))

with Store.open(folder) as store:
    turn(store, 0)

for crash_at in range(1, 100):
    child = os.fork()
    if child == 0:
        store = Store.open(folder)
        with store.view() as tx:
            number = int(tx.memory.get("turns")) + 1
        seen = 0
        def count(statement):
            global seen
            seen += 1
            if seen == crash_at:
                os.kill(os.getpid(), signal.SIGKILL)
        store._connection.set_trace_callback(count)
        turn(store, number)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    with Store.open(folder) as store, store.view() as tx:
        done = int(tx.memory.get("turns"))
        assert len(list(tx.outbox.pending())) == done + 1
        assert tx.outbox.next_sequence("b") == tx.inbox.next_sequence("b") == done + 1
        assert [item.sequence for item in tx.inbox.pending()] == [done]
        assert tx.memory.get("large") == done.to_bytes(4, "big") * 50000
        assert tx.audit.verify().length == done + 1
        assert done in (last, last + 1)
        last = done
    assert len(list((folder / "blobs").iterdir())) == 1
    if os.WIFEXITED(status):
        print("turns", crash_at, "crashes; done", done)
        break
else:
    sys.exit("no turn ever came to its end")
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_kill_at_any_statement_loses_a_whole_turn_or_nothing(tmp_path):
    done = run(CRASH, tmp_path / "s")
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout.split()[1]) > 10  # statements of a turn at which it was killed


SPEND = """
import sys
from pathlib import Path
from securefair.storage import Access, Store
spent = 0
with Store.open(Path(sys.argv[1]), access=Access.SHARED) as store:
    while True:
        with store.transaction() as tx:
            told = int(tx.memory.get("told") or 0)
            if told == 50:
                break
            tx.memory.put("told", b"%d" % (told + 1))
        spent += 1
    print(spent)
"""


def test_processes_that_share_a_store_spend_one_limit(tmp_path):
    command = [sys.executable, "-c", SPEND, str(tmp_path / "s")]
    children = [
        subprocess.Popen([*command, name], stdout=subprocess.PIPE, text=True) for name in "abc"
    ]
    spent = [int(child.communicate(timeout=60)[0]) for child in children]
    assert sum(spent) == 50
    with Store.open(tmp_path / "s") as store, store.view() as tx:
        assert tx.memory.get("told") == b"50"


def test_threads_take_turns(tmp_path):
    with Store.open(tmp_path / "s") as store:

        def work():
            for _ in range(20):
                with store.transaction() as tx:
                    count = int(tx.memory.get("count") or b"0")
                    tx.memory.put("count", str(count + 1).encode())

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with store.view() as tx:
            assert tx.memory.get("count") == b"80"


def test_misuse_is_refused(tmp_path):
    store = Store.open(tmp_path / "s")
    with store.transaction(), pytest.raises(StorageError, match="under way"), store.transaction():
        pass
    with Store.open(tmp_path / "s", access=Access.READ) as reader:
        with pytest.raises(StorageError, match="reading only"), reader.transaction():
            pass
        with reader.view() as tx:
            assert tx.memory.names() == []
    store.close()
    store.close()
    with pytest.raises(StorageError, match="closed"), store.transaction():
        pass


def test_a_store_is_not_inherited(tmp_path):
    with Store.open(tmp_path / "s") as store:
        store._process += 1  # as in a forked child
        with pytest.raises(StorageError, match="forked"), store.transaction():
            pass


def test_a_full_disk_changes_nothing(tmp_path):
    with Store.open(tmp_path / "s") as store:
        with store.transaction() as tx:
            tx.memory.put("a", b"before")
        pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
        store._connection.execute(f"PRAGMA max_page_count = {pages}")

        def turn():
            with store.transaction() as tx:
                tx.memory.put("a", b"after")
                for number in range(1000):
                    tx.outbox.add("b", number, b"x" * 1000)

        with pytest.raises(StorageError, match="nothing was changed"):
            turn()
        with store.view() as tx:
            assert tx.memory.get("a") == b"before"
            assert tx.outbox.next_sequence("b") == 0


def test_a_disk_that_is_full_while_somebody_reads_is_called_full(tmp_path):
    """SQLite rolls back by itself then, and a second time it says that there is nothing to."""

    def look():
        with store.view():
            store._connection.execute("ROLLBACK")
            raise sqlite3.OperationalError("database or disk is full")

    with Store.open(tmp_path / "s") as store, pytest.raises(StorageError, match="the disk is full"):
        look()


def test_a_store_that_is_gone_says_what_to_do(tmp_path):
    (tmp_path / "s").mkdir(mode=0o700)
    for folder in ("s", "none"):
        with pytest.raises(StorageError, match=r"there is no store.*site recover"):
            Store.open(tmp_path / folder, create=False)


def test_a_disk_without_room_for_an_index_is_called_full(tmp_path, monkeypatch):
    """SQLite itself says no more than: disk I/O error."""

    def fail(*_args, **_settings):
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(sqlite3, "connect", fail)
    with pytest.raises(StorageError, match="the store cannot be used"):
        Store.open(tmp_path / "s")
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_bavail=1, f_frsize=4096))
    with pytest.raises(StorageError, match=r"the disk is full.*nothing was changed"):
        Store.open(tmp_path / "s")


def test_a_read_only_folder_is_named(tmp_path):
    """Root writes everywhere, unless it gives up its powers."""
    place = tmp_path / "s"
    Store.open(place).close()
    place.chmod(0o500)
    code = "import sys; from pathlib import Path; from securefair.storage import Store; "
    command = [sys.executable, "-c", f"{code}Store.open(Path(sys.argv[1]))", str(place)]
    if os.geteuid() == 0:
        command = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", *command]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    place.chmod(0o700)
    assert f"StorageError: {place}: the store cannot be used" in done.stderr
    assert "does not permit writing" in done.stderr


def test_nothing_of_the_content_prints(tmp_path):
    with Store.open(tmp_path / "s") as store:
        with store.transaction() as tx:
            tx.memory.put("a", b"canary")
        assert "canary" not in repr(store)
