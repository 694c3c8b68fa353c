"""How every command ends: exit codes, and one line on stderr for an expected error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from securefair.report.telling import say

EXIT_FAILED, EXIT_USAGE, EXIT_PASSING, EXIT_INTERRUPTED = 1, 2, 75, 130
"""Something required is broken; the input or the machine does not allow it; it does not now, and
may later (EX_TEMPFAIL of sysexits.h); Ctrl-C."""


class Commands(TyperGroup):
    """All commands, those of sub-commands included, end alike on expected errors."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        with errors():
            return super().invoke(ctx)


@contextmanager
def errors() -> Iterator[None]:
    """Turn expected errors into one line and an exit code; anything else is a bug and shows."""
    from securefair.errors import MAY_PASS, SecureFairError

    try:
        yield
    except SecureFairError as error:
        stop(str(error), EXIT_PASSING if error.passing else EXIT_USAGE)
    except KeyboardInterrupt:
        interrupted("Interrupted.")
    except BrokenPipeError:
        raise typer.Exit from None  # whoever read the output has seen enough
    except OSError as error:
        stop(os_problem(error), EXIT_PASSING if error.errno in MAY_PASS else EXIT_USAGE)
    except MemoryError:
        stop("there is not enough memory. Use fewer samples, features or units", EXIT_PASSING)


def os_problem(error: OSError) -> str:
    """What the system refused; of a renamed file the name that was wanted, not a temporary one."""
    where = error.filename2 or error.filename
    problem = error.strerror or str(error) or type(error).__name__
    return f"{where}: {problem}" if where else problem


def stop(message: str, code: int = EXIT_USAGE) -> NoReturn:
    """End with one line that says why."""
    say(f"securefair: {message}", err=True)
    raise typer.Exit(code) from None


def interrupted(message: str) -> NoReturn:
    """End after Ctrl-C, with a line that says what is left."""
    say(f"securefair: {message}", err=True)
    raise typer.Exit(EXIT_INTERRUPTED) from None


def shown(path: Path) -> str:
    """A path as a shell takes it."""
    import shlex

    return shlex.quote(str(path))
