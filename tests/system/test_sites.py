"""Two hospitals, from their cards to their models: what operators type, and what they see."""

import json
import shutil
import time
from pathlib import Path

import pytest

from securefair.storage import Store
from support.flows import FILES
from support.operators import SETTINGS, ended, found, init_arguments, securefair, start, write_table

NOW = time.time


@pytest.fixture(scope="module")
def ward(tmp_path_factory):
    """Two hospitals whose sites are ready to start."""
    place = tmp_path_factory.mktemp("w")
    found(place)
    west = ("identity", "new", "west", "--out", place, "--passphrase-file", place / "passphrase")
    write_table(place / "west.csv", 2)
    securefair(*west)
    return place


def init(place, name, folder):
    return securefair(*init_arguments(place, name, folder))


def test_a_guess_at_an_operators_passphrase_takes_128_mib(program, ward, tmp_path):
    """In a process of its own: within this one keystores are cheap."""
    words = ("identity", "new", "west", "--out", ".", "--passphrase-file", ward / "passphrase")
    done = program.run(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    log2_n, r, p = (tmp_path / "west.keys").read_bytes()[8:11]
    assert (128 * r * 2**log2_n, p) == (128 << 20, 1)


def test_fingerprints_are_compared_aloud(ward):
    shown = securefair("identity", "show", ward / "north.card")
    digits = shown.split("Fingerprint: ")[1].split("\n")[0].split(" ")
    assert "The same" in securefair("identity", "verify", ward / "north.card", *digits)
    assert "DIFFERENT" in securefair("identity", "verify", ward / "south.card", *digits, fails=True)


def test_a_site_brings_a_model_that_answers(ward, tmp_path):
    words = init_arguments(ward, "north", tmp_path / "n")
    refused = securefair(*words, "--teacher", "model.pkl", fails=True)
    assert "no such model may teach" in refused
    securefair(*words, "--teacher", "forest")
    secret = ("--passphrase-file", ward / "passphrase")
    said = securefair("site", "check", tmp_path / "n", *secret)
    assert "north brought a model of its own (forest)" in said


def test_without_a_shared_folder_the_relay_is_named(ward, tmp_path):
    words = init_arguments(ward, "north", tmp_path / "n")
    at = words.index("--shared-folder")
    said = securefair(*words[:at], *words[at + 2 :])
    assert f"securefair flare harden KIT --site {tmp_path / 'n'}" in said
    assert "flare harden" not in securefair(*init_arguments(ward, "north", tmp_path / "m"))


def test_a_site_is_checked_before_it_starts(ward):
    said = securefair("site", "check", ward / "north", "--passphrase-file", ward / "passphrase")
    for word in ("signed by north, south", "clock", "plan", "disclosure", "keys", "data", "disk"):
        assert word in said
    assert "scores: Sensitivity is of class 1." in said
    assert "WARNING: One answer determines a teacher's fit. So north, south will know" in said


@pytest.mark.parametrize(
    ("settings", "options", "said", "classes"),
    [
        (SETTINGS, (), "class 1; table.positive can name 0.", ["0", "1"]),
        (
            SETTINGS.replace("classes =", 'positive = "0"\nclasses ='),
            (),
            "class 0; table.positive can name 1.",
            ["1", "0"],
        ),
        ("", ("--features", 3, "--classes", 2), "class 1.", ["0", "1"]),
        ("", ("--features", 3, "--classes", 3), None, ["0", "1", "2"]),
    ],
)
def test_a_project_says_which_class_sensitivity_is_of(
    ward, tmp_path, settings, options, said, classes
):
    (tmp_path / "settings.toml").write_text(settings, encoding="utf-8")
    cards = [part for name in ("north", "south") for part in ("--card", ward / f"{name}.card")]
    options = (*options, "--max-samples", 60, "--settings", tmp_path / "settings.toml")
    project = tmp_path / "heart.toml"
    for words in (
        ("project", "new", "heart", *cards, *options, "--out", project, "--force"),
        ("project", "check", project),
    ):
        lines = securefair(*words).splitlines()
        about = [line for line in lines if "ensitivity" in line]
        assert about == ([] if said is None else [f"Sensitivity is of {said}"])
        assert json.loads(securefair(*words, "--json"))["classes"] == classes


def test_proposals_of_both_tables_are_compared(ward):
    for name in ("north", "south"):
        options = ("--label", "num", "--out", ward / f"{name}.proposal.toml")
        securefair("project", "propose", ward / f"{name}.csv", *options)
    proposals = [ward / f"{name}.proposal.toml" for name in ("north", "south")]
    said = securefair("project", "check", *proposals, fails=True)
    assert "Agree on" in said
    copy = shutil.copy(proposals[0], ward / "copy.proposal.toml")
    assert "The proposals are the same" in securefair("project", "check", proposals[0], copy)
    copy.unlink()


def test_proposals_are_joined_into_settings_of_a_project(ward):
    proposals = [ward / "east.proposal.toml", ward / "west.proposal.toml"]
    for proposal, table in zip(proposals, ("north.csv", "south.csv"), strict=True):
        options = ("--label", "num", "--out", proposal)
        securefair("project", "propose", ward / table, *options)
    settings, joined = ward / "joined.toml", ward / "joined-project.toml"
    said = securefair("project", "check", *proposals, "--out", settings)
    assert "columns cover all proposals" in said
    assert 'origin = "participants"' in settings.read_text()
    cards = [part for name in ("north", "south") for part in ("--card", ward / f"{name}.card")]
    options = ("--max-samples", "200", "--settings", settings, "--setup-hours", "2")
    said = securefair("project", "new", "joined", *cards, *options, "--out", joined)
    assert "Before you sign: Ranges and levels of columns come from the sites' tables" in said
    assert "setup_seconds = 7200" in joined.read_text()
    said = securefair("project", "check", joined, "--out", ward / "other.toml", fails=True)
    assert "no proposals to join" in said


@pytest.fixture(scope="module")
def finished(ward):
    """The same two after all rounds; the machine of one has crashed as it sent its first parcel."""
    north, south = start(ward, "north"), start(ward, "south")
    try:
        until = time.monotonic() + 240
        while not list((ward / "shared").glob("*/north/south.parcel")):
            assert south.returncode is None, south.communicate(timeout=60)
            assert time.monotonic() < until
            time.sleep(0.01)
        south.kill()
        south.communicate(timeout=60)
        ended([north, start(ward, "south")], timeout=240)
    finally:
        for site in (north, south):
            site.kill()
    return ward


def test_two_hospitals_from_start_to_models(finished):
    ward = finished
    for name, peer in (("north", "south"), ("south", "north")):
        status = json.loads(securefair("site", "status", ward / name, "--json"))
        assert status["rounds_over"] == status["rounds"] == 1
        [seen] = status["peers"]
        assert seen["name"] == peer
        assert 0 < seen["numbers"] <= status["student_limit"] <= 32
        results = ward / name / "results"
        [record] = [
            json.loads(line) for line in (results / "rounds.jsonl").read_text().split("\n") if line
        ]
        assert record["opened"] == [peer]
        report = (results / "report.md").read_text(encoding="utf-8")
        assert f"| {peer} | 1 | 0 | here | {record['received'][peer]} |" in report
        assert "Transfer: what peers' fits say" in report  # words, not their keys
        predicted = securefair("predict", results / "models" / name, ward / f"{peer}.csv")
        said = predicted.splitlines()
        assert len([line for line in said if not line.startswith("Warning: ")]) == 1 + 60
        card = json.loads((results / "models" / name / "card.json").read_text())
        worse = card["verdict"]["hospitals"][name]["told"] == "worse"
        assert said[0].startswith("Warning: on test patients of") == worse
        assert set(card["controls"]) >= {"standalone", "most_common"}
        assert [one["peer"] for one in card["taught"]] == [peer]
        out = ward / f"{name}-results"
        securefair("site", "export", ward / name, out, "--passphrase-file", ward / "passphrase")
        assert (out / "models" / name / "model.safetensors").read_bytes() == (
            results / "models" / name / "model.safetensors"
        ).read_bytes()
        left = {path.name for path in out.iterdir()}  # what leaves is in a table
        assert left == {one for one in FILES if not one.startswith(("validation.", "description."))}
        head = securefair("audit", "heads", ward / peer).split()[1]
        assert "whole" in securefair("audit", "verify", ward / name, "--head", head)


def test_a_report_tells_of_no_patient_and_the_terminal_says_where_it_is(finished):
    for name in ("north", "south"):
        page = finished / name / "results" / "report.html"
        assert f"report: {page}" in securefair("site", "status", finished / name).split("\n")
        rows = (finished / f"{name}.csv").read_text(encoding="utf-8").split("\n")[1:]
        canaries = [row.split(",")[2] for row in rows]
        assert len(set(canaries)) == 60
        for owner in ("north", "south"):
            for path in (finished / owner / "results").glob("*.*"):
                text = path.read_text(encoding="utf-8")
                assert not [canary for canary in canaries if canary[:-2] in text], path


def test_a_report_is_of_what_its_site_has_alone(finished, tmp_path):
    """South's table and folder are away: north's report comes out the same."""

    def exported(name):
        out, secret = tmp_path / name, ("--passphrase-file", finished / "passphrase")
        securefair("site", "export", finished / "north", out, *secret)
        return (out / "report.html").read_text(encoding="utf-8")

    page = exported("before")
    kept = [finished / "south", finished / "south.csv"]
    for path in kept:
        path.rename(tmp_path / path.name)
    try:
        assert exported("meanwhile") == page
    finally:
        for path in kept:
            (tmp_path / path.name).rename(path)
    assert "Away at the end" not in page
    assert "1 of 1 rounds are over" in page


def refuses(message, *arguments):
    said = securefair(*arguments, fails=True)
    assert message in said
    assert len(said.strip().splitlines()) == 1, said


def test_whatever_is_wrong_is_said_in_one_sentence(ward, tmp_path, monkeypatch):
    site, secret = ward / "north", ward / "passphrase"
    wrong = tmp_path / "wrong"
    wrong.touch(mode=0o600)
    wrong.write_text("battery staple", encoding="ascii")
    refuses("does not open", "site", "check", site, "--passphrase-file", wrong)
    wrong.chmod(0o644)
    refuses("other users", "site", "check", site, "--passphrase-file", wrong)
    with Store.open(site / "store"):
        refuses("has this store open", "site", "start", site, "--passphrase-file", secret)
    site.chmod(0o755)
    (site / "store").chmod(0o755)
    refuses("can enter this folder", "site", "start", site, "--passphrase-file", secret)
    (site / "store").chmod(0o700)
    site.chmod(0o700)
    refuses("no site in this folder", "site", "status", tmp_path)
    refuses("not empty", *init_arguments(ward, "north", site))
    refuses("none of the project's cards", *init_arguments(ward, "north", tmp_path / "n", "west"))
    signed = (ward / "heart.toml").read_text(encoding="utf-8")
    changed = tmp_path / "changed.toml"
    changed.write_text(signed.replace("max_samples = 60", "max_samples = 90"), encoding="utf-8")
    signature = (ward / "heart.north.signature").read_bytes()
    (tmp_path / "changed.north.signature").write_bytes(signature)
    refuses("was changed since", "project", "check", changed)
    stored = site / "project.toml"
    monkeypatch.setattr(time, "time", lambda: NOW() + 3 * 365 * 86_400)
    refuses("the project has ended", "site", "start", site, "--passphrase-file", secret)
    monkeypatch.undo()
    data = ward / "north.csv"
    moved = data.rename(ward / "elsewhere.csv")
    refuses("file of samples is missing", "site", "check", site, "--passphrase-file", secret)
    moved.rename(data)
    assert stored.exists()
    assert "data" in securefair("site", "check", site, "--passphrase-file", secret)


def test_an_unsigned_project_and_another_version_make_no_site(ward, tmp_path):
    cards = [part for name in ("north", "south") for part in ("--card", ward / f"{name}.card")]
    project = tmp_path / "new.toml"
    options = ("--max-samples", 60, "--settings", ward / "settings.toml", "--out", project)
    securefair("project", "new", "heart", *cards, *options)
    keys = ("--identity", ward / "north.keys", "--passphrase-file", ward / "passphrase")
    refuses(
        "not every site has signed",
        *("site", "init", tmp_path / "n", "--project", project, "--data", ward / "north.csv"),
        *keys,
    )
    text = project.read_text(encoding="utf-8")
    other = tmp_path / "other.toml"
    other.write_text(text.replace("protocol = ", "protocol = 9"), encoding="utf-8")
    refuses("a newer version of the protocol", "project", "sign", other, *keys)
    digest = text.split('agreement = "')[1][:64]
    other.write_text(text.replace(digest, "0" * 64), encoding="utf-8")
    refuses("plans the exchange differently", "project", "sign", other, *keys)


def test_an_expired_card_enters_no_project_and_a_door_needs_a_site(ward, tmp_path, monkeypatch):
    secret = ("--passphrase-file", ward / "passphrase")
    monkeypatch.setattr(time, "time", lambda: NOW() - 400 * 86_400)
    securefair("identity", "new", "old", "--out", tmp_path, "--days", 30, *secret)
    monkeypatch.undo()
    cards = ("--card", tmp_path / "old.card", "--card", ward / "north.card")
    options = ("--max-samples", 60, "--settings", ward / "settings.toml", "--out", tmp_path / "p")
    refuses("the card has expired", "project", "new", "heart", *cards, *options)
    project = tmp_path / "heart.toml"
    project.write_bytes((ward / "heart.toml").read_bytes())
    refuses("the card has expired", "project", "add", project, tmp_path / "old.card")
    assert project.read_bytes() == (ward / "heart.toml").read_bytes()
    refuses("no site in this folder", "flare", "harden", tmp_path, "--site", tmp_path / "none")


def test_a_model_is_rebuilt_without_a_peer(finished):
    secret = ("--passphrase-file", finished / "passphrase")
    out = finished / "without-south"
    securefair("refit", finished / "north", "--without", "south", "--out", out, *secret)
    model = out / "models" / "north"
    predicted = securefair("predict", model, finished / "south.csv")
    with_south = securefair(
        "predict", finished / "north" / "results" / "models" / "north", finished / "south.csv"
    )
    assert len(predicted.splitlines()) == 1 + 60
    assert predicted != with_south
    refuses(
        "nobody of that name",
        *("refit", finished / "north", "--without", "west", "--out", out, *secret),
    )


def test_a_hospital_goes_on_with_other_patients(finished, tmp_path):
    """After its exchange: what peers said is of a function, and holds for the new ones."""
    site, secret = tmp_path / "n", ("--passphrase-file", finished / "passphrase")
    shutil.copytree(finished / "north", site)
    first = (finished / "north.csv").read_text(encoding="utf-8")
    write_table(tmp_path / "many.csv", 7)
    many = (tmp_path / "many.csv").read_text(encoding="utf-8")
    few, back = tmp_path / "few.csv", tmp_path / "back.csv"
    few.write_text("\n".join([first, *many.split("\n")[1:8]]), encoding="utf-8")
    back.write_text("\n".join([*many.split("\n")[:56], *first.split("\n")[1:5]]), encoding="utf-8")
    apart = (*secret, "--test-data", finished / "south.csv")
    before = (site / "site.toml").read_bytes()
    refuses("too few patients changed", *renewing(site, few, secret))
    refuses("file of samples is missing", *renewing(site, tmp_path / "none.csv", secret))
    assert (site / "site.toml").read_bytes() == before
    model = site / "results" / "models" / "north"
    earlier = (model / "model.safetensors").read_bytes()
    assert "after round 1" in securefair(*renewing(site, tmp_path / "many.csv", apart))
    securefair("site", "start", site, *secret)
    assert (model / "model.safetensors").read_bytes() != earlier
    card = json.loads((model / "card.json").read_text())
    assert [one["peer"] for one in card["taught"]] == ["south"]
    assert "whole" in securefair("audit", "verify", site)
    told = json.loads(securefair("site", "status", site, "--json"))["peers"][0]["numbers"]
    [peer] = json.loads(securefair("site", "status", finished / "north", "--json"))["peers"]
    assert told == peer["numbers"] > 0
    refuses("too few patients changed", *renewing(site, back, apart))


def renewing(site, table, secret):
    return ("site", "renew", site, "--data", table, *secret)


def test_a_site_of_another_version_is_refused_before_it_is_touched(finished):
    site, secret = finished / "north", finished / "passphrase"
    assert securefair("site", "upgrade", site) == "The site is up to date.\n"
    with Store.open(site / "store") as store, store.transaction() as tx:
        known = tx.memory.get("site format")
        tx.memory.put("site format", b"99")
    before = {path: path.read_bytes() for path in site.rglob("*") if path.is_file()}
    for command in (("upgrade",), ("start", "--passphrase-file", secret)):
        refuses("newer version", "site", command[0], site, *command[1:])
    after = {path: path.read_bytes() for path in before}
    assert after == before
    with Store.open(site / "store") as store, store.transaction() as tx:
        tx.memory.put("site format", known)


def test_samples_that_were_changed_are_refused(finished):
    data = finished / "north.csv"
    kept = data.read_text(encoding="utf-8")
    lines = kept.splitlines()
    data.write_text("\n".join([*lines[:-1], "50,1,120,0"]), encoding="utf-8")
    secret = ("--passphrase-file", finished / "passphrase")
    refuses("not those that this site began with", "site", "start", finished / "north", *secret)
    data.write_text(kept, encoding="utf-8")


def test_a_site_leaves_and_is_erased(finished):
    site, secret = finished / "north", ("--passphrase-file", finished / "passphrase")
    said = securefair("site", "leave", site, "--seconds", 0, "--yes", *secret)
    assert "south: not reached" in said
    refuses("has left the project", "site", "start", site, *secret)
    note = json.loads(securefair("site", "erase", site, "--yes", "--json"))["note"]
    assert json.loads(Path(note).read_text(encoding="utf-8"))["site"] == "north"
    left = {path.name for path in site.iterdir()}
    assert left == {"site.toml", "project.toml", "securefair-site.service", "erased.json"}
    refuses("this site was erased", "site", "start", site, *secret)
