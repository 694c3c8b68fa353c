"""Options of an exchange are written once, with the words of a configuration's keys."""

import inspect

import pytest
from typer.testing import CliRunner

from securefair.circuit.spec import ExchangeSpec
from securefair.cli import app
from securefair.config import RunConfig
from securefair.profiling import options
from securefair.profiling.head_command import head
from securefair.profiling.plan_command import plan


@pytest.mark.parametrize("command", [plan, head])
def test_a_command_that_asks_for_a_spec_has_its_options_first(command):
    asked = list(inspect.signature(options.spec_of).parameters)
    assert list(inspect.signature(command).parameters)[: len(asked)] == asked
    assert set(asked) - {"feature_norm"} <= set(ExchangeSpec.__struct_fields__)


def test_the_spec_is_that_of_the_options():
    seen = []

    @options.asking_for_spec
    def command(spec, more: int = 3):
        seen.append((spec, more))

    given = {name: one.default for name, one in inspect.signature(command).parameters.items()}
    command(**given | {"features": 7, "q": 5, "more": 4})
    assert [(spec.features, spec.q, more) for spec, more in seen] == [(7, 5, 4)]


def test_help_says_what_the_configuration_says():
    text = " ".join(CliRunner().invoke(app, ["plan", "--help"]).output.replace("│", " ").split())
    for section, key in (("encryption", "flooding_bits"), ("distillation", "release")):
        field = RunConfig.model_fields[section].annotation.model_fields[key]
        assert field.description in text
    assert '"loss", "class_sums", "projection" or "logits"' in text
    assert "default: 64" in text
