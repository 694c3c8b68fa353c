"""Count where a configuration stays on its way through the package.

python scripts/walk_configuration.py check CONFIG
python scripts/walk_configuration.py run CONFIG --out FOLDER

Runs one command of securefair in this process and watches every call. A function of the package
*has* the configuration if an argument, or what it returns, is

- the plain table of a file (a dict with a section `run`),
- a section, or the whole, or a list of these; not a rule of a column, which tables have as well,
- an object that holds the whole as its attribute `config`.

Counted are

stays    functions that have it, each once, however often it is called: what somebody reads who
         follows the configuration. What stands inside a function (a generator, a lambda, a
         function of its own) belongs to it.
files    their modules.
names    their names, and the names of the arguments under which they have it.
visits   how often the configuration came to a function from another one.
whole    stays at which it is the plain table, the whole, or what holds it: not a section alone.
outside  stays that are no method of a section or of the whole itself.

Validators of sections are stays too. Without dependence on time: two runs give the same figures.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType

import securefair
from securefair.config.base import Section
from securefair.config.sections import RunConfig

_INSIDE = re.compile(r":(\w*Section|RunConfig)\.")

PACKAGE = str(Path(securefair.__file__).parent)


class Walk:
    """Where a configuration was, while `watch` was the profiler."""

    def __init__(self) -> None:
        self.stays: dict[str, set[str]] = {}
        self.files: set[str] = set()
        self.whole: set[str] = set()
        self.visits = 0
        self._last = ""
        self._names: dict[CodeType, str | None] = {}

    def watch(self, frame: FrameType, event: str, value: object) -> None:
        """One event of `sys.setprofile`."""
        code = frame.f_code
        if code not in self._names:
            self._names[code] = _name(code)
        name = self._names[code]
        if name is None or event not in ("call", "return"):
            return
        if event == "call":
            count = code.co_argcount + code.co_kwonlyargcount
            for key in code.co_varnames[:count]:
                self._see(code, name, key, frame.f_locals.get(key))
        else:
            self._see(code, name, None, value)

    def _see(self, code: CodeType, name: str, key: str | None, value: object) -> None:
        how = _holds(value)
        if not how:
            return
        known = self.stays.setdefault(name, set())
        self.files.add(code.co_filename)
        if how == "whole":
            self.whole.add(name)
        if key is not None:
            known.add(key)
        if name != self._last:
            self.visits += 1
            self._last = name


def _holds(value: object) -> str:
    """Whether something is the configuration: "whole", "part" or nothing."""
    if isinstance(value, RunConfig):
        return "whole"
    if isinstance(value, Section):
        return "part" if type(value).__name__.endswith("Section") else ""
    if type(value) is dict:
        return "whole" if isinstance(value.get("run"), dict | Section) else ""
    if isinstance(value, list | tuple):
        return _holds(value[0]) if value and isinstance(value[0], Section) else ""
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


def lines(walk: Walk, *, details: bool) -> Iterator[str]:
    """What was counted, for people."""
    names = {name.rpartition(":")[2] for name in walk.stays}
    names |= {key for keys in walk.stays.values() for key in keys}
    if details:
        for name, keys in walk.stays.items():
            what = "whole" if name in walk.whole else "part "
            yield f"{what} {name} ({', '.join(sorted(keys))})"
    outside = {name for name in walk.stays if not _INSIDE.search(name)}
    yield (
        f"stays {len(walk.stays)} (outside {len(outside)}), files {len(walk.files)}, "
        f"names {len(names)}, visits {walk.visits}, whole {len(walk.whole)}"
    )


def main() -> None:
    """Prints one line, after the list of all stays with --details."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--details", action="store_true", help="list every stay")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="a command of securefair")
    given = parser.parse_args()
    from securefair.cli import main as command

    walk = Walk()
    sys.argv = ["securefair", *given.arguments]
    sys.setprofile(walk.watch)
    try:
        command()
    except SystemExit as end:
        if end.code:
            raise
    finally:
        sys.setprofile(None)
    for line in lines(walk, details=given.details):
        print(line, file=sys.stderr)


if __name__ == "__main__":
    main()
