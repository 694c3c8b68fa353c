"""What a site says of itself, made up."""

from typing import Any

import msgspec

from securefair.collaboration.observer import SiteRecord
from securefair.report.presence import PeerLife, SiteLife
from securefair.sites.site.health import Health
from securefair.sites.site.status import PeerStatus, SiteStatus

PEER = PeerStatus(
    name="south",
    presence=PeerLife.HERE,
    ready=1,
    heard="2027",
    unconfirmed=0,
    numbers=8,
    bytes_out=1,
    bytes_in=1,
    fault="",
)
RECORD = SiteRecord(
    round=0,
    forced=True,
    asked=("south",),
    opened=("south",),
    declined={},
    failed=(),
    missed=(),
    offered=(),
    combined=(),
    lost=(),
    received={"south": 8},
    reputations={"south": 1.0},
    away=(),
    measured={},
    temperature=None,
    step_error=None,
)


def peer_status(**changes: Any) -> PeerStatus:
    return msgspec.structs.replace(PEER, **changes)


def site_status(
    peer: PeerStatus = PEER, health: Health | None = None, **changes: Any
) -> SiteStatus:
    health = health or Health(state=SiteLife.RUNNING)
    settings: dict[str, Any] = {
        "name": "north",
        "project": "heart",
        "rounds_over": 1,
        "rounds": 2,
        "seconds_left": 30.5,
        "peers": (peer,),
        "refused": {},
        "student_limit": None,
        "teacher_limit": None,
        "accuracy": None,
        "audit_rows": 7,
        "audit_head": "",
        "health": health,
        "summary": health.summary,
        "code": health.code,
    }
    return SiteStatus(**(settings | changes))
