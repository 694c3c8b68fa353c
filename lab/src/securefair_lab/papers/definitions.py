"""What a definition of ours says and needs: its syntax without names, and what it refers to.

A definition is what stands at the top of a module under one name. Its text leaves out what decides
nothing: its own name and place, names of local variables, annotations, comments, docstrings, the
words of an error, and what another size of an experiment takes. What it refers to is told apart by
the definitions behind the names, not by the names.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

PACKAGES = ("securefair", "securefair_lab")
ERRORS = "securefair.errors"
STILL = (ERRORS, "securefair.report", "securefair.storage")
"""Of both packages, what words and keeps results, and computes none."""
SIZES = ("smoke", "cpu", "paper")
"""Of an experiment, as keys and in comparisons: `experiment.Size`."""


class Place(NamedTuple):
    """Where a definition stands; without a name: what a module does as it is loaded."""

    module: str
    name: str


class Whole(NamedTuple):
    """A module of ours under a name of another's, as in `measures.every`."""

    module: str


@dataclass(frozen=True)
class Definition:
    """A definition's syntax as text, in which `@n` is the n-th of `needs`.

    Attributes:
        sized: whether it is another one for another size of an experiment.
    """

    text: str
    needs: tuple[Place, ...]
    sized: bool


@dataclass(frozen=True)
class _Module:
    """The top of a module: its definitions, imported names, and what it does besides."""

    definitions: dict[str, list[ast.stmt]]
    imports: dict[str, tuple[str, str | None]]
    doing: list[ast.stmt]


def is_ours(module: str) -> bool:
    """Whether the module is of both packages, and may compute something."""
    inside = any(module == own or module.startswith(f"{own}.") for own in PACKAGES)
    return inside and not module.startswith(STILL)


def place_at(module: str, line: int) -> Place:
    """The definition that holds a line of a module."""
    for name, statements in _read(module).definitions.items():
        if any(_first(one) <= line <= (one.end_lineno or line) for one in statements):
            return Place(module, name)
    return Place(module, "")


def _first(statement: ast.stmt) -> int:
    """Its first line; a decorator stands before what it decorates."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(own.lineno for own in decorators)])


@cache
def definition(place: Place, size: str | None = None) -> Definition:
    """What stands at a place; of a compiled module its name alone: bytes differ by machine.

    Args:
        size: of an experiment: what only another size takes is left out. None: nothing is.
    """
    if size is not None:
        whole = definition(place)
        if not whole.sized:
            return whole
    found = _read(place.module)
    statements = found.definitions.get(place.name, []) if place.name else found.doing
    bare = _Bare(place, found, size)
    syntax = bare.visit(ast.Module(_copied(statements), []))
    text = "\n".join(ast.dump(one) for one in syntax.body)
    # A module that does something as it is loaded does it for all of its definitions.
    doing = [Place(place.module, "")] if place.name and found.doing else []
    return Definition(text, (*bare.needs, *doing), bare.sized)


def _copied(node: Any) -> Any:
    """Syntax that can be changed, without its lines: a fifth of the time of `deepcopy`."""
    if isinstance(node, list):
        return [_copied(one) for one in node]
    if not isinstance(node, ast.AST):
        return node
    return type(node)(**{name: _copied(value) for name, value in ast.iter_fields(node)})


def resolve(module: str, name: str) -> Place | Whole | None:
    """Where a name of a module of ours is defined, through modules that pass it on; None: not here.

    A package's door passes on the names of all its modules, of which most decide nothing here. What
    it loads on first use, it names for type checkers alone.
    """
    found = _read(module)
    if name in found.definitions:
        return Place(module, name)
    if name in found.imports:
        home, original = found.imports[name]
        if not is_ours(home):
            return None
        return Whole(home) if original is None else resolve(home, original)
    inside = f"{module}.{name}"
    return Whole(inside) if is_ours(inside) and _exists(inside) else None


@cache
def _exists(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


@cache
def _read(module: str) -> _Module:
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"there is no module {module}", name=module)
    path = Path(spec.origin)
    if path.suffix != ".py":
        return _Module({}, {}, [])
    tree = ast.parse(path.read_text(encoding="utf-8"))
    result = _Module({}, {}, [])
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                bound = alias.name if alias.asname else alias.name.partition(".")[0]
                result.imports[alias.asname or bound] = (bound, None)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                result.imports[alias.asname or alias.name] = (node.module, alias.name)
    for statement in tree.body:
        if isinstance(statement, ast.Import | ast.ImportFrom) or _is_word(statement):
            continue
        names = list(dict.fromkeys(_bound(statement)))
        for name in names:
            result.definitions.setdefault(name, []).append(statement)
        if not names:
            result.doing.append(statement)
    return result


def is_of_another(key: object, size: str | None) -> bool:
    """Whether a key names another size of an experiment than this, alone or beside others."""
    words = key if isinstance(key, tuple) else (key,)
    return size is not None and any(word in SIZES and word != size for word in words)


def _constant(node: ast.AST | None) -> object:
    """The value of a key that names a size, alone or beside others; None of any other."""
    if isinstance(node, ast.Tuple):
        return tuple(map(_constant, node.elts))
    return node.value if isinstance(node, ast.Constant) else None


def _names_a_size(key: object) -> bool:
    words = key if isinstance(key, tuple) else (key,)
    return any(word in SIZES for word in words)


def _is_word(node: ast.stmt) -> bool:
    """A docstring, or what only a type checker reads."""
    if isinstance(node, ast.If):
        return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _bound(node: ast.AST) -> Iterator[str]:
    """The names that a statement binds in its own scope."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
        return
    if isinstance(node, ast.Lambda):
        return
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    for child in ast.iter_child_nodes(node):
        yield from _bound(child)


Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


class _Bare(ast.NodeTransformer):
    """Takes words out, and puts numbers for names."""

    def __init__(self, place: Place, module: _Module, size: str | None) -> None:
        self.needs: list[Place] = []
        self.sized = False
        self._place, self._module, self._size = place, module, size
        self._scopes: list[dict[str, str]] = []

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        return None if _is_word(node) else self.generic_visit(node)

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.AST] | None:
        if _is_word(node):
            return None
        taken = self._taken(node.test)
        if taken is None:
            return self.generic_visit(node)
        return [
            own
            for one in (node.body if taken else node.orelse)
            for found in (self.visit(one),)
            for own in (found if isinstance(found, list) else [found])
            if own is not None
        ]

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        taken = self._taken(node.test)
        if taken is None:
            return self.generic_visit(node)
        one: ast.AST = self.visit(node.body if taken else node.orelse)
        return one

    def visit_Dict(self, node: ast.Dict) -> ast.AST:
        keys = [
            # Of `**{("cpu", name): ... for name in names}` the key is that of the other mapping.
            _constant(value.key if isinstance(value, ast.DictComp) and key is None else key)
            for key, value in zip(node.keys, node.values, strict=True)
        ]
        if len(keys) > 1 and all(map(_names_a_size, keys)):
            self.sized = True
            kept = [not is_of_another(key, self._size) for key in keys]
            node.keys = [key for key, own in zip(node.keys, kept, strict=True) if own]
            node.values = [value for value, own in zip(node.values, kept, strict=True) if own]
        return self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        node.cause = None
        if isinstance(node.exc, ast.Call):
            node.exc = node.exc.func
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        made = node.func.id if isinstance(node.func, ast.Name) else None
        if self._module.imports.get(made or "", ("", None))[0] == ERRORS:
            node.args, node.keywords = [], []
        return self.generic_visit(node)

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        node.msg = None
        return self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> None:
        """Names are told by what they stand for, where they are used."""

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """As `visit_Import`."""

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.annotation = ast.Constant(None)
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.name = self._shown(node.name)
        return self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.name, node.returns = self._shown(node.name), None
        return self._inside(node, node.body)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        node.name, node.returns = self._shown(node.name), None
        return self._inside(node, node.body)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return self._inside(node, [node.body])

    def _inside(self, node: Function, body: Sequence[ast.AST]) -> ast.AST:
        depth = len(self._scopes)
        local = dict.fromkeys(name for one in body for name in _bound(one))
        scope = {name: f"%{depth}.{number}" for number, name in enumerate(local)}
        given = node.args
        named = (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg)
        self._scopes.append(scope | {one.arg: one.arg for one in named if one is not None})
        result = self.generic_visit(node)
        self._scopes.pop()
        return result

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if isinstance(node.value, ast.Name) and not self._is_local(node.value.id):
            whole = resolve(self._place.module, node.value.id)
            place = resolve(whole.module, node.attr) if isinstance(whole, Whole) else None
            if isinstance(place, Place):
                return ast.Name(self._number(place), node.ctx)
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self._shown(node.id)
        return node

    def _shown(self, name: str) -> str:
        for scope in reversed(self._scopes):
            if name in scope:
                return scope[name]
        if not self._scopes and name == self._place.name:
            return "@"
        place = resolve(self._place.module, name)
        if isinstance(place, Place):
            return self._number(place)
        home, original = self._module.imports.get(name, (name, None))
        return home if original is None else f"{home}:{original}"

    def _taken(self, test: ast.expr) -> bool | None:
        """Whether `size == "cpu"` and the like is true of this size; None: it is not of sizes."""
        if not isinstance(test, ast.Compare) or len(test.ops) != 1:
            return None
        named = getattr(test.left, "id", getattr(test.left, "attr", None))
        other = _constant(test.comparators[0])
        if named != "size" or other not in SIZES:
            return None
        self.sized = True
        if self._size is None:
            return None
        match test.ops[0]:
            case ast.Eq():
                return other == self._size
            case ast.NotEq():
                return other != self._size
        return None

    def _is_local(self, name: str) -> bool:
        return any(name in scope for scope in self._scopes)

    def _number(self, place: Place) -> str:
        if place == self._place:
            return "@"
        if place not in self.needs:
            self.needs.append(place)
        return f"@{self.needs.index(place)}"
