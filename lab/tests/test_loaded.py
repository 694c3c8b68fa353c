"""What a list of experiments, and a side of a measured exchange, load: no networks, no data."""

import subprocess
import sys

CODE = """
import contextlib, io, sys
from securefair_lab.papers import command, listing
with contextlib.redirect_stdout(io.StringIO()):
    [listing.print_list(json=json) for json in (False, True)]
print(*sys.modules)
"""


def test_a_list_needs_neither_networks_nor_data():
    shown = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    loaded = set(shown.stdout.split())
    assert "securefair_lab.papers.listing" in loaded
    assert loaded & {"torch", "numpy", "sklearn", "scipy", "matplotlib"} == set()


def test_a_measured_side_of_an_exchange_is_as_small_as_one_that_is_not():
    code = "import sys, securefair_lab.profiling.fresh_side\nprint(*sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(shown.stdout.split())
    assert "securefair_lab.profiling.fresh_side" in loaded
    heavy = {"torch", "scipy", "pyarrow", "pydantic_core", "sklearn", "pandas", "matplotlib"}
    assert loaded & heavy == set()
