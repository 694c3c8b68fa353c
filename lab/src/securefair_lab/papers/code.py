"""Which code decides a result: the source of all modules behind it, as one digest."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache, partial
from hashlib import blake2b
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

PACKAGES = ("securefair.", "securefair_lab.")
LIBRARIES = ("numpy", "scikit-learn", "torch")
"""Whose versions may change results."""


@cache
def libraries() -> dict[str, str]:
    """The versions of those that compute; builds for a GPU are named apart by their device."""
    return {name: version(name).partition("+")[0] for name in LIBRARIES}


def code_behind(*things: object) -> str:
    """`code_of` the modules in which these objects, their classes or functions are written.

    What is written elsewhere, as a user's own algorithm, does not count.
    """
    modules = [_module_of(thing) for thing in things]
    return code_of(*sorted({name for name in modules if _is_ours(name)}))


def _module_of(thing: object) -> str:
    while isinstance(thing, partial):
        thing = thing.func
    named: str = thing.__module__
    return named


@cache
def code_of(*modules: str) -> str:
    """Digest of these modules and all of both packages that they import, directly or not.

    Comments, docstrings and layout do not count, and neither does what only a type checker imports.
    """
    found: dict[str, str] = {}
    left = list(modules)
    while left:
        name = left.pop()
        if name not in found:
            found[name], imported = _parsed(name)
            left += imported
    text = repr((sorted(found.items()), sorted(libraries().items())))
    return blake2b(text.encode(), digest_size=8).hexdigest()


@cache
def _parsed(module: str) -> tuple[str, tuple[str, ...]]:
    """A module's code without what does not count, and the modules of both packages it imports."""
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"there is no module {module}", name=module)
    path = Path(spec.origin)
    if path.suffix != ".py":
        return path.name, ()  # compiled: its bytes differ between machines
    tree = _Bare().visit(ast.parse(path.read_text(encoding="utf-8")))
    return ast.dump(tree), tuple(dict.fromkeys(_imports(tree)))


class _Bare(ast.NodeTransformer):
    """Takes docstrings and imports for type checkers out."""

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        return None if isinstance(node.value, ast.Constant) else node

    def visit_If(self, node: ast.If) -> ast.AST | None:
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return None
        return self.generic_visit(node)


def _imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if _is_ours(alias.name))
        elif isinstance(node, ast.ImportFrom) and node.module and _is_ours(node.module):
            yield from (_home(node.module, alias.name) for alias in node.names)


@cache
def _home(module: str, name: str) -> str:
    """The module where a name is written that another one may only pass on.

    A package's door passes on the names of all its modules, of which most decide nothing here. What
    it loads on first use, it names for type checkers alone.
    """
    spec = find_spec(module)
    if spec is None or spec.origin is None or spec.submodule_search_locations is None:
        return module
    for node in ast.walk(ast.parse(Path(spec.origin).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and _is_ours(node.module):
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    return _home(node.module, alias.name)
    inside = f"{module}.{name}"
    return inside if find_spec(inside) is not None else module


def _is_ours(module: str) -> bool:
    """Of both packages, but for their doors: these name everything and compute nothing."""
    return module.startswith(PACKAGES)
