"""Settings of an algorithm, checked when it is made and not in the middle of a long run."""

from __future__ import annotations

from securefair.errors import ConfigError


def check_settings(settings: object, **ranges: tuple[bool, str]) -> None:
    """Refuse the first setting that is out of range.

    Args:
        settings: the object that has them as attributes.
        ranges: for each, whether it is acceptable and what would be.

    Raises:
        ConfigError: names the setting, what was found and what was expected.
    """
    for name, (accepted, expected) in ranges.items():
        if not accepted:
            raise ConfigError(
                "out of range", where=name, found=getattr(settings, name), expected=expected
            )
