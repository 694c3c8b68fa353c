"""Kinds of collaboration, a folder each."""

from typing import TYPE_CHECKING

from securefair.errors import on_first_use

if TYPE_CHECKING:
    from securefair.collaboration.agreement import PublicFacts as PublicFacts
    from securefair.collaboration.agreement import optimizer_of as optimizer_of
    from securefair.collaboration.kept import KeptModel as KeptModel
    from securefair.collaboration.kinds import kinds_of as kinds_of
    from securefair.collaboration.kinds import toml_of as toml_of

__getattr__, __dir__, __all__ = on_first_use(__name__)
