"""Syntax trees of the package, which several suites search: parsed and walked once a process."""

import ast
from functools import cache


@cache
def tree_of(path):
    return ast.parse(path.read_text("utf-8"))


@cache
def nodes_of(tree):
    """All nodes, in the order of `ast.walk`."""
    return tuple(ast.walk(tree))
