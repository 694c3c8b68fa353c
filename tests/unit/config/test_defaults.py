"""A default of a key stands once: in `config.defaults` where several modules share it."""

import ast
from collections import defaultdict
from pathlib import Path

import pytest

from securefair.circuit.spec import ExchangeSpec
from securefair.config import defaults
from securefair.model.heads import build_head
from support.trees import nodes_of, tree_of

PACKAGE = Path(defaults.__file__).parents[1]
EXEMPT = ("records.py",)
"""What older records mean must not move."""
OTHER = {"unit": "line"}
"""What a key of this name means elsewhere: what numbers of lines count, not who is protected."""


def trees():
    for path in PACKAGE.rglob("*.py"):
        where = path.relative_to(PACKAGE).as_posix()
        if not where.startswith(EXEMPT):
            yield where, tree_of(path)


def value_of(node):
    """What a default is, and whether it is written out there; None for other expressions."""
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "Field":
        given = [one.value for one in node.keywords if one.arg == "default"]
        return value_of(given[0]) if given else None
    if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "defaults":
        return getattr(defaults, node.attr), False
    try:
        return ast.literal_eval(node), True
    except ValueError:
        pass
    if isinstance(node, ast.BinOp):  # 2.0**-10, 1 / 3
        numbers = [one for one in ast.walk(node) if isinstance(one, ast.Constant)]
        if all(isinstance(leaf, (*ARITHMETIC, ast.Constant)) for leaf in ast.walk(node)):
            assert all(isinstance(one.value, int | float) for one in numbers)
            return eval(compile(ast.Expression(node), "default", "eval"), {}), True
    return None


ARITHMETIC = (ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop)


def defaulted(tree):
    """Name and default of every argument and every annotated attribute of a class."""
    for node in nodes_of(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            given = [*node.args.posonlyargs, *node.args.args]
            yield from zip(reversed(given), reversed(node.args.defaults), strict=False)
            yield from zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
        elif isinstance(node, ast.ClassDef):
            for one in node.body:
                if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
                    yield ast.arg(arg=one.target.id, lineno=one.lineno), one.value


def repeated(modules):
    """Defaults of keys that are written out, and stand elsewhere as well: (key, value): places."""
    keys, places = set(), defaultdict(set)
    for where, tree in modules:
        for name, node in defaulted(tree):
            if where.startswith("config/"):
                keys.add(name.arg)
            found = None if node is None else value_of(node)
            if found is None or found[0] in (None, 0, 1, -1, "", ()):  # too common to mean a key
                continue
            value, literal = found
            if OTHER.get(name.arg) == value:
                continue
            place = f"{where}:{name.lineno}" if literal else "config/defaults.py"
            places[name.arg, repr(value)].add(place)
    return {which: sorted(at) for which, at in places.items() if which[0] in keys and len(at) > 1}


def test_no_default_of_a_key_is_written_twice():
    assert repeated(trees()) == {}


@pytest.mark.parametrize(
    "other",
    [
        "def plan(*, flooding_bits: int = 30): ...",
        "class Plan:\n    flooding_bits: int = 30",
        "class Plan:\n    flooding_bits: int = Field(default=2 * 15, ge=30)",
    ],
)
def test_the_search_would_find_a_second_place(other):
    first = "class Keys:\n    flooding_bits: int = Field(default=defaults.FLOODING_BITS)"
    modules = [("config/keys.py", ast.parse(first)), ("circuit/plan.py", ast.parse(other))]
    assert [key for key, _ in repeated(modules)] == ["flooding_bits"]


@pytest.mark.parametrize(("hidden", "features"), [(0, 3), (16, 3), (5, 40)])
def test_a_suitable_q_leaves_samples_and_head_undetermined(hidden, features):
    kind = "quadratic" if hidden else "linear"
    head = build_head(kind, features, hidden, 2, seed=0)
    for samples in (2, 9, 70, 900):
        spec = ExchangeSpec(features=features, classes=2, samples=samples, hidden=hidden)
        assert spec.parameters == head.parameter_count
        q = spec.suitable_q
        assert 1 <= q <= defaults.Q
        assert q * 2 <= head.parameter_count
        assert q <= samples / 2


def test_defaults_import_nothing_of_the_package():
    tree = ast.parse(Path(defaults.__file__).read_text("utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert [ast.unparse(node) for node in imports] == ["from typing import Final"]
