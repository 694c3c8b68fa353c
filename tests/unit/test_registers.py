"""A name of a register is compared nowhere but in its own file and in the register.

What may exist several times (a release, a packing, an outcome, a kind, a backend, a courier) is one
file or folder and a line of a register. Who compares its name elsewhere makes every new one a
change of that place, too.
"""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

import securefair
from securefair.averaging.interface import AVERAGING
from securefair.circuit.packings import register as packings
from securefair.ckks.backends import BACKENDS
from securefair.collaboration import kinds
from securefair.config import check_settings, defaults, demo_config, override
from securefair.config.describing import expectation
from securefair.errors import ConfigError
from securefair.model.outcomes import register as outcomes
from securefair.model.transfer.sums import register as sums
from securefair.releases import register as releases
from securefair.sites.couriers import register as couriers
from support.trees import nodes_of, tree_of

PACKAGE = Path(securefair.__file__).parent

REGISTERS = {
    "outcomes": (outcomes.REGISTERED, "model/outcomes"),
    "packings": (packings.REGISTERED, "circuit/packings"),
    "releases": (releases.REGISTERED, "releases"),
    "kinds": (kinds.REGISTERED, "collaboration"),
    "averagings": (AVERAGING, ("averaging", "ckks/backends")),  # both have a "clear"
    "backends": (BACKENDS, ("ckks/backends", "averaging")),
    "sums": (sums.REGISTERED, "model/transfer/sums"),
    "couriers": (couriers.REGISTERED, "sites/couriers"),
}
"""Names, and the folders that may compare them."""


def constants(node):
    """String constants of a comparison: of its sides, or of what is looked into."""
    for each in ast.walk(node):
        if isinstance(each, ast.Constant) and isinstance(each.value, str):
            yield each.value


LITERAL = ast.Constant | ast.Tuple | ast.List | ast.Set


def defined(tree):
    """{name: string constants} of a module's `NAME = "..."`, with or without an annotation."""
    found = {}
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, LITERAL):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                names = target.elts if isinstance(target, ast.Tuple) else [target]
                for name in names:
                    if isinstance(name, ast.Name):
                        found[name.id] = set(constants(node.value))
    return found


@cache
def defined_in(place):
    return defined(tree_of(PACKAGE / place))


def imported(tree):
    """{name: string constants} of what a module takes from other modules of the package."""
    found = {}
    for node in nodes_of(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("securefair"):
            for alias in node.names:
                path = node.module.replace(".", "/").removeprefix("securefair").lstrip("/")
                known = alias.asname or alias.name
                for place in (f"{path}.py", f"{path}/__init__.py"):
                    if (PACKAGE / place).is_file():
                        there = defined_in(place)
                        if alias.name in there:
                            found[known] = there[alias.name]
                module = PACKAGE / path / f"{alias.name}.py"
                if module.is_file():
                    there = defined_in(module.relative_to(PACKAGE).as_posix())
                    found |= {f"{known}.{name}": each for name, each in there.items()}
    return found


def compared(tree):
    """(line, name) of every string that something is compared with: `==`, `in`, `match`, and the
    keys of a literal that is looked into at once. A module's constants are the strings they are."""
    named = imported(tree) | defined(tree)
    for node in nodes_of(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            for side in sides:
                if isinstance(side, ast.Name | ast.Attribute):
                    yield from ((node.lineno, each) for each in named.get(ast.unparse(side), ()))
                if isinstance(side, LITERAL):
                    yield from ((node.lineno, name) for name in constants(side))
        elif isinstance(node, ast.MatchValue):
            yield from ((node.lineno, name) for name in constants(node))
        elif isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.value, ast.Dict):
            keys = [key for key in node.value.keys if key is not None]
            yield from ((node.lineno, name) for key in keys for name in constants(key))


@cache
def compared_everywhere():
    """{module: what `compared` finds}; every register looks for its names in it."""
    return {
        path.relative_to(PACKAGE).as_posix(): list(compared(tree_of(path)))
        for path in sorted(PACKAGE.rglob("*.py"))
    }


def found(names, folder):
    for place, seen in compared_everywhere().items():
        if not place.startswith(folder):
            yield from (f"{place}:{line}: {name}" for line, name in seen if name in names)


@pytest.mark.parametrize("register", REGISTERS)
def test_names_are_compared_where_they_are_at_home_and_nowhere_else(register):
    names, folder = REGISTERS[register]
    assert list(found(set(names), folder)) == []


CHOICES = {
    "releases": ("distillation.release", releases.REGISTERED),
    "averagings": ("gossip.averaging", AVERAGING),
    "backends": ("encryption.backend", BACKENDS),
    "sums": ("transfer.sums", sums.REGISTERED),
}


def test_what_a_configuration_takes_is_what_can_be_exchanged():
    accepted = expectation(("distillation", "release"))
    assert re.findall('"([^"]+)"', accepted) == list(releases.exchanged_releases())


@pytest.mark.parametrize("what", CHOICES)
def test_a_configuration_takes_what_is_added_to_a_register(what, monkeypatch):
    key, register = CHOICES[what]
    with pytest.raises(ConfigError, match=f"{key}.*not one of those allowed"):
        override(demo_config(), {key: "another"})
    monkeypatch.setitem(register, "another", "another:ANOTHER")
    section, _, name = key.partition(".")
    assert getattr(getattr(override(demo_config(), {key: "another"}), section), name) == "another"
    plain = {"run": {"name": "x"}, "data": {"source": "heart"}}
    for of_another_type in (1, None, ["another"]):
        with pytest.raises(ConfigError, match="not one of those allowed"):
            check_settings(plain | {section: {name: of_another_type}}, source="test")


@pytest.mark.parametrize(
    "code",
    [
        'x == "loss"',
        'LOSS = "loss"\nx == LOSS',
        'SEEN: Final = ("logits", "loss")\nx in SEEN',
        '"loss" != x',
        'x in ("logits", "loss")',
        'match x:\n    case "loss": pass',
        'y = {"loss": 1}[x]',
        'y = {"loss": 1}.get(x)',
    ],
)
def test_comparisons_are_seen(code):
    assert "loss" in [name for _, name in compared(ast.parse(code))]


@pytest.mark.parametrize(
    "code",
    [
        "from securefair.config.defaults import RELEASE\nx == RELEASE",
        "from securefair.config import defaults\nx == defaults.RELEASE",
    ],
)
def test_comparisons_with_what_another_module_names_are_seen(code):
    assert defaults.RELEASE in [name for _, name in compared(ast.parse(code))]


@pytest.mark.parametrize("code", ['f("loss")', 'x = "loss"', 'y = {"loss": 1}', 'z["loss"]'])
def test_what_is_no_comparison_is_not(code):
    assert list(compared(ast.parse(code))) == []
