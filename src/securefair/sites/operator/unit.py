"""The systemd unit of a site: it starts again after any end but a regular one."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from securefair.sites.site.folder import SiteSettings
from securefair.storage.unlock import CREDENTIAL

_UNIT = """\
# Put the passphrase where systemd keeps it, once, as root:
#   systemd-ask-password -n | systemd-creds encrypt --name={credential} - {folder}/passphrase.cred
# Then: systemctl link {folder}/securefair-site.service && systemctl enable --now securefair-site
[Unit]
Description=securefair site in {named}
After=network-online.target

[Service]
User={user}
ExecStart={python} -m securefair site start {quoted}
LoadCredentialEncrypted={credential}:{named}/passphrase.cred
Restart=on-failure
RestartSec=5
RestartPreventExitStatus=2
# What `securefair site stop` ends with.
SuccessExitStatus=130
NoNewPrivileges=yes
ProtectSystem=strict
ReadWritePaths={writable}
PrivateTmp=yes
UMask=0077
# Keys would lie in a core file.
LimitCORE=0

[Install]
WantedBy=multi-user.target
"""


def unit_text(folder: Path, settings: SiteSettings) -> str:
    """The unit of a site's folder, for the Python and the user that this process has.

    It may write to that folder and to the courier's, and nowhere else.
    """
    shared = settings.courier.folder
    writable = [str(folder)] + ([] if shared is None else [shared])
    return _UNIT.format(
        credential=CREDENTIAL,
        folder=folder,
        named=_named(str(folder)),
        quoted=_quoted(str(folder)).replace("$", "$$"),
        python=_quoted(sys.executable),
        user=os.getuid(),
        writable=" ".join(_quoted(path) for path in writable),
    )


def _named(text: str) -> str:
    """Text in which systemd finds no specifier."""
    return text.replace("%", "%%")


def _quoted(text: str) -> str:
    """One word for systemd."""
    escaped = _named(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
