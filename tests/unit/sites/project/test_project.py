import os
import tomllib
from dataclasses import replace

import msgspec
import pytest

from securefair.collaboration.kinds import unread_by
from securefair.config import kinds_keys
from securefair.errors import ConfigError, DataError
from securefair.protocol.messages import OLDEST_PROTOCOL, PROTOCOL_VERSION, SPOKEN
from securefair.sites.couriers.interface import CourierSettings
from securefair.sites.project.identity import Identity
from securefair.sites.project.project import (
    Project,
    load_project,
    parse_project,
    signature_file,
    write_signature,
)
from securefair.sites.project.terms import check_version, checked_terms
from securefair.sites.site.folder import SiteSettings
from securefair.sites.site.hosting import own_config

NOW = 1_800_000_000
NORTH, SOUTH, WEST = (Identity.generate(name, now=NOW) for name in ("north", "south", "west"))


def terms(**changes):
    project = {
        "name": "heart",
        "algorithm": "cycle",
        "max_samples": 300,
        "features": 20,
        "classes": 2,
        "valid_from": NOW - 10,
        "valid_until": NOW + 1000,
        "protocol": PROTOCOL_VERSION,
    } | changes
    table = {key: value for key, value in project.items() if value is not None}
    return checked_terms({"project": table, "training": {"rounds": 12}}, source="test")


def project(*identities):
    return Project(terms=terms(), cards=tuple(one.card for one in identities))


def test_a_signed_project_survives_its_file(tmp_path):
    signed = project(NORTH, SOUTH).signed(SOUTH).signed(NORTH)
    path = tmp_path / "p.toml"
    path.write_text(signed.to_toml(), encoding="utf-8")
    again = load_project(path)
    assert again == signed
    assert again.digest == signed.digest
    assert again.unsigned == ()
    again.check_signatures()
    again.check_time(NOW)


@pytest.mark.parametrize("algorithm", ["vpdl", "cycle", "cycle-gossip"])
def test_a_project_says_what_its_kind_reads_and_nothing_else(algorithm):
    """Defaults included: what was signed must not change with those of a later version."""
    agreed = terms(algorithm=algorithm)
    table = tomllib.loads(Project(terms=agreed, cards=()).to_toml())
    written = {
        f"{section}.{key}"
        for section in table.keys() - {"format", "cards", "project"}
        for key in table[section]
    }
    unread = unread_by([algorithm])
    assert written.isdisjoint(unread)
    for dotted in kinds_keys() - unread:
        name, _, key = dotted.partition(".")
        section = getattr(agreed.config, name)
        unsaid = section is None or key in section.unsaid or getattr(section, key) is None
        assert dotted in written or unsaid


def test_a_project_does_not_say_what_computes_at_a_site():
    table = terms(algorithm="vpdl").as_table()
    table["encryption"]["device"] = "cuda"
    with pytest.raises(ConfigError, match="every site says which device it has") as refused:
        checked_terms(table, source="project.toml")
    assert "site.toml" in refused.value.expected


def test_a_site_computes_on_a_device_of_its_own():
    courier = CourierSettings(kind="folder", folder="/nowhere")
    site = SiteSettings(name="north", data="north.npz", courier=courier)
    agreed = Project(terms=terms(algorithm="vpdl"), cards=())
    assert own_config(agreed, site) is agreed.terms.config
    own = own_config(agreed, msgspec.structs.replace(site, device="cpu-kernels"))
    assert own.encryption.device == "cpu-kernels"
    assert own.encryption.agreed() == agreed.terms.config.encryption.agreed()
    with pytest.raises(ConfigError, match=r"value"):
        own_config(agreed, msgspec.structs.replace(site, device="gpu"))
    gossip = Project(terms=terms(algorithm="cycle-gossip"), cards=())
    with pytest.raises(ConfigError):
        own_config(gossip, msgspec.structs.replace(site, device="cuda"))


def test_a_file_with_all_sections_is_read_and_stays_as_it_was_signed():
    """As earlier versions wrote it."""
    sections = terms().config.model_dump(
        mode="json",
        exclude_none=True,
        include={"model", "training", "transfer", "distillation", "fairness", "gossip"},
    )
    everything = terms().as_table() | sections
    assert "gossip" not in terms().as_table()
    signed = Project(terms=replace(terms(), written=everything), cards=(NORTH.card,)).signed(NORTH)
    again = parse_project(signed.to_toml(), source="p")
    assert again.terms.as_table() == everything
    assert again == signed


def test_every_value_changes_the_digest():
    one = project(NORTH, SOUTH)
    others = [
        project(SOUTH, NORTH),
        project(NORTH, SOUTH, WEST),
        Project(terms=terms(max_samples=301), cards=one.cards),
        Project(terms=terms(seed=1), cards=one.cards),
        Project(terms=terms(algorithm="vpdl"), cards=one.cards),
    ]
    assert len({one.digest, *(other.digest for other in others)}) == 6


def test_a_change_after_the_signature_is_found():
    text = project(NORTH, SOUTH).signed(NORTH).to_toml()
    with pytest.raises(DataError, match="changed since"):
        parse_project(text.replace("max_samples = 300", "max_samples = 900"), source="p")


def test_a_signature_of_another_version_is_called_that():
    text = project(NORTH, SOUTH).signed(NORTH).to_toml()
    with pytest.raises(ConfigError, match="newer version of the protocol"):
        parse_project(text.replace(f"protocol = {PROTOCOL_VERSION}", "protocol = 99"), source="p")


def test_versions_of_releases_alone_are_spoken():
    for protocol in SPOKEN:
        check_version(protocol)
    for protocol, which in (
        (OLDEST_PROTOCOL - 1, "an older"),
        (OLDEST_PROTOCOL + 1, "an unknown"),
        (PROTOCOL_VERSION - 1, "an unknown"),
        (PROTOCOL_VERSION + 1, "a newer"),
    ):
        with pytest.raises(ConfigError, match=f"{which} version .* expected '12 or 15'"):
            check_version(protocol)


def test_a_signature_of_another_is_found():
    signed = project(NORTH, SOUTH).signed(NORTH)
    text = signed.to_toml()
    at = text.index("[[signatures]]")
    stolen = text[:at] + text[at:].replace('name = "north"', 'name = "south"')
    with pytest.raises(DataError, match="south has not signed"):
        parse_project(stolen, source="p")


def test_who_has_not_signed_is_named():
    signed = project(NORTH, SOUTH).signed(NORTH)
    assert signed.unsigned == ("south",)
    with pytest.raises(ConfigError, match="south"):
        signed.check_signatures()


def test_a_new_site_voids_signatures():
    signed = project(NORTH, SOUTH).signed(NORTH)
    assert signed.with_card(WEST.card).signatures == {}


def test_nobody_joins_twice():
    with pytest.raises(ConfigError, match="already"):
        project(NORTH, SOUTH).with_card(SOUTH.card)
    with pytest.raises(ConfigError, match="already"):
        project(NORTH, SOUTH).with_card(Identity.generate("south", now=NOW).card)


def test_only_a_card_of_the_project_signs():
    with pytest.raises(ConfigError, match="nobody of that name"):
        project(NORTH, SOUTH).signed(WEST)
    with pytest.raises(ConfigError, match="another card of this name"):
        project(NORTH, SOUTH).signed(Identity.generate("south", now=NOW))


@pytest.mark.parametrize("now", [NOW - 365 * 86_400, NOW + 365 * 86_400])
def test_a_clock_that_is_a_year_off_is_named(now):
    with pytest.raises(ConfigError, match="clock"):
        project(NORTH, SOUTH).check_time(now)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no project file"),
        ("format = 2", "no project file"),
        ("format = [", "not valid TOML"),
        ("format = 1\ncards = 3", "list of sections"),
        ("format = 1\n[strange]", "no such section"),
        ("format = 1", "value of the project"),
    ],
)
def test_what_is_no_project_says_why(text, message):
    with pytest.raises(ConfigError, match=message):
        parse_project(text, source="p.toml")


@pytest.mark.parametrize(
    "change",
    [
        {"max_samples": 1},
        {"features": None},
        {"algorithm": "magic"},
        {"valid_until": "soon"},
        {"round_seconds": 0.0},
        {"stranger": 1},
    ],
)
def test_terms_that_cannot_be_kept_are_refused(change):
    with pytest.raises(ConfigError):
        terms(**change)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read"):
        load_project(tmp_path / "none.toml")


def test_signatures_lie_beside_the_file(tmp_path):
    path = tmp_path / "heart.toml"
    made = project(NORTH, SOUTH)
    path.write_text(made.to_toml(), "utf-8")
    before = path.read_bytes()
    file = write_signature(path, made.signed(SOUTH), "south")
    assert file.name == "heart.south.signature"
    assert load_project(path).unsigned == ("north",)
    assert load_project(path, beside=False).unsigned == ("north", "south")
    write_signature(path, made.signed(NORTH), "north")
    load_project(path).check_signatures()
    assert path.read_bytes() == before  # nobody passes the file on


def test_a_signature_beside_another_content_is_refused(tmp_path):
    path = tmp_path / "heart.toml"
    path.write_text(project(NORTH, SOUTH, WEST).to_toml(), "utf-8")
    write_signature(path, project(NORTH, SOUTH).signed(NORTH), "north")
    with pytest.raises(DataError, match="changed since"):
        load_project(path)


def test_nobody_signs_for_another(tmp_path):
    path = tmp_path / "heart.toml"
    made = project(NORTH, SOUTH)
    path.write_text(made.to_toml(), "utf-8")
    mine = write_signature(path, made.signed(NORTH), "north").read_text("utf-8")
    signature_file(path, "south").write_text(mine, "utf-8")
    with pytest.raises(DataError, match="of another site"):
        load_project(path)
    forged = mine.replace('name = "north"', 'name = "south"')
    signature_file(path, "south").write_text(forged, "utf-8")
    with pytest.raises(DataError, match="south has not signed"):
        load_project(path)


def test_what_others_plant_beside_it_is_not_followed(tmp_path):
    path = tmp_path / "heart.toml"
    path.write_text(project(NORTH, SOUTH).to_toml(), "utf-8")
    os.mkfifo(signature_file(path, "north"))
    with pytest.raises(DataError, match="cannot be read"):
        load_project(path)
