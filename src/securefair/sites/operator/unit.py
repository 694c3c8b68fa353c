"""The systemd unit of a site: it starts again after any end but a regular one, or a refusal.

What may pass (a share that is not mounted, a clock that is not set, a full disk) ends with another
exit code than a refusal, and is tried again for ever.
"""

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
After=network-online.target time-sync.target
Wants=network-online.target
StartLimitIntervalSec=0

[Service]
User={user}
ExecStart={python} -m securefair site start {quoted}
LoadCredentialEncrypted={credential}:{named}/passphrase.cred
Restart=on-failure
RestartSec=30
RestartPreventExitStatus=2
# What `securefair site stop` ends with.
SuccessExitStatus=130
UMask=0077
# Keys would lie in a core file.
LimitCORE=0
# It writes to its folder and to the courier's, talks through the Unix socket in its folder, and
# opens no other: FLARE's client, a unit of its own, has the network. A share is mounted by others.
ProtectSystem=strict
ReadWritePaths={writable}
ProtectHome=read-only
PrivateTmp=yes
PrivateDevices=yes
PrivateNetwork=yes
RestrictAddressFamilies=AF_UNIX
IPAddressDeny=any
NoNewPrivileges=yes
CapabilityBoundingSet=
AmbientCapabilities=
RestrictSUIDSGID=yes
RestrictNamespaces=yes
RestrictRealtime=yes
LockPersonality=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged
SystemCallErrorNumber=EPERM

[Install]
WantedBy=multi-user.target
"""


def unit_text(folder: Path, settings: SiteSettings) -> str:
    """The unit of a site's folder, for the Python and the user that this process has.

    It may write to that folder and to the courier's, and nowhere else.
    """
    shared = settings.courier.folder
    # "-": a share that is not mounted must reach the site, which says so and is tried again.
    writable = [_quoted(str(folder))] + ([] if shared is None else [_quoted(shared, "-")])
    return _UNIT.format(
        credential=CREDENTIAL,
        folder=folder,
        named=_named(str(folder)),
        quoted=_quoted(str(folder)).replace("$", "$$"),
        python=_quoted(sys.executable),
        user=os.getuid(),
        writable=" ".join(writable),
    )


def _named(text: str) -> str:
    """Text in which systemd finds no specifier."""
    return text.replace("%", "%%")


def _quoted(text: str, prefix: str = "") -> str:
    """One word for systemd."""
    escaped = _named(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{prefix}{escaped}"'
