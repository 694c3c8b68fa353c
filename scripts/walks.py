"""Count what somebody reads who follows one thing on its way through the package.

python scripts/walks.py check CONFIG [COMMAND's options]    a configuration
python scripts/walks.py run CONFIG --out FOLDER
python scripts/walks.py request          features to a request, at the student
python scripts/walks.py answer           a request at `Teacher.answer`
python scripts/walks.py transfer         a transfer between the sites of two hospitals
python scripts/walks.py predict          a table's cells to a prediction

Runs in this process and watches every call. Two runs give the same figures: nothing depends on
time. Stays are functions of the package, each once, however often it is called; what stands inside
a function (a generator, a lambda, a function of its own) belongs to it. Printed are

stays    functions in which the walk stays: of a configuration those that *have* it, of the other
         walks all that are entered;
files    their modules;
moves    how often the walk came from one function to another (a configuration), or a call from one
         room to another one (the others);
frames   how deep calls of the package stand in each other at most.

A function has a configuration if an argument, or what it returns, is

- the plain table of a file (a dict with a section `run`),
- a section, or the whole, or a list of these; not a rule of a column, which tables have as well,
- an object that holds the whole as its attribute `config`.

Of these stays are besides told: `whole`, at which it is not a section alone, and `outside`, which
are no method of a section or of the whole, validators above all. So from the command line it is
followed while it is read, checked, resolved and agreed on, and with `run` to the results, the
models that are kept and the report. Hosts and observers are given the agreement alone.

`again` is the second time, in the same process, where what was agreed on is known.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import securefair
from securefair.config.base import Section
from securefair.config.sections import RunConfig

PACKAGE = str(Path(securefair.__file__).parent)
_INSIDE = re.compile(r":(\w*Section|RunConfig)\.")

Holds = Callable[[object], str]
"""Whether a value is what is followed: "whole", "part" or nothing."""


class Walk:
    """Where something was, while `watch` was the profiler.

    Args:
        holds: what is followed; None: everything that is called.
    """

    def __init__(self, holds: Holds | None = None) -> None:
        self.stays: dict[str, set[str]] = {}
        self.files: set[str] = set()
        self.whole: set[str] = set()
        self.moves = self.frames = 0
        self._holds, self._last = holds, ""
        self._rooms: list[str] = []
        self._names: dict[CodeType, str | None] = {}

    def __enter__(self) -> Walk:
        sys.setprofile(self.watch)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def watch(self, frame: FrameType, event: str, value: object) -> None:
        """One event of `sys.setprofile`."""
        code = frame.f_code
        if code not in self._names:
            self._names[code] = _name(code)
        name = self._names[code]
        if name is None or event not in ("call", "return"):
            return
        if self._holds is None:
            self._enter(code, name, event)
        elif event == "call":
            count = code.co_argcount + code.co_kwonlyargcount
            for key in code.co_varnames[:count]:
                self._see(code, name, key, self._holds(frame.f_locals.get(key)))
        else:
            self._see(code, name, None, self._holds(value))

    def _enter(self, code: CodeType, name: str, event: str) -> None:
        if event == "return":
            self._rooms = self._rooms[:-1]
            return
        room = name.split(".")[0].split(":")[0]
        self.stays.setdefault(name, set())
        self.files.add(code.co_filename)
        self.moves += room != (self._rooms or [room])[-1]
        self._rooms.append(room)
        self.frames = max(self.frames, len(self._rooms))

    def _see(self, code: CodeType, name: str, key: str | None, how: str) -> None:
        if not how:
            return
        known = self.stays.setdefault(name, set())
        self.files.add(code.co_filename)
        if how == "whole":
            self.whole.add(name)
        if key is not None:
            known.add(key)
        if name != self._last:
            self.moves += 1
            self._last = name


def _of_configuration(value: object) -> str:
    """Whether something is the configuration: "whole", "part" or nothing."""
    if isinstance(value, RunConfig):
        return "whole"
    if isinstance(value, Section):
        return "part" if type(value).__name__.endswith("Section") else ""
    if type(value) is dict:
        return "whole" if isinstance(value.get("run"), dict | Section) else ""
    if isinstance(value, list | tuple):
        return _of_configuration(value[0]) if value and isinstance(value[0], Section) else ""
    try:
        held = vars(value).get("config")
    except TypeError:
        return ""
    return "whole" if isinstance(held, RunConfig) else ""


def _name(code: CodeType) -> str | None:
    """Module and function; None outside the package, and for bodies of modules and classes."""
    if not code.co_filename.startswith(PACKAGE) or code.co_name == "<module>":
        return None
    if code.co_filename.endswith("errors.py"):
        return None
    module = code.co_filename.removeprefix(PACKAGE).strip("/").removesuffix(".py")
    outer = code.co_qualname.split(".<locals>")[0]
    if outer.startswith("<"):
        return None
    return f"{module.replace('/', '.')}:{outer}"


def walk_configuration(arguments: list[str]) -> Iterator[tuple[str, Walk]]:
    """One command of securefair."""
    from securefair.cli import main as command

    sys.argv = ["securefair", *arguments]
    walk = Walk(_of_configuration)
    try:
        with walk:
            command()
    except SystemExit as end:
        if end.code:
            raise
    yield arguments[0], walk


def walk_request() -> Iterator[tuple[str, Walk]]:
    """Features of a hospital to a request, by a student who has its keys."""
    student, samples, _ = _exchange()
    for name in ("request", "request again"):
        with Walk() as walk:
            student.request(samples)
        yield name, walk


def walk_answer() -> Iterator[tuple[str, Walk]]:
    """The same request at its teacher, twice."""
    student, samples, teacher = _exchange()
    request = student.request(samples)
    for name in ("answer", "answer again"):
        with Walk() as walk:
            teacher.answer(request)
        yield name, walk


def _exchange() -> tuple[Any, Any, Any]:
    """A student, samples, and a teacher who agreed on them."""
    import securefair as sf
    from securefair.data import load_heart

    samples = load_heart(seed=0)[1].train
    spec = sf.ExchangeSpec(features=32, classes=2, samples=len(samples), hidden=16)
    head = sf.build_head("quadratic", features=32, hidden=16, classes=2, seed=0)
    teacher = sf.Teacher(head, spec, max_numbers=1e6, max_bits=1e9)
    return sf.Student(spec), samples, teacher


def walk_transfer() -> Iterator[tuple[str, Walk]]:
    """Two hospitals with fits of their own, until each has asked, answered, opened and learned."""
    from securefair.collaboration.resolved import ResolvedRun
    from securefair.config import demo_config, override
    from securefair.sites.simulation.starting import simulated

    changes = {"run.algorithms": ["standalone", "transfer"], "run.seeds": [0]}
    run = ResolvedRun.of(override(demo_config(), changes)).load()
    kind, data = run.kinds["transfer"], run.data[0][:2]
    for name in ("transfer", "transfer again"):
        agreement = kind.agree_all(run.config, data, seed=0)
        simulation = simulated(kind, agreement, data, seed=0)
        with Walk() as walk:
            for _ in simulation.rounds(1):
                pass
        simulation.close()
        yield name, walk


def walk_predict() -> Iterator[tuple[str, Walk]]:
    """Rows of a table at a model that a run left."""
    from securefair.collaboration.resolved import ResolvedRun
    from securefair.config import demo_config, override
    from securefair.data.heart import heart_rows
    from securefair.prediction import load_model
    from securefair.prediction.folder import save_model
    from securefair.report.progress import Silence
    from securefair.run.execute import run_resolved

    changes = {
        "run.algorithms": ["standalone", "transfer"],
        "run.seeds": [0],
        "run.smaller": None,
        "encryption.backend": "clear",
    }
    outcome = run_resolved(ResolvedRun.of(override(demo_config(), changes)), Silence())
    kept = outcome.models[0]
    with tempfile.TemporaryDirectory() as folder:
        save_model(kept.model, Path(folder), card=kept.card)
        model = load_model(Path(folder))
    rows = heart_rows()
    for name in ("predict", "predict again"):
        with Walk() as walk:
            model.predict_details(rows)
        yield name, walk


WALKS = {
    "request": walk_request,
    "answer": walk_answer,
    "transfer": walk_transfer,
    "predict": walk_predict,
}


def lines(name: str, walk: Walk, *, details: bool) -> Iterator[str]:
    """What was counted, for people."""
    if details:
        for stay, keys in walk.stays.items():
            what = "whole " if stay in walk.whole else ""
            yield f"{what}{stay} {', '.join(sorted(keys))}".rstrip()
    told = f"{name}: stays {len(walk.stays)}, files {len(walk.files)}, moves {walk.moves}"
    if walk.whole:
        outside = {stay for stay in walk.stays if not _INSIDE.search(stay)}
        yield f"{told}, whole {len(walk.whole)}, outside {len(outside)}"
    else:
        yield f"{told}, frames {walk.frames}"


def main() -> None:
    """Prints a line for each walk, after the list of its stays with --details."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--details", action="store_true", help="list every stay")
    parser.add_argument("walk", help=f"{', '.join(WALKS)}, or a command of securefair")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="of that command")
    given = parser.parse_args()
    if given.walk in WALKS:
        walks = WALKS[given.walk]()
    else:
        walks = walk_configuration([given.walk, *given.arguments])
    for name, walk in walks:
        for line in lines(name, walk, details=given.details):
            print(line, file=sys.stderr)


if __name__ == "__main__":
    main()
