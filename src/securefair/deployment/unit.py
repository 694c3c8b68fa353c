"""The systemd unit of a site: it starts again after any end but a regular one."""

from __future__ import annotations

from pathlib import Path

from securefair.storage.unlock import CREDENTIAL

_UNIT = """\
# Put the passphrase where systemd keeps it, once, as root:
#   systemd-ask-password -n | systemd-creds encrypt --name={credential} - {folder}/passphrase.cred
# Then: systemctl link {folder}/securefair-site.service && systemctl enable --now securefair-site
[Unit]
Description=securefair site in {folder}
After=network-online.target

[Service]
ExecStart=/usr/bin/env securefair site start {folder}
LoadCredentialEncrypted={credential}:{folder}/passphrase.cred
Restart=on-failure
RestartSec=5
RestartPreventExitStatus=2
NoNewPrivileges=yes
ProtectSystem=strict
ReadWritePaths={folder}
PrivateTmp=yes
UMask=0077

[Install]
WantedBy=multi-user.target
"""


def unit_text(folder: Path) -> str:
    """The unit of a site's folder."""
    return _UNIT.format(folder=folder, credential=CREDENTIAL)
