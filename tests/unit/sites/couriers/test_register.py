"""Every courier of the register: what it says of settings, and what it refuses."""

import threading
from importlib import import_module

import pytest

from securefair.errors import ConfigError
from securefair.sites.couriers.interface import CourierSettings
from securefair.sites.couriers.register import REGISTERED, courier_of, rehearsed_couriers
from securefair.sites.rehearsal.rehearsal import rehearse
from securefair.sites.site.folder import read_settings


class Idle:
    """A port of a site that has peers and nothing to send."""

    name, peers = "north", ("south",)


def settings_of(kind, tmp_path):
    return CourierSettings(
        kind=kind, folder=str(tmp_path), doors={"south": str(tmp_path / "south")}
    )


@pytest.mark.parametrize("kind", REGISTERED)
def test_each_says_what_is_in_order_under_its_own_name(kind, tmp_path):
    said = courier_of(kind).check(settings_of(kind, tmp_path), tmp_path / "north", "north")
    assert said.startswith(kind)
    assert str(tmp_path) in said


@pytest.mark.parametrize("kind", REGISTERED)
def test_what_a_rehearsal_starts_beside_the_sites_is_there(kind):
    courier = courier_of(kind)
    if courier.beside is not None:
        module, _, name = courier.beside.partition(":")
        assert callable(getattr(import_module(module), name))


@pytest.mark.parametrize(
    ("kind", "where"), [("folder", "courier.folder"), ("local", "courier.doors")]
)
def test_settings_that_lack_what_it_needs_are_refused(kind, where):
    with pytest.raises(ConfigError) as caught:
        courier_of(kind).start(CourierSettings(kind=kind), Idle(), threading.Event())
    assert caught.value.where == where


def test_a_site_with_a_courier_that_nobody_knows_is_refused(tmp_path):
    (tmp_path / "site.toml").write_text(
        'name = "north"\ndata = "own.csv"\n\n[courier]\nkind = "pigeon"\n'
    )
    with pytest.raises(ConfigError, match=r"no such courier.*pigeon.*local, folder, flare"):
        read_settings(tmp_path)


@pytest.mark.parametrize("kind", ["pigeon", *sorted({*REGISTERED} - {*rehearsed_couriers()})])
def test_a_courier_that_cannot_be_rehearsed_is_refused(kind, tmp_path):
    with pytest.raises(ConfigError, match=r"cannot be rehearsed.*local or folder or flare"):
        rehearse(tmp_path, courier=kind, sites=2, rounds=1, kills=0, faults=0.0)
