"""What a folder, a name or a log could do to whoever looks at it.

Adversary: whoever made a folder that somebody else checks or resumes; a peer or a file that brings
a name; whoever reads logs; whoever knows a public seed.
Protected: the account of the person who looks, the terminal, patients, first weights.
"""

import ast
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import securefair
from securefair.cli import app
from securefair.data.dataset import ParticipantData, Samples
from securefair.errors import DataError, SecureFairError, printable
from securefair.model.heads import build_head
from securefair.model.seeds import derive_seed
from securefair.sites.site.starting import weights_seed
from securefair.storage import Secret

HOSTILE = """
from pathlib import Path
Path(__file__).with_name("was-here").touch()
def load(seed):
    raise RuntimeError("ran")
"""
CONFIG = '[run]\nname = "x"\n[data]\nsource = "python"\nentry = "loader:load"\n'
SOURCES = sorted(Path(securefair.__file__).parent.rglob("*.py"))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "loader.py").write_text(HOSTILE)
    (tmp_path / "config.toml").write_text(CONFIG)
    unfinished = tmp_path / "results" / "unfinished"
    unfinished.mkdir(parents=True)
    (unfinished / "config.toml").write_text(CONFIG)
    (unfinished / "loader.py").write_text(HOSTILE)
    return tmp_path


@pytest.mark.parametrize(("command", "at"), [("check", "config.toml"), ("resume", "results")])
def test_looking_at_a_folder_runs_none_of_its_code(folder, command, at):
    result = CliRunner().invoke(app, [command, str(folder / at)])
    assert result.exit_code == 2
    assert "--trust" in result.output
    assert not list(folder.rglob("was-here"))


def test_with_trust_it_runs_as_it_did_before_without(folder):
    """What the former commands did: the file that the code made is there."""
    result = CliRunner().invoke(app, ["check", str(folder / "config.toml"), "--trust"])
    assert result.exit_code == 2
    assert "loader" in result.output
    assert list(folder.rglob("was-here"))


def test_patients_do_not_print():
    canary = 0.123456789
    samples = Samples(np.full((3, 2), canary), np.zeros(3, dtype=np.int64), 2)
    own = ParticipantData("ann", samples, samples)
    for text in (repr(samples), str(own), f"{[own]}", repr({"a": own})):
        assert "0.1234" not in text
        assert "3 of 2 features" in text
    former = f"Samples(features={samples.features!r})"  # of a dataclass
    assert "0.1234" in former


NAMES = {
    "clears the screen": "ann\x1b[2J",
    "rings": "ann\x07",
    "turns the direction": "ann\u202eexe.txt",
    "starts a line": "ann\rbob",
    "the other way to write an escape": "ann\x9b2J",
}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_names_cannot_steer_a_terminal(name):
    samples = Samples(np.zeros((3, 2)), np.zeros(3, dtype=np.int64), 2)
    with pytest.raises(DataError) as refused:
        ParticipantData(name, samples, samples)
    for text in (str(refused.value), str(SecureFairError("bad", where=name, hint=name))):
        assert printable(text) == text
        assert not any(character in text for character in "\x1b\x07\u202e\r\x9b")
    assert any(character in f"bad: {name}" for character in "\x1b\x07\u202e\r\x9b")


def test_texts_of_people_stay_as_they_are():
    text = "Universitätsspital Zürich, 北京医院, Ελλάδα\n\tline 2"
    assert printable(text) == text


def test_no_unpickling_anywhere():
    """Neither by its own name nor by torch's or numpy's."""
    found = []
    for path in SOURCES:
        text = path.read_text("utf-8")
        if not any(word in text for word in ("pickle", "shelve", "dill", ".load")):
            continue  # parsing takes longest
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [alias.name for alias in node.names] + [getattr(node, "module", "") or ""]
                found += [(path.name, n) for n in names if n in ("pickle", "shelve", "dill")]
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "pickle":
                found.append((path.name, f"pickle.{node.attr}"))
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "load":
                called = ast.unparse(node.func)
                # Of weights alone torch builds tensors, and calls nothing that a file names.
                weights = called == "torch.load" and "weights_only=True" in ast.unparse(node)
                if called in ("torch.load", "joblib.load") and not weights:
                    found.append((path.name, called))
                if called == "np.load" and "allow_pickle=False" not in ast.unparse(node):
                    found.append((path.name, called))
    only_asks = {  # whether a run could be sent to a process of its own
        ("processes.py", "pickle"),
        ("processes.py", "pickle.dumps"),
        ("processes.py", "pickle.PicklingError"),
    }
    assert set(found) == only_asks


def test_first_weights_are_foretold_from_a_public_seed_and_from_no_private_one():

    def first(seed):
        model = build_head("linear", 3, 0, 2, derive_seed(seed, "head", "ann"))
        return model.output_weights.detach().numpy()

    assert (first(0) == first(0)).all()  # anybody can compute them
    drawn = [first(weights_seed(Secret.random(32))) for _ in range(3)]  # as a site does, once
    assert not any((drawn[0] == other).all() for other in drawn[1:])
