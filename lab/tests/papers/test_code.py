"""A result's code is told by what decides it, and by nothing else."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from securefair.errors import ConfigError
from securefair_lab.papers import capride_code, cycle_lambda, definitions
from securefair_lab.papers import code as codes
from securefair_lab.papers.catalogue import EXPERIMENTS
from securefair_lab.papers.definitions import Place, place_at
from securefair_lab.papers.experiment import Contender, Experiment
from securefair_lab.papers.values import values_in

SOURCE = '''"""A module."""
from __future__ import annotations
from typing import TYPE_CHECKING
import numpy as np
if TYPE_CHECKING:
    import securefair.nowhere

def double(x: float) -> float:
    """Twice."""
    factor = FACTOR
    return np.multiply(factor, x)  # twice

FACTOR = 2

def other(x):
    return x + 1

def used(x):
    return double(x)
'''
NAME = "some_module_of_ours"


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The file of a module that counts as ours, and whose code is told anew at every call."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(definitions, "PACKAGES", (*definitions.PACKAGES, NAME))
    yield tmp_path / f"{NAME}.py"
    sys.modules.pop(NAME, None)


@contextmanager
def told_anew(definition: Any, read: Any) -> Iterator[None]:
    """Nothing of what is known of the package is used, nor lost: to tell that takes a second."""
    definition = cache(definition)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(definitions, "definition", definition)
        patch.setattr(codes, "definition", definition)
        patch.setattr(codes, "digest", cache(codes.digest.__wrapped__))
        patch.setattr(definitions, "_read", cache(read))
        patch.setattr(definitions, "_exists", cache(definitions._exists.__wrapped__))
        yield


def code(path: Path, source: str, name: str = "used") -> str:
    path.write_text(source, encoding="utf-8")
    with told_anew(definitions.definition.__wrapped__, definitions._read.__wrapped__):
        return codes.digest(Place(NAME, name))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Twice", "Two times"),
        ("# twice", "# by two"),
        ("np.multiply(factor, x)", "(\n        np.multiply(factor, x)\n    )"),
        ("double", "doubled"),
        ("FACTOR", "TIMES"),
        ("factor", "by"),
        ("np", "numpy"),
        (": float", ""),
        ("x + 1", "x + 2"),  # nothing refers to it
    ],
)
def test_names_words_and_what_is_not_used_do_not_count(written: Path, old: str, new: str) -> None:
    assert code(written, SOURCE.replace(old, new)) == code(written, SOURCE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("FACTOR = 2", "FACTOR = 3"),
        ("np.multiply", "np.add"),
        ("return double(x)", "return other(x)"),
        ("FACTOR = 2", "FACTOR = 2\nnp.seterr(all='raise')"),
    ],
)
def test_what_decides_counts(written: Path, old: str, new: str) -> None:
    assert code(written, SOURCE.replace(old, new)) != code(written, SOURCE)


def test_a_helper_that_moves_to_another_module_is_the_same(written: Path) -> None:
    start, end = SOURCE.index("def double"), SOURCE.index("def other")
    helper = f"{NAME}_helper"
    (written.parent / f"{helper}.py").write_text(f"import numpy as np\n{SOURCE[start:end]}")
    moved = f"from {helper} import double\n{SOURCE[:start]}{SOURCE[end:]}"
    definitions.PACKAGES = (*definitions.PACKAGES, helper)
    assert code(written, moved) == code(written, SOURCE)


def test_names_are_followed_through_doors(written: Path) -> None:
    def behind(line: str) -> set[str]:
        written.write_text(f"{line}\ndef used():\n    return algorithm", encoding="utf-8")
        with told_anew(definitions.definition.__wrapped__, definitions._read.__wrapped__):
            return {place.module for place in codes.reached(Place(NAME, "used"))}

    assert "securefair_lab.algorithms.vpdl" in behind(
        "from securefair_lab.algorithms import Vpdl as algorithm"
    )
    lazy = behind("from securefair.data import load_heart as algorithm")
    assert "securefair.data.heart" in lazy
    assert "securefair_lab.algorithms.vpdl" not in lazy


def test_libraries_count(monkeypatch: pytest.MonkeyPatch, written: Path) -> None:
    before = code(written, SOURCE)
    monkeypatch.setattr(codes, "libraries", lambda: {"torch": "0.1"})
    assert code(written, SOURCE) != before


def test_contenders_of_one_experiment_differ_by_their_algorithms_code() -> None:
    contenders = EXPERIMENTS["dpfl-table1"].contenders("smoke", None)
    by_algorithm = {type(c.algorithm).__name__: c.code for c in contenders}
    assert len(set(by_algorithm.values())) > 5


def test_what_users_write_themselves_does_not_count() -> None:
    assert codes.code_behind(lambda: None) == codes.code_behind()


@pytest.mark.parametrize("name", ["cycle-table6", "cffl-free-rider", "dpfl-table2"])
def test_all_that_runs_counts(name: str) -> None:
    """Names are followed without running anything: here is what running calls."""
    contenders = EXPERIMENTS[name].contenders("smoke", None)
    for contender in (contenders[0], contenders[-1]):
        behind = codes.reached(
            *(p for own in (contender.members, contender.algorithm) for p in codes._places(own)),
            size="smoke",
        )
        called = {place for place in _called(contender) if definitions.is_ours(place.module)}
        assert called - set(behind) == set()


def mutated(thing: Any) -> Iterator[Any]:
    """The same with one number changed, once for every number that it holds."""
    if isinstance(thing, bool | str) or thing is None:
        return
    if isinstance(thing, int | float):
        yield thing / 2 if isinstance(thing, float) and thing else thing + 1
    elif isinstance(thing, tuple):
        for n, one in enumerate(thing):
            for other in mutated(one):
                yield (*thing[:n], other, *thing[n + 1 :])
    elif hasattr(thing, "__dataclass_fields__"):
        for own in fields(thing):
            for other in mutated(getattr(thing, own.name)) if own.init else ():
                with suppress(ConfigError):  # out of range
                    yield replace(thing, **{own.name: other})


@pytest.mark.parametrize(
    "name", ["cffl-table1", "dpfl-table4", "cycle-table3", "cycle-baselines", "capride-code"]
)
def test_every_number_of_an_algorithm_counts(name: str) -> None:
    experiment = EXPERIMENTS[name]
    contenders = experiment.contenders("cpu", None)
    before, seen = experiment.code("cpu"), set()
    by_kind = {type(own.algorithm): own for own in contenders}
    for contender in by_kind.values():
        others = [replace(contender, rounds=contender.rounds + 1)]
        others += [replace(contender, algorithm=one) for one in mutated(contender.algorithm)]
        for other in others:
            now = [other if own is contender else own for own in contenders]
            seen.add(replace(experiment, contenders=lambda *_, now=now: now).code("cpu"))
    assert before not in seen
    assert len(seen) >= len(by_kind)


@pytest.mark.parametrize(
    ("name", "module", "constant", "value"),
    [
        ("capride-code", capride_code, "WEIGHT", 100.0),
        ("capride-code", capride_code, "weight", lambda n, _: 200.0 / n),
        ("cycle-lambda", cycle_lambda, "LAMBDAS", (50.0, 200.0)),
    ],
)
def test_settings_of_an_experiment_count(
    name: str, module: Any, constant: str, value: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = EXPERIMENTS[name].code("cpu")
    monkeypatch.setattr(module, constant, value)
    assert EXPERIMENTS[name].code("cpu") != before


def test_what_a_measure_is_made_with_counts() -> None:
    def with_trees(count: int) -> Callable[..., tuple[()]]:
        return lambda *_: (count,)[:0]

    few, many = (
        replace(EXPERIMENTS["fairsl-table5"], measure=with_trees(count)) for count in (3, 4)
    )
    assert few.code("cpu") != many.code("cpu")
    assert few.code("cpu") == replace(few, measure=with_trees(3)).code("cpu")


def test_experiments_of_other_settings_have_other_digests() -> None:
    for group in ("cffl-figure1 cffl-figure2 cffl-figure3", "dpfl-table3 dpfl-table4 dpfl-table5"):
        names = group.split()
        assert len({EXPERIMENTS[name].code("cpu") for name in names}) == len(names)


@pytest.fixture
def code_with(
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[[Experiment, str, str, str], str]:
    """Digest of an experiment where a module of ours reads otherwise."""
    read, defined, text_of = definitions._read, definitions.definition, Path.read_text

    def told(experiment: Experiment, module: str, old: str, new: str) -> str:
        def changed(path: Path, *args: Any, **kwargs: Any) -> str:
            text = text_of(path, *args, **kwargs)
            assert old in text
            return text.replace(old, new)

        def is_changed(name: str) -> bool:
            return f"{name.replace('.', '/')}.py".endswith(module)

        def read_changed(name: str) -> Any:
            """Only what reads otherwise is read again: the package is large."""
            if not is_changed(name):
                return read(name)
            with monkeypatch.context() as patch:
                patch.setattr(Path, "read_text", changed)
                return read.__wrapped__(name)

        def defined_changed(place: Place, size: str | None = None) -> Any:
            """As above: the changes leave all names, so that others' definitions stay."""
            return (defined.__wrapped__ if is_changed(place.module) else defined)(place, size)

        with told_anew(defined_changed, read_changed):
            return experiment.code("cpu")

    return told


def test_only_what_asks_for_a_size_is_told_once_for_each() -> None:
    alike = Place("securefair_lab.papers.measures", "percent")
    assert definitions.definition(alike, "cpu") is definitions.definition(alike)
    apart = Place("securefair_lab.papers.cycle_divisions", "shown")
    assert definitions.definition(apart, "cpu") != definitions.definition(apart, "smoke")
    by_key = Place("securefair_lab.papers.cycle_settings", "SCALES")
    assert definitions.definition(by_key, "cpu") != definitions.definition(by_key, "smoke")


@pytest.mark.parametrize(
    ("module", "old", "new"),
    [
        ("papers/experiment.py", "ddof=1", "ddof=0"),
        ("papers/running.py", "if c.control and", "if not c.control and"),
        ("run/rounds.py", "range(count)", "range(count + 1)"),
        ("run/rounds.py", "for record in run.rounds(total):", "for record in run.rounds(1):"),
    ],
)
def test_how_runs_become_rows_counts(
    code_with: Callable[..., str], module: str, old: str, new: str
) -> None:
    experiment = EXPERIMENTS["cffl-table1"]
    assert code_with(experiment, module, old, new) != experiment.code("cpu")


@pytest.mark.parametrize(
    ("name", "module", "old", "new"),
    [
        ("cffl-table1", "data/dataset.py", "raise DataError(\n", 'raise DataError("no",\n'),
        ("dpfl-table1", "dpfl_settings.py", '("paper", CIFAR10): _PAPER,', ""),
        ("dpfl-table1", "dpfl_settings.py", 'if size == "smoke":', 'if size == "smoke" and 1:'),
        ("cycle-table3", "cycle_settings.py", 'replace(SCALES["paper"], batch', "replace(1, batch"),
    ],
)
def test_words_of_errors_and_other_sizes_do_not_count(
    code_with: Callable[..., str], name: str, module: str, old: str, new: str
) -> None:
    experiment = EXPERIMENTS[name]
    same = code_with(experiment, module, old, new) == experiment.code("cpu")
    assert same == ("and 1" not in new)  # a test that is not of sizes alone counts


def test_values_are_told_without_names_folders_and_other_sizes() -> None:
    contender = EXPERIMENTS["fairsl-figure3"].contenders("cpu", Path("somewhere"))[0]
    text = values_in(contender.members, "cpu")
    assert "somewhere" not in text
    assert "mlp-64" in text
    assert "'paper'" not in text
    assert "'paper'" in values_in(contender.members)


@pytest.mark.parametrize("name", ["cycle-table6", "dpfl-table1", "fairsl-figure3"])
def test_readers_of_other_data_do_not_count(name: str) -> None:
    experiment = EXPERIMENTS[name]
    things: list[object] = [experiment.metrics, experiment.measure]
    for contender in experiment.contenders("smoke", None):
        things += [contender.members, contender.algorithm]
    behind = codes.reached(*(place for own in things for place in codes._places(own)))
    assert Place("securefair_lab.data.images.digits", "load_mnist") in behind
    assert Place("securefair.data.excel", "read_excel") not in behind
    assert Place("securefair_lab.data.tables.forests", "load_auction") not in behind


def _called(contender: Contender) -> set[Place]:
    """Where every function is written that a start and one round call."""
    found: set[tuple[str, int]] = set()

    def heard(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename != "<string>":  # what dataclasses make
            module = frame.f_globals.get("__name__", "")
            found.add((str(module), frame.f_code.co_firstlineno))

    sys.setprofile(heard)
    try:
        members = contender.members(0)
        contender.algorithm.round(contender.algorithm.init(members, 0), members)
    finally:
        sys.setprofile(None)
    return {place_at(module, line) for module, line in found if definitions.is_ours(module)}
