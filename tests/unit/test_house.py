"""What keeps the house in order: kinds in their folders, few rooms, few layers."""

import ast
import builtins
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

from securefair.collaboration.kinds import REGISTERED, kind_of
from support.trees import nodes_of, tree_of

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "securefair"
ROOMS, LAYERS = 22, 11
LINES = 400
FOLDERS = sorted({where.split(".")[2] for where in REGISTERED.values()})
AT_HOME = ("collaboration/kinds.py",)
"""Where names of algorithms may be compared, besides the folder of each kind."""


def compared_texts(tree):
    """Texts that the code compares with, looks up among, or matches; and on which line."""
    for node in nodes_of(tree):
        if isinstance(node, ast.Compare):
            parts = [node.left, *node.comparators]
        elif isinstance(node, ast.MatchValue):
            parts = [node.value]
        else:
            continue
        for part in parts:
            for inner in ast.walk(part):
                if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
                    yield node.lineno, inner.value


def homes_of(name):
    module = REGISTERED[name].partition(":")[0]
    return (*AT_HOME, "/".join(module.split(".")[1:-1]))


@cache
def compared_everywhere():
    """Places of modules that hold a name of an algorithm, with the texts that they compare with."""
    names = re.compile(f"[\"']({'|'.join(map(re.escape, REGISTERED))})[\"']")
    paths = [path for path in PACKAGE.rglob("*.py") if names.search(path.read_text("utf-8"))]
    return {
        path.relative_to(PACKAGE).as_posix(): tuple(compared_texts(tree_of(path))) for path in paths
    }


@pytest.mark.parametrize("name", sorted(REGISTERED))
def test_no_algorithm_is_compared_outside_its_kind(name):
    found = [
        f"{where}:{line}"
        for where, texts in compared_everywhere().items()
        for line, text in texts
        if text == name and not where.startswith(homes_of(name))
    ]
    assert found == []


OTHERWISE = {
    "config/run.py": "the default",
    "worth/early_stopping.py": "a draw",
}
"""Where a name of an algorithm stands as a text, which is no reason to compare it."""

MEASURING = ("pricing", "transfer_prices")
"""Modules of `profiling` that price one kind; `__init__` hands its public names out."""


def constant_texts(tree):
    """Texts that stand by themselves: keys, arguments and constants as well as what is compared."""
    for node in nodes_of(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def test_no_algorithm_is_named_outside_its_kind_in_any_other_way():
    """Not by a constant, as a key, or in `startswith`."""
    found = {
        where
        for where in compared_everywhere()
        for _, text in constant_texts(tree_of(PACKAGE / where))
        if text in REGISTERED and not where.startswith(homes_of(text))
    }
    assert found == set(OTHERWISE)


def imported_modules(tree):
    for node in nodes_of(tree):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (one.name for one in node.names)


def test_no_folder_of_a_kind_is_imported_but_where_that_kind_is_measured():
    """So that nothing tells kinds apart by their types."""
    start = tuple(f"securefair.collaboration.{folder}" for folder in FOLDERS)
    own = tuple(f"collaboration/{folder}/" for folder in FOLDERS)
    found = {
        where
        for path in PACKAGE.rglob("*.py")
        if "securefair.collaboration." in path.read_text("utf-8")
        for where in [path.relative_to(PACKAGE).as_posix()]
        if not where.startswith(own)
        and any(
            f"{name}.".startswith(f"{one}.")
            for name in imported_modules(tree_of(path))
            for one in start
        )
    }
    assert found == {f"profiling/{name}.py" for name in MEASURING}


def test_the_search_would_find_a_comparison():
    code = 'if a == "x" or b in ("y", "z"):\n    pass\nmatch c:\n    case "w":\n        pass\n'
    assert {text for _, text in compared_texts(ast.parse(code))} == {"x", "y", "z", "w"}
    code = 'X = "x"\nd["y"], {"z": 1}, a.startswith("w")\n'
    assert {text for _, text in constant_texts(ast.parse(code))} == {"x", "y", "z", "w"}


def test_every_kind_is_a_folder_of_collaboration():
    for name in REGISTERED:
        module = type(kind_of(name)).__module__
        assert re.fullmatch(r"securefair\.collaboration\.\w+\.kind", module)


def test_nothing_lies_loose():
    loose = {path.name for path in PACKAGE.iterdir() if path.is_file()}
    modules = {"__init__.py", "__main__.py", "errors.py", "records.py"}
    assert loose <= {*modules, "py.typed"}


def test_no_module_is_long():
    found = {
        path.relative_to(PACKAGE).as_posix(): lines
        for path in PACKAGE.rglob("*.py")
        if (lines := len(path.read_text("utf-8").splitlines())) > LINES
    }
    assert found == {}


def rooms():
    return {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}


def layers():
    with (ROOT / "pyproject.toml").open("rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    (found,) = [one for one in contracts if one.get("containers") == ["securefair"]]
    assert found["exhaustive"]
    return [layer for layer in found["layers"] if layer != "__main__"]  # which only calls cli


def test_rooms_and_layers_are_few_and_every_room_has_a_layer():
    assert len(rooms()) <= ROOMS
    assert len(layers()) <= LAYERS
    placed = [room for layer in layers() for room in layer.split(" | ")]
    assert set(placed) == rooms() | {"records", "errors"}
    assert len(set(placed)) == len(placed)


@pytest.mark.parametrize("page", ["docs/decisions/0001-layered-tree.md", "README.md"])
def test_pages_list_the_layers_that_are_enforced(page):
    text = (ROOT / page).read_text("utf-8")
    block = "\n".join(f"    {layer}" for layer in layers())
    inline = " → ".join(f"`{layer}`" for layer in layers())
    assert block in text or inline in " ".join(text.split())


def test_no_algorithm_is_named_where_sites_are():
    """A new kind of collaboration runs on sites without a word about it there."""
    found = []
    for path in (PACKAGE / "sites").rglob("*.py"):
        for node in nodes_of(tree_of(path)):
            if isinstance(node, ast.Constant) and node.value in REGISTERED:
                found.append(f"{path.name}:{node.lineno} {node.value}")
            module = getattr(node, "module", None) or ""
            if module.removeprefix("securefair.").startswith(
                tuple(f"collaboration.{folder}" for folder in FOLDERS)
            ):
                found.append(f"{path.name}:{node.lineno} {module}")
    assert found == []


BUILTINS = {name for name in dir(builtins) if name.endswith(("Error", "Exception", "Warning"))}
BUILTINS |= {"KeyboardInterrupt", "StopIteration", "SystemExit"}
NO_LIBRARY_ERROR = {
    # What Python or scikit-learn ask for by name.
    "errors.py": {"AttributeError"},
    "ckks/backends/residues_native.py": {"ImportError"},
    "prediction/estimator.py": {"ValueError"},
    "prediction/estimator_input.py": {"ValueError"},
    "prediction/transfer_estimator.py": {"AttributeError"},
    "sites/site/hosting.py": {"KeyError"},
    "sites/site/stopping.py": {"KeyboardInterrupt"},
    # The other end of a pipe or a connection is gone: caught where it was opened.
    "averaging/crypten_parties.py": {"EOFError"},
    "ckks/backends/openfhe_child/__main__.py": {"EOFError"},
    "ckks/backends/openfhe_child/frames.py": {"ValueError"},
    "ckks/backends/zero_pool.py": {"EOFError"},
    "sites/couriers/flare.py": {"RuntimeError"},
    "sites/post/door.py": {"EOFError", "ConnectionResetError"},
    "profiling/fresh.py": {"EOFError"},
    # Readers of bytes: their module, or its one caller, turns them into a DataError or a refusal.
    "collaboration/state.py": {"ValueError"},
    "collaboration/torch_state.py": {"ValueError"},
    "sites/project/card.py": {"ValueError"},
    "protocol/stored.py": {"TypeError", "ValueError"},
    # Mistakes of the library itself, which no input reaches.
    "ckks/backends/entropy.py": {"ValueError"},
    "ckks/backends/public_zeros.py": {"TypeError"},
    "ckks/backends/embedding_torch.py": {"ValueError"},
    "ckks/backends/seal_context.py": {"TypeError"},
    "ckks/lattice.py": {"ValueError"},
    "ckks/primes.py": {"ValueError"},
    "collaboration/gossip/observer.py": {"LookupError"},
    "config/writing.py": {"TypeError"},
    "privacy/randomness.py": {"ValueError"},
    "profiling/cost.py": {"ValueError"},
    "run/parts.py": {"LookupError"},
    "run/processes.py": {"ChildProcessError"},  # the system ended one; the run can go on
    "storage/secret.py": {"TypeError"},
}
"""Built-in errors that are raised, by module. Whatever a user can do has a SecureFairError."""


def raised(tree):
    """Names of what a module raises anew."""
    for node in nodes_of(tree):
        if isinstance(node, ast.Raise) and node.exc is not None:
            called = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            yield ast.unparse(called)


def test_errors_are_the_library_s_own():
    found, named = {}, re.compile(rf"raise\W+({'|'.join(BUILTINS)})\b")
    for path in PACKAGE.rglob("*.py"):
        if not named.search(path.read_text("utf-8")):
            continue
        names = set(raised(tree_of(path))) & BUILTINS
        if names:
            found[path.relative_to(PACKAGE).as_posix()] = names
    assert found == NO_LIBRARY_ERROR


def test_the_search_would_find_an_error():
    code = "raise ValueError('x')\nraise KeyError from e\nraise ConfigError('y')\nraise\n"
    assert list(raised(ast.parse(code))) == ["ValueError", "KeyError", "ConfigError"]


def test_make_soak_draws_more_examples_of_every_property():
    """None has a number of its own that SECUREFAIR_EXAMPLES leaves as it is."""
    fixed = re.compile(r"max_examples=[0-9]")
    tests = [*(ROOT / "tests").rglob("*.py")]
    assert [path.name for path in tests if fixed.search(path.read_text("utf-8"))] == []


def imported_by(path, modules):
    """Modules of the package that one imports anywhere in its code, types included."""
    for node in nodes_of(tree_of(path)):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name if name in modules else node.module for name in names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def circles(imports):
    """Sets of modules that import each other, however far around."""
    reached = {module: set(others) for module, others in imports.items()}
    while True:
        grown = {
            module: others.union(*(reached[other] for other in others))
            for module, others in reached.items()
        }
        if grown == reached:
            break
        reached = grown
    return {
        frozenset(other for other in others if module in reached[other])
        for module, others in reached.items()
        if module in others
    }


def test_no_modules_import_each_other():
    """import-linter sees circles of rooms; here also those inside a room, and late imports."""
    modules = {
        ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(
            ".__init__"
        ): path
        for path in PACKAGE.rglob("*.py")
    }
    imports = {
        module: {
            other for other in imported_by(path, modules) if other in modules and other != module
        }
        for module, path in modules.items()
    }
    assert circles(imports) == set()


def test_circles_are_found():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == {frozenset({"b", "c"})}


def public_types(tree):
    """Names of the classes and type aliases that a module defines for others."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            name = node.name
        elif isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation) == "TypeAlias":
            name = ast.unparse(node.target)
        else:
            continue
        if not name.startswith("_"):
            yield name


def test_a_type_has_one_home():
    """No public type name stands in two rooms: the room's noun stands in front of the second."""
    homes = {}
    for path in PACKAGE.rglob("*.py"):
        room = path.relative_to(PACKAGE).parts[0]
        for name in public_types(tree_of(path)):
            homes.setdefault(name, set()).add(room)
    assert {name: rooms for name, rooms in homes.items() if len(rooms) > 1} == {}
