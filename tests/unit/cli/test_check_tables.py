"""What `securefair check` shows of a plan."""

import json

import pytest


@pytest.mark.parametrize("backend", ["clear", "rns"])
def test_a_plan_that_is_not_followed_protects_nobody(invoke, tables, tmp_path, backend):
    assert invoke("new", "p", *tables).exit_code == 0
    settings = tmp_path / "p" / "config.toml"
    text = settings.read_text()
    assert '\nbackend = "rns"' in text
    settings.write_text(text.replace('\nbackend = "rns"', f'\nbackend = "{backend}"'))
    done = invoke("check", settings)
    assert done.exit_code == 0, done.output
    said, clear = " ".join(done.stdout.split()), backend == "clear"
    bits = json.loads(invoke("check", settings, "--json").stdout)["plan"]["security_bits"]
    assert (f"none (these parameters would have {bits} bits); ring degree" in said) == clear
    assert ("above all noise that tells of a model" in said) != clear
    assert ("samples, in the open (backend clear): " in said) == clear
    assert said.count("encrypts nothing") == clear


def test_bytes_are_said_to_be_without_frames(invoke, tables, tmp_path):
    """A run sends some bytes more than its forecast, which said that it was exact."""
    assert invoke("new", "p", *tables).exit_code == 0
    done = invoke("check", tmp_path / "p" / "config.toml")
    said = " ".join(done.stdout.split())
    assert "without frames of messages" in said
    assert "A question a frame of a few bytes" in said
