"""Who may take part together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from securefair.data import ParticipantData
from securefair.errors import ConfigError


def check_participants(participants: Sequence[ParticipantData]) -> None:
    """Refuse participants that cannot learn together; one alone is what controls are about.

    Raises:
        ConfigError: nobody, two of one name, or one whose features or classes differ from the
            others'.
    """
    if not participants:
        raise ConfigError("out of range", where="participants", found=0, expected="1 or more")
    name, times = Counter(participant.name for participant in participants).most_common(1)[0]
    if times > 1:
        raise ConfigError("two participants have one name", where="participants", found=name)
    kinds = {
        (part.common.features.shape[1:], part.classes)
        for participant in participants
        for part in (participant.train, participant.test, participant.validation)
        if part is not None
    }
    if len(kinds) > 1:
        raise ConfigError(
            "participants disagree about features or classes",
            where="participants",
            found=sorted(f"features {shape}, {classes} classes" for shape, classes in kinds),
        )
