"""The laboratory goes through the doors of rooms: a package's `__init__`, or a public module."""

import ast
from pathlib import Path

import securefair

LAB = Path(__file__).parents[1] / "src"
PACKAGE = Path(securefair.__file__).parents[1]
PUBLIC = {
    "securefair.errors",
    "securefair.records",
    "securefair.config.defaults",
    "securefair.profiling.options",  # the options that commands share
}
"""Modules that are doors themselves."""

INSIDE = {
    "securefair.averaging.gathering": "bytes of a message",
    "securefair.averaging.shares": "bytes of a message",
    "securefair.circuit.answer": "a function of its module's name",
    "securefair.ckks.backends.kernels": "threads that are measured with",
    "securefair.exchange.steps": "steps that are timed one by one",
    "securefair.model.networks.fold": "a function of its module's name",
    "securefair.model.stacked_training": "a name that a module has as well",
    "securefair.profiling.dry_exchange": "a function of its module's name",
    "securefair.profiling.estimate": "a function of its module's name",
    "securefair.protocol.jobs": "jobs that are timed one by one",
    "securefair.worth.tuned": "a name that another score has",
}
"""What the laboratory takes from inside a room, and why. Never longer than today."""


def path_of(module):
    return PACKAGE.joinpath(*module.split("."))


def taken(tree):
    """Modules of the package that a module of the laboratory imports names from."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            inside = [f"{node.module}.{one.name}" for one in node.names]
            modules = [name for name in inside if path_of(name).with_suffix(".py").exists()]
            yield from modules or [node.module]


def test_only_doors_are_used():
    found = {
        name
        for file in LAB.rglob("*.py")
        for name in taken(ast.parse(file.read_text("utf-8")))
        if f"{name}.".startswith("securefair.") and not path_of(name).is_dir()
    }
    assert found - PUBLIC == set(INSIDE)


def test_the_search_would_find_one():
    code = (
        "from securefair.data import split\nfrom securefair.model import Clip\nimport securefair\n"
    )
    assert list(taken(ast.parse(code))) == [
        "securefair.data.split",
        "securefair.model",
        "securefair",
    ]
