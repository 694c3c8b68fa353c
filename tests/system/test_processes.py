"""Programs that tests start do not outlive them: `support.processes`."""

import gc
import os

import pytest

from support.processes import Process


@pytest.fixture
def endless(tmp_path):
    """A script that says so and goes on."""
    script = tmp_path / "endless.py"
    script.write_text("import time\nprint('begun', flush=True)\ntime.sleep(1000)\n", "utf-8")
    return str(script)


def test_nobody_waits_for_a_process_whose_block_has_failed(endless, tmp_path):
    process = Process(endless, cwd=tmp_path)

    def fail():
        with process:
            assert process.stdout.readline() == "begun\n"
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert process.returncode == -9
    assert process.communicate(timeout=60) == ("", "")


def test_a_process_that_everybody_forgot_is_ended(endless, tmp_path):
    process = Process(endless, cwd=tmp_path)
    assert process.stdout.readline() == "begun\n"
    pid = process.pid
    for stream in (process.stdout, process.stderr):
        stream.close()
    del process, stream
    gc.collect()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
