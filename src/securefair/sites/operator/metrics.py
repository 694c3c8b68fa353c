"""A site's status as Prometheus reads it: text of version 0.0.4, one sample a line.

The format is of lines "name{label="value"} number" with "# HELP" and "# TYPE" before each name.
"""

from __future__ import annotations

from collections.abc import Iterable

from securefair.report.presence import PeerLife, SiteLife
from securefair.sites.site.status import PeerStatus, SiteStatus

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Sample = tuple[dict[str, str], float]


def metrics(status: SiteStatus) -> str:
    """The status of a site; names of peers are labels."""
    peers, health = status.peers, status.health
    missing = () if health is None else health.waiting_for
    states, waits = list[Sample](), list[Sample]()
    if health is not None:
        states = [({"state": life.value}, health.state is life) for life in SiteLife]
        waits = [({}, health.since_seconds or 0.0)] if missing else []
    warnings = 0 if health is None else len(health.warnings)
    families: tuple[tuple[str, str, str, list[Sample]], ...] = (
        ("state", "gauge", "What the site does: 1 for one state, 0 for the others.", states),
        ("health", "gauge", "0 well, 1 warnings, waiting, 2 stopped, stuck.", [({}, status.code)]),
        ("waiting_since_seconds", "gauge", "Unix time from which it waits, while it does.", waits),
        ("warnings", "gauge", "What will stop the site, or stops it.", [({}, warnings)]),
        ("rounds", "gauge", "Rounds of the project.", [({}, status.rounds)]),
        ("rounds_over", "gauge", "Rounds that are over.", [({}, status.rounds_over)]),
        ("seconds_left", "gauge", "To the round's deadline.", [({}, status.seconds_left)]),
        ("audit_rows_total", "counter", "Rows of the audit log.", [({}, status.audit_rows)]),
        (
            "refused_total",
            "counter",
            "Envelopes and questions that were refused.",
            [({"what": what}, count) for what, count in status.refused.items()],
        ),
        (
            "peer_missing",
            "gauge",
            "Whether it waits for this peer.",
            [({"peer": peer.name}, peer.name in missing) for peer in peers],
        ),
        (
            "peer_state",
            "gauge",
            "How a peer is: 1 for one state, 0 for the others.",
            [
                ({"peer": peer.name, "state": life.value}, peer.presence is life)
                for peer in peers
                for life in PeerLife
            ],
        ),
        ("peer_unconfirmed", "gauge", "Envelopes under way to it.", _of(peers, "unconfirmed")),
        ("peer_numbers_total", "counter", "Numbers disclosed to it.", _of(peers, "numbers")),
        ("peer_bytes_out_total", "counter", "Bytes of envelopes for it.", _of(peers, "bytes_out")),
        ("peer_bytes_in_total", "counter", "Bytes of envelopes from it.", _of(peers, "bytes_in")),
        (
            "peer_fault",
            "gauge",
            "Whether nothing of it is taken, or memories differ.",
            [({"peer": peer.name}, bool(peer.fault)) for peer in peers],
        ),
    )
    lines: list[str] = []
    for name, kind, told, samples in families:
        if samples:
            full = f"securefair_{name}"
            lines += [f"# HELP {full} {told}", f"# TYPE {full} {kind}"]
            lines += [f"{full}{_labels(labels)} {float(value):.17g}" for labels, value in samples]
    return "\n".join(lines) + "\n"


def _of(peers: Iterable[PeerStatus], field: str) -> list[Sample]:
    return [({"peer": peer.name}, getattr(peer, field)) for peer in peers]


def _labels(labels: dict[str, str]) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
