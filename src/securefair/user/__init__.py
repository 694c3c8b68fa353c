"""What a user brings: tables, code, a new project."""

from typing import TYPE_CHECKING

from securefair.errors import on_first_use

if TYPE_CHECKING:
    from securefair.user.participants import load_participants as load_participants

__getattr__, __dir__, __all__ = on_first_use(__name__)
