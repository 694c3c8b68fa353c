"""Keys lie in the memory of a process: no core file of it is written."""

import resource
import subprocess
import sys

from securefair.sites.couriers.interface import CourierSettings
from securefair.sites.operator.unit import unit_text
from securefair.sites.site.folder import SiteSettings

OPEN = """
import resource, sys
from pathlib import Path
from securefair.storage import KeystoreCost, Keystore, Secret
resource.setrlimit(resource.RLIMIT_CORE, (1 << 20, resource.RLIM_INFINITY))
Keystore.create(Path(sys.argv[1]), Secret(b"passphrase"), cost=KeystoreCost(log2_n=2))
print(resource.getrlimit(resource.RLIMIT_CORE)[0])
"""


def test_whoever_opens_a_keystore_leaves_no_core_file(tmp_path):
    if resource.getrlimit(resource.RLIMIT_CORE)[1] != resource.RLIM_INFINITY:
        program = OPEN.replace("(1 << 20, resource.RLIM_INFINITY)", "(0, 0)")
    else:
        program = OPEN
    command = [sys.executable, "-c", program, tmp_path / "keys"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0"


def test_a_sites_unit_forbids_them(tmp_path):
    settings = SiteSettings(
        name="north", data="own.csv", courier=CourierSettings(kind="folder", folder="/mnt")
    )
    assert "LimitCORE=0" in unit_text(tmp_path, settings).splitlines()
