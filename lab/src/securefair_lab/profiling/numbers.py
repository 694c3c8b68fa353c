"""Options that are lists of numbers, separated by commas."""

from __future__ import annotations

from securefair.errors import ConfigError


def numbers_of(option: str, text: str) -> list[float]:
    """Numbers separated by commas.

    Raises:
        ConfigError: one of them is none.
    """
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise ConfigError(
            "not a list of numbers", where=option, found=text, expected="such as 0,0.5,1"
        ) from None


def whole_numbers_of(option: str, text: str, *, exactly: int | None = None) -> list[int]:
    """Whole numbers separated by commas, so many of them if that is given.

    Raises:
        ConfigError: one of them is none, or there are more or fewer.
    """
    numbers = numbers_of(option, text)
    whole = [round(number) for number in numbers if number == round(number)]
    if len(whole) < len(numbers) or exactly not in (None, len(whole)):
        raise ConfigError(
            "not a list of whole numbers",
            where=option,
            found=text,
            expected=f"{exactly} of them" if exactly else "such as 500,2000",
        )
    return whole
