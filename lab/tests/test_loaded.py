"""What `securefair reproduce --list` loads: no networks, no data."""

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
