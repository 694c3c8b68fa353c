"""`securefair project` on files that are there already."""

import json
import re

import pytest

from securefair.config.writing import plain_toml
from securefair.sites.project.identity import Identity

TABLE = "age,ill\n" + "".join(f"{30 + n % 37},{n % 2}\n" for n in range(40))


@pytest.fixture
def settings(tmp_path):
    """Cards and settings of a project of two sites."""
    import time

    for name in ("north", "south"):
        card = Identity.generate(name, now=time.time(), seconds=86_400).card
        (tmp_path / f"{name}.card").write_text(plain_toml({"card": card.table()}))
        (tmp_path / f"{name}.csv").write_text(TABLE)
    return ("--card", "north.card", "--card", "south.card", "--max-samples", 40)


def test_a_signed_project_is_not_replaced_unasked(invoke, settings, tmp_path):
    words = ("project", "new", "sepsis", *settings, "--features", 3, "--classes", 2)
    (tmp_path / "sepsis.toml").write_text("signed by three")
    done = invoke(*words, "--out", "sepsis.toml")
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "this file exists already" in done.stderr
    assert (tmp_path / "sepsis.toml").read_text() == "signed by three"
    assert invoke(*words, "--out", "sepsis.toml", "--force").exit_code == 0
    assert "what its name says" in invoke(*words, "--out", "north.card", "--force").stderr


def test_a_class_of_nobody_here_is_told(invoke, settings):
    words = ("project", "propose", "north.csv", "--label", "ill", "--out", "n.toml")
    said = invoke(*words, "--class", "0", "--class", "1", "--class", "2")
    assert "no patient here is of class 2" in said.stdout


def visits(heading):
    people = [f"P{at:03},{40 + at % 30},{'ab'[at % 2]},{at % 2}" for at in range(40)]
    return "\n".join([f"{heading},age,ward,ill", *people, *["P999,61,Huntington,0"] * 5]) + "\n"


@pytest.mark.parametrize(
    ("heading", "said"),
    [("patient_id", ()), ("label", ("--patient-column", "label"))],
)
def test_a_patient_of_five_visits_names_no_level(invoke, tmp_path, heading, said):
    (tmp_path / "own.csv").write_text(visits(heading))
    words = ("project", "propose", "own.csv", "--label", "ill", "--out", "p.toml", *said)
    done = invoke(*words)
    assert done.exit_code == 0, done.output
    text = (tmp_path / "p.toml").read_text()
    assert "Huntington" not in text
    assert "P999" not in text
    assert f"not told: {heading} (names the patients)" in done.stdout
    assert ("rows of one patient_id count as one patient" in done.stdout) == (not said)
    facts = json.loads(invoke(*words, "--force", "--json").stdout)
    assert facts["patient_column"] == heading


def test_a_patient_column_that_is_not_there_is_named(invoke, tmp_path):
    (tmp_path / "own.csv").write_text(visits("case"))
    words = ("project", "propose", "own.csv", "--label", "ill", "--out", "p.toml")
    refused = invoke(*words, "--patient-column", "who")
    assert (refused.exit_code, "not in the table" in refused.stderr) == (2, True)
    assert not (tmp_path / "p.toml").exists()


def test_cards_keys_and_edited_files_are_told_apart(invoke, settings, tmp_path):
    words = ("project", "new", "sepsis", *settings, "--features", 3, "--classes", 2)
    assert invoke(*words, "--out", "a.toml").exit_code == 0
    (tmp_path / "pw").write_text("secret")
    (tmp_path / "pw").chmod(0o600)
    sign = ("project", "sign", "a.toml", "--identity", "north.card", "--passphrase-file", "pw")
    assert "this is a card, and a signature needs the keys" in invoke(*sign).stderr
    for wrong, words in (("north.csv", "this is not a keystore"), ("none", "cannot be read")):
        said = invoke("project", "sign", "a.toml", "--identity", wrong).stderr  # no passphrase yet
        assert words in said
    assert "this is a site's card" in invoke("project", "check", "north.card").stderr
    (tmp_path / "north.keys").write_bytes(b"\xf8\x00")
    assert "these are private keys, no card" in invoke("identity", "show", "north.keys").stderr
    text = (tmp_path / "a.toml").read_text()
    (tmp_path / "a.toml").write_text(text.replace("max_samples = 40", "max_samples = 400"))
    assert "or the file was edited" in invoke("project", "check", "a.toml").stderr


def test_a_proposal_is_no_project(invoke, settings):
    invoke("project", "propose", "north.csv", "--label", "ill", "--out", "n.toml")
    said = invoke("project", "check", "n.toml").stderr
    assert "this is a proposal of one site, no project" in said
    words = ("project", "new", "sepsis", *settings, "--features", 3, "--classes", 2)
    invoke(*words, "--out", "a.toml")
    said = invoke("project", "check", "a.toml", "n.toml").stderr
    assert "this is a project file, no proposal" in said


def test_what_one_answer_tells_is_said_before_anybody_signs(invoke, settings):
    words = ("project", "new", "sepsis", *settings, "--features", 3, "--classes", 2)
    for said in (invoke(*words, "--out", "a.toml"), invoke("project", "check", "a.toml")):
        assert said.exit_code == 0, said.output
        assert "Before you sign: One answer determines a teacher's fit." in said.stdout
        assert "each teacher's fit, as if it had been sent" in said.stdout


@pytest.mark.parametrize("algorithm", ["transfer", "validation", "vpdl", "cycle"])
def test_that_nothing_is_encrypted_is_said_before_anybody_signs(
    invoke, settings, tmp_path, algorithm
):
    samples = "[distillation]\nq = 8\n" if algorithm in ("vpdl", "cycle") else ""
    (tmp_path / "s.toml").write_text(f'[encryption]\nbackend = "clear"\n{samples}')
    words = ("project", "new", "sepsis", *settings, "--features", 3, "--classes", 2)
    words += ("--settings", "s.toml", "--algorithm", algorithm, "--out", "a.toml")
    for said in (invoke(*words), invoke("project", "check", "a.toml")):
        assert said.exit_code == 0, said.output
        assert "; NOTHING IS ENCRYPTED (encryption.backend = clear), " in said.stdout
        assert "Before you sign: Backend clear encrypts nothing: every peer" in said.stdout
        assert "ring degree" not in said.stdout


def test_proposals_and_rules_replace_no_file_unasked(invoke, settings, tmp_path):
    words = ("project", "propose", "north.csv", "--label", "ill", "--out", "n.toml")
    assert invoke(*words).exit_code == 0
    before = (tmp_path / "n.toml").read_bytes()
    assert "exists already" in invoke(*words).stderr
    check = ("project", "check", "n.toml", "n.toml", "--out", "n.toml")
    assert "exists already" in invoke(*check).stderr
    assert (tmp_path / "n.toml").read_bytes() == before


@pytest.mark.parametrize(
    ("classes", "said"),
    [(["0,1"], "does not name a few classes"), (["0", "0,1"], "a code of the label is in two")],
)
def test_classes_that_are_none_are_refused(invoke, settings, classes, said):
    words = ("project", "propose", "north.csv", "--label", "ill", "--out", "n.toml")
    done = invoke(*words, *(part for one in classes for part in ("--class", one)))
    assert done.exit_code == 2
    assert said in done.stderr


def test_a_proposal_is_not_compared_with_itself(invoke, settings):
    invoke("project", "propose", "north.csv", "--label", "ill", "--out", "n.toml")
    assert "compared with itself" in invoke("project", "check", "n.toml", "n.toml").stderr


def test_settings_and_sizes_are_named(invoke, settings, tmp_path):
    words = ("project", "new", "sepsis", *settings, "--out", "a.toml")
    assert "found 'features 3, classes None'" in invoke(*words, "--features", 3).stderr
    assert "north.csv: the settings" in invoke(*words, "--settings", "north.csv").stderr
    assert invoke(*words, "--features", 3, "--classes", 2).exit_code == 0
    for command in ("run", "check"):
        assert "this is a project of sites" in invoke(command, "a.toml").stderr


def test_an_association_vouches_for_cards_so_that_few_are_telephoned(invoke, settings, tmp_path):
    (tmp_path / "pw").write_text("a secret one")
    (tmp_path / "pw").chmod(0o600)
    (tmp_path / "a").mkdir()
    secret = ("--passphrase-file", "pw")
    assert invoke("identity", "new", "association", "--out", "a", *secret).exit_code == 0
    vouch = ("identity", "vouch", "--identity", "a/association.keys", *secret)
    said = invoke(*vouch, "north.card", "--json")
    assert json.loads(said.stdout)["by"] == "association"
    words = ("project", "new", "sepsis", *settings, "--features", 3, "--classes", 2)
    invoke(*words, "--out", "s.toml")
    check = ("project", "check", "s.toml", "--vouched", "a/association.card")
    done = invoke(*check)
    assert (done.exit_code, "by telephone: south" in done.stdout) == (1, True)
    assert "association vouches for 1 of 2 cards" in done.stdout
    assert json.loads(invoke(*check, "--json").stdout)["not_vouched"] == ["south"]
    invoke(*vouch, "south.card")
    assert invoke(*check).exit_code == 0
    said = invoke("identity", "vouch", "north.card", "--identity", "a/association.card", *secret)
    assert (said.exit_code, "and a signature needs the keys" in said.stderr) == (2, True)


def test_a_project_that_could_never_run_is_refused_before_anybody_signs(invoke, settings, tmp_path):
    words = ("project", "new", "sepsis", *settings)
    sizes = ("--features", 3, "--classes", 2)
    done = invoke(*words, *sizes, "--min-peers", 2, "--out", "a.toml")
    assert (done.exit_code, "at most 1, of 2 sites" in done.stderr) == (2, True)
    assert invoke(*words, *sizes, "--min-peers", 1, "--out", "b.toml").exit_code == 0
    for name in ("student_total", "teacher_total"):
        (tmp_path / "s.toml").write_text(f"[disclosure]\n{name} = 1\n")
        done = invoke(*words, *sizes, "--settings", "s.toml", "--out", "a.toml")
        assert (done.exit_code, "no teacher would ever answer" in done.stderr) == (2, True)
        assert f"disclosure.{name}" in done.stderr
    assert not (tmp_path / "a.toml").exists()


def test_a_founder_hears_that_nobody_would_ever_be_answered(invoke, settings, tmp_path):
    """Each site was warned before its start, by a sentence that the founder never saw."""
    words = ("project", "new", "sepsis", *settings[:-1], 100, "--algorithm", "vpdl")
    words += ("--features", 3, "--classes", 2)
    done = invoke(*words, "--out", "a.toml")
    said = "Before you sign: No teacher would ever answer north, south: an answer holds 128 numbers"
    assert said in done.stdout
    permitted = re.search(r"permits (\d+)\. Lower distillation\.q to (\d+), or raise", done.stdout)
    assert permitted is not None
    for q, silent in ((int(permitted[2]), True), (int(permitted[2]) + 1, False)):
        (tmp_path / "s.toml").write_text(f"[distillation]\nq = {q}\n")
        done = invoke(*words, "--settings", "s.toml", "--out", f"{q}.toml")
        assert (done.exit_code, "ever answer" not in done.stdout) == (0, silent)


def test_sizes_beside_a_table_are_refused(invoke, settings, tmp_path):
    for name in ("north", "south"):
        out = f"{name}.proposal.toml"
        assert invoke("project", "propose", f"{name}.csv", "--label", "ill", "--out", out)
    cards = ("--share", ".", "--max-samples", 40, "--out", "a.toml")
    done = invoke("project", "new", "sepsis", *cards, "--features", 7)
    assert (done.exit_code, "the rules of the table say" in done.stderr) == (2, True)
    assert not (tmp_path / "a.toml").exists()
    assert invoke("project", "new", "sepsis", *cards).exit_code == 0


def test_a_table_of_few_patients_has_a_proposal(invoke, tmp_path):
    rows = "".join(f"{20.5 + n},{n % 2}\n" for n in range(12))
    (tmp_path / "few.csv").write_text("crp,ill\n" + rows)
    done = invoke("project", "propose", "few.csv", "--label", "ill", "--out", "few.toml")
    assert done.exit_code == 0, done.output
    assert "low" in (tmp_path / "few.toml").read_text()


def test_nothing_is_signed_where_the_share_is_not_there(invoke, tmp_path):
    (tmp_path / "pw").write_text("correct horse\n")
    (tmp_path / "pw").chmod(0o600)
    secret = ("--passphrase-file", "pw")
    for name in ("north", "south"):
        (tmp_path / f"{name}.csv").write_text(TABLE)
        assert invoke("identity", "new", name, *secret).exit_code == 0
        out = f"{name}.proposal.toml"
        assert invoke("project", "propose", f"{name}.csv", "--label", "ill", "--out", out)
    assert invoke("project", "new", "p", "--share", ".", "--max-samples", 40).exit_code == 0
    named = ("--project", "p.toml", "--identity", "north.keys", "--data", "north.csv")
    done = invoke("site", "join", "n", *named, "--shared-folder", "gone", "--yes", *secret)
    assert done.exit_code != 0
    assert "the shared folder is not there" in done.stderr
    assert not list(tmp_path.glob("*.signature"))


def proposals(invoke, tmp_path, *names):
    (tmp_path / "share").mkdir()
    for name in ("north", "south"):
        (tmp_path / f"{name}.card").rename(tmp_path / "share" / f"{name}.card")
    for name in names:
        out = f"share/{name}.proposal.toml"
        assert not invoke(
            "project", "propose", f"{name}.csv", "--label", "ill", "--out", out
        ).stderr
    return ("project", "new", "sepsis", "--share", "share", "--max-samples", 40)


def test_the_class_that_must_not_be_missed_is_named_in_the_command(invoke, settings, tmp_path):
    words = proposals(invoke, tmp_path, "north", "south")
    done = invoke(*words, "--positive", "0")
    assert done.exit_code == 0, done.output
    assert "Sensitivity is of class 0" in done.stdout
    assert 'positive = "0"' in (tmp_path / "share" / "sepsis.toml").read_text()
    refused = invoke(*words, "--positive", "ill", "--force")
    assert (refused.exit_code, "no class has this code" in refused.stderr) == (2, True)
    (tmp_path / "s.toml").write_text('[table]\npositive = "0"\n')
    part = invoke(*words, "--settings", "s.toml", "--force")
    assert "is no part of one" in part.stderr
    assert "--positive names the class" in part.stderr


def test_a_card_without_a_proposal_is_named(invoke, settings, tmp_path):
    said = invoke(*proposals(invoke, tmp_path, "north")).stdout
    assert "NO PROPOSAL of south" in said


def test_nothing_is_made_in_the_place_of_a_share(invoke, settings, tmp_path):
    words = ("project", "propose", "north.csv", "--label", "ill", "--out", "share/n.toml")
    done = invoke(*words)
    assert (done.exit_code, (tmp_path / "share").exists()) == (2, False)
    assert "Mount the share" in done.stderr
    done = invoke("project", "new", "sepsis", "--share", "share", "--max-samples", 40)
    assert "the shared folder is not there" in done.stderr


def test_a_proposal_says_which_text_may_be_a_code_and_leaves_columns_out(invoke, tmp_path):
    rows = (f"{'NC' if n % 4 == 0 else f'{n},5'};{900 + n};{n % 2}\n" for n in range(60))
    (tmp_path / "t.csv").write_text("crp;cost;ill\n" + "".join(rows))
    words = ("project", "propose", "t.csv", "--label", "ill", "--out", "t.toml", "--force")
    assert 'crp: "NC" stands among numbers' in invoke(*words).stdout
    done = invoke(*words, "--missing", "NC", "--drop", "cost")
    assert (done.exit_code, "NC" in done.stdout) == (0, False), done.output
    told = (tmp_path / "t.toml").read_text()
    assert ("low = 0.0" in told, "cost" in told, '"NC"' in told) == (True, False, True)
    assert "the table has no such column" in invoke(*words, "--drop", "costs").stderr
    assert "cannot be left out" in invoke(*words, "--drop", "ill").stderr
