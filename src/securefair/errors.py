"""Errors that carry facts: what was wrong, where, what was found and what to do next.

A local fault is the caller's or this machine's; a remote fault names the peer that caused it.
Anything else that is raised is a bug. But for a name that a package lacks: `on_first_use` stands
here because every package's door needs it, and only this module is below them all.
"""

from __future__ import annotations

import ast
import errno
import sys
import unicodedata
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Self, cast

if TYPE_CHECKING:  # it takes archives and temporary files along, a twentieth of a start
    from importlib.abc import InspectLoader

MAY_PASS = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.ESTALE)
"""Of the system: a disk or quota that is full, a disk or a share that fails. Somebody may mend it
meanwhile."""


class SecureFairError(Exception):
    """Base of every error this package raises on purpose.

    Args:
        problem: one sentence that says what is wrong.
        where: file, key, argument or message field that it is about.
        found: the offending value (never a secret).
        expected: what would have been accepted.
        hint: what to do next.
        passing: it may pass by itself, as a share that is not mounted yet; whoever started the
            program may try again.
    """

    def __init__(
        self,
        problem: str,
        *,
        where: str | None = None,
        found: object = None,
        expected: object = None,
        hint: str | None = None,
        passing: bool = False,
    ) -> None:
        self.passing = passing
        self.problem = problem
        self.where = where
        self.found = found
        self.expected = expected
        self.hint = hint
        super().__init__(problem)  # planners raise some ten thousand: text is made when read

    def __reduce__(self) -> tuple[object, ...]:
        """Errors may come from another process; not all of them are made of one argument."""
        return _remade, (type(self), self.problem, vars(self))

    def about(self, name: str) -> Self:
        """The same error, which says first whom or what it is about; `self` stays as it is.

        Not for a `RemoteProtocolError`, which names its culprit.
        """
        return type(self)(
            self.problem,
            where=", ".join(filter(None, [name, self.where])),
            found=self.found,
            expected=self.expected,
            hint=self.hint,
            passing=self.passing,
        )

    def __str__(self) -> str:
        """One line for a log or a terminal: where, problem, facts, hint."""
        text = f"{self.where}: {self.problem}" if self.where else self.problem
        facts = [
            f"{label} {value!r}" if isinstance(value, str) else f"{label} {value}"
            for label, value in (("found", self.found), ("expected", self.expected))
            if value is not None
        ]
        if facts:
            text += f" ({', '.join(facts)})"
        return printable(f"{text}. {self.hint}" if self.hint else text)


def printable(text: str, instead: Callable[[str], str] = lambda _: "?") -> str:
    """Text for a terminal or a log: what would steer it becomes a question mark.

    Names come from peers and from files: escape codes, and marks that turn the direction of
    writing, could make a terminal show what is not there.

    Args:
        text: anything.
        instead: what stands for such a character.
    """
    found = {c for c in set(text) if _steers(c) and c not in "\n\t"}
    return text.translate({ord(c): instead(c) for c in found}) if found else text


def _steers(character: str) -> bool:
    """Control and format characters, halves of characters, and other line breaks."""
    return unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp")


class ConfigError(SecureFairError):
    """A configuration file or value cannot be used."""


class DataError(SecureFairError):
    """Samples cannot be used: shape, missing columns, NaN, labels out of range, too few."""


class ModelError(SecureFairError):
    """A model cannot be evaluated under the agreed plan, or its training diverged."""


class PlanError(SecureFairError):
    """No parameters satisfy the spec; the hint names the nearest possible one."""


class EncryptionError(SecureFairError):
    """Ciphertexts were combined in a way that their level, scale, shape or keys forbid."""


class LedgerError(SecureFairError):
    """Answering would disclose more than the participant allows."""


class OtherSumError(LedgerError):
    """A part of this sum would disclose too much; one of the sum over `senders` would not.

    Args:
        problem, where, found, expected, hint: see `SecureFairError`.
        senders: names in ascending order; none: of no sum.
    """

    def __init__(
        self,
        problem: str,
        *,
        where: str | None = None,
        found: object = None,
        expected: object = None,
        hint: str | None = None,
        senders: tuple[str, ...] = (),
    ) -> None:
        super().__init__(problem, where=where, found=found, expected=expected, hint=hint)
        self.senders = senders


class StorageError(SecureFairError):
    """A store or a keystore cannot be used: missing, damaged, locked, too new, open to others."""


class LocalProtocolError(SecureFairError):
    """This participant used the protocol wrongly (its own fault)."""


class RemoteProtocolError(SecureFairError):
    """A peer violated the protocol; `culprit` names it."""

    def __init__(self, problem: str, *, culprit: str, **facts: object) -> None:
        self.culprit = culprit
        super().__init__(f"peer {culprit}: {problem}", **facts)  # type: ignore[arg-type]


class ImplausibleError(RemoteProtocolError):
    """What a peer said fails a statistical test, as what honest peers say does now and then."""


class BackendUnavailableError(SecureFairError):
    """An encryption backend cannot run here; the hint says what it needs."""


def on_first_use(
    package: str,
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package that loads names on first use (PEP 562).

    Its imports under `if TYPE_CHECKING` are the only list of its names: type checkers read them
    there, and so does this function.

    Args:
        package: its `__name__`.
    """
    homes = _imported_for_types(package)

    def load(name: str) -> object:
        """The name, imported from its home."""
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(homes[name]), name)

    def listed() -> list[str]:
        """All names, loaded or not."""
        return sorted({*vars(sys.modules[package]), *homes})

    return load, listed, sorted(homes)


def _imported_for_types(package: str) -> dict[str, str]:
    """Homes of the names that a package imports under `if TYPE_CHECKING`."""
    specification = sys.modules[package].__spec__
    loader = cast("InspectLoader", specification.loader if specification else None)
    return {
        alias.name: statement.module
        for block in ast.parse(loader.get_source(package) or "").body
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for statement in block.body
        if isinstance(statement, ast.ImportFrom) and statement.module
        for alias in statement.names
    }


def _remade(kind: type[SecureFairError], problem: str, facts: dict[str, object]) -> SecureFairError:
    error = kind.__new__(kind, problem)
    vars(error).update(facts)
    return error
