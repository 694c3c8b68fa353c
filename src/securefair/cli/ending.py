"""How every command ends: exit codes, and one line on stderr for an expected error."""

from __future__ import annotations

import errno
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

EXIT_CODE, EXIT_UNKNOWN = "--exit-code", 3
"""With this option codes are those of monitoring plug-ins: 0 well, 1 warning, 2 critical. Whatever
keeps a command from looking, a wrong option too, is 3, so that nobody takes it for one of these."""

_LOOKS = "securefair.looks"


class Commands(TyperGroup):
    """All commands, those of sub-commands included, end alike on expected errors."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any
    ) -> Any:
        """Read the arguments."""
        looks = EXIT_CODE in args
        with errors(looks=looks), _usage(looks):  # help is printed here
            context = super().make_context(info_name, args, parent, **extra)
        context.meta[_LOOKS] = looks
        return context

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        looks = ctx.meta[_LOOKS]
        with errors(looks=looks), _usage(looks):
            return super().invoke(ctx)


@contextmanager
def errors(*, looks: bool = False) -> Iterator[None]:
    """Turn expected errors into one line and an exit code; anything else is a bug and shows.

    With `looks`, bugs, Ctrl-C and an output that nobody reads end with `EXIT_UNKNOWN` too.

    Args:
        looks: the command only looks, and its codes say what it saw (`EXIT_CODE`).
    """
    from securefair.errors import MAY_PASS, SecureFairError

    passing, usage = (EXIT_UNKNOWN,) * 2 if looks else (EXIT_PASSING, EXIT_USAGE)
    try:
        yield
    except SecureFairError as error:
        stop(str(error), passing if error.passing else usage)
    except KeyboardInterrupt:
        interrupted("Interrupted.", EXIT_UNKNOWN if looks else EXIT_INTERRUPTED)
    except BrokenPipeError:
        # Whoever read the output has seen enough; but nobody has seen the site.
        raise typer.Exit(EXIT_UNKNOWN if looks else 0) from None
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        hint = ". Free some space, or choose another place, and try again" if full else ""
        stop(os_problem(error) + hint, passing if error.errno in MAY_PASS else usage)
    except MemoryError:
        stop("there is not enough memory. Use fewer samples, features or units", passing)
    except Exception as error:
        if not looks or hasattr(error, "exit_code"):
            raise
        import traceback

        traceback.print_exc()
        raise typer.Exit(EXIT_UNKNOWN) from None


@contextmanager
def _usage(looks: bool) -> Iterator[None]:
    """A wrong command or option ends as typer ends it, but for its code."""
    try:
        yield
    except Exception as error:
        if looks and not isinstance(error, typer.Exit) and hasattr(error, "exit_code"):
            error.exit_code = EXIT_UNKNOWN
        raise


def os_problem(error: OSError) -> str:
    """What the system refused; of a renamed file the name that was wanted, not a temporary one."""
    where = error.filename2 or error.filename
    problem = error.strerror or str(error) or type(error).__name__
    return f"{where}: {problem}" if where else problem


def stop(message: str, code: int = EXIT_USAGE) -> NoReturn:
    """End with one line that says why."""
    say(f"securefair: {message}", err=True)
    raise typer.Exit(code) from None


def interrupted(message: str, code: int = EXIT_INTERRUPTED) -> NoReturn:
    """End after Ctrl-C, with a line that says what is left."""
    # A dataclass is made by `exec`. Where Ctrl-C comes just then, `python -m` ends by the signal
    # whatever code is asked for, unless another `exec` ends well.
    exec("")  # noqa: S102
    say(f"securefair: {message}", err=True)
    raise typer.Exit(code) from None


def shown(path: Path) -> str:
    """A path as a shell takes it."""
    import shlex

    return shlex.quote(str(path))
