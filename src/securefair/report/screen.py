"""The console that commands show tables and progress on: nothing in them steers a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from securefair.errors import printable


class Screen(Console):
    """A console for names that come from files and peers.

    Only what rich itself writes moves the cursor or sets colours. Brackets in a text are no markup.

    Args:
        err: on standard error.
        quiet: shows nothing.
    """

    def __init__(self, *, err: bool = False, quiet: bool = False) -> None:
        super().__init__(stderr=err, quiet=quiet, markup=False, emoji=False)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Segments of what is shown; in every text what would steer becomes a question mark."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else printable(text), style, control)
