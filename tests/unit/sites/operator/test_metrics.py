"""Prometheus can read a site's status, whatever peers are called."""

import re

from securefair.report.presence import SiteLife
from securefair.sites.operator.metrics import metrics
from securefair.sites.site.health import Health
from support.site_statuses import peer_status, site_status

LINE = re.compile(
    r'securefair_[a-z_]+(\{[a-z]+="(?:[^"\\\n]|\\.)*"(?:,[a-z]+="[a-z ]+")?\})? -?[0-9.e+-]+'
)


def status(name="south"):
    return site_status(
        peer_status(name=name, unconfirmed=2, numbers=64, bytes_in=2_000_000_000),
        Health(state=SiteLife.WAITING, waiting_for=(name,), since_seconds=1_800_000_000.0),
        refused={"unknown sender": 3},
        accuracy=0.8,
    )


def test_every_line_is_a_sample_or_says_what_one_is():
    text = metrics(status())
    assert text.endswith("\n")
    for line in text.splitlines():
        assert line.startswith(("# HELP securefair_", "# TYPE securefair_")) or LINE.fullmatch(line)
    assert 'securefair_state{state="waiting"} 1\n' in text
    assert 'securefair_state{state="running"} 0\n' in text
    assert "securefair_waiting_since_seconds 1800000000\n" in text
    assert 'securefair_peer_missing{peer="south"} 1\n' in text
    assert 'securefair_peer_state{peer="south",state="here"} 1\n' in text
    assert 'securefair_peer_state{peer="south",state="away"} 0\n' in text
    assert "securefair_health 1\n" in text
    assert 'securefair_peer_bytes_in_total{peer="south"} 2000000000\n' in text
    assert 'securefair_refused_total{what="unknown sender"} 3\n' in text


def test_no_model_is_in_it():
    assert "accuracy" not in metrics(status())


def test_a_name_cannot_add_a_line():
    text = metrics(status('a"} 1\nsecurefair_health 0'))
    assert text.count("\nsecurefair_health ") == 1
    assert all(line.startswith("#") or LINE.fullmatch(line) for line in text.splitlines())
