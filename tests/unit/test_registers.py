"""A name of a register is compared nowhere but in its own file and in the register.

What may exist several times (a release, a packing, a kind, a backend, a courier) is one file or
folder and a line of a register. Who compares its name elsewhere makes every new one a change of
that place, too.
"""

import ast
from pathlib import Path

import pytest

import securefair
from securefair.averaging.interface import AVERAGING
from securefair.circuit.packings import register as packings
from securefair.ckks.backends import BACKENDS
from securefair.collaboration import kinds
from securefair.releases import register as releases
from securefair.sites.couriers import register as couriers

PACKAGE = Path(securefair.__file__).parent

REGISTERS = {
    "packings": (packings.REGISTERED, "circuit/packings"),
    "releases": (releases.REGISTERED, "releases"),
    "kinds": (kinds.REGISTERED, "collaboration"),
    "averagings": (set(AVERAGING) - set(BACKENDS), "averaging"),
    "backends": (BACKENDS, "ckks/backends"),
    "couriers": (couriers.REGISTERED, "sites/couriers"),
}
"""Names, and the folder that may compare them."""


def constants(node):
    """String constants of a comparison: of its sides, or of what is looked into."""
    for each in ast.walk(node):
        if isinstance(each, ast.Constant) and isinstance(each.value, str):
            yield each.value


def compared(tree):
    """(line, name) of every string that something is compared with: `==`, `in`, `match`, and the
    keys of a literal that is looked into at once."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            for side in sides:
                if isinstance(side, ast.Constant | ast.Tuple | ast.List | ast.Set):
                    yield from ((node.lineno, name) for name in constants(side))
        elif isinstance(node, ast.MatchValue):
            yield from ((node.lineno, name) for name in constants(node))
        elif isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.value, ast.Dict):
            keys = [key for key in node.value.keys if key is not None]
            yield from ((node.lineno, name) for key in keys for name in constants(key))


def found(names, folder):
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE).as_posix()
        if not place.startswith(folder):
            tree = ast.parse(path.read_text("utf-8"))
            yield from (f"{place}:{line}: {name}" for line, name in compared(tree) if name in names)


@pytest.mark.parametrize("register", REGISTERS)
def test_names_are_compared_where_they_are_at_home_and_nowhere_else(register):
    names, folder = REGISTERS[register]
    assert list(found(set(names), folder)) == []


@pytest.mark.parametrize(
    "code",
    [
        'x == "loss"',
        '"loss" != x',
        'x in ("logits", "loss")',
        'match x:\n    case "loss": pass',
        'y = {"loss": 1}[x]',
        'y = {"loss": 1}.get(x)',
    ],
)
def test_comparisons_are_seen(code):
    assert "loss" in [name for _, name in compared(ast.parse(code))]


@pytest.mark.parametrize("code", ['f("loss")', 'x = "loss"', 'y = {"loss": 1}', 'z["loss"]'])
def test_what_is_no_comparison_is_not(code):
    assert list(compared(ast.parse(code))) == []
