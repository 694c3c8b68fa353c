"""What in a table looks as if it named a person or a day, by headings and by values.

None of it is proof, neither way: it decides what inference leaves out unless somebody asks for it,
and who uses inferred rules must look at them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from securefair.data.identifier_words import (
    LAST,
    LAST_PATIENTS,
    SHORT,
    WHOLE,
    WHOLE_PATIENTS,
    spelt_out,
)

LEAST_TEXTS = 6
"""In fewer rows nothing can be told from texts that do not repeat."""

LEAST_NUMBERS, MANY_NUMBERS = 20, 50
"""So many whole numbers without a repetition count rows if they are as dense as rows, or identify
them however far apart they are: measurements of so many patients repeat."""

HARDLY, GAPS, LONG = 0.95, 1.25, 1e5
"""Share of rows that numbers of records tell apart, at least, and numbers a row that they are taken
from, at most: of measurements so dense three in ten repeat. And the least number of six digits."""

_SECONDS = re.compile(r"1[0-9]{9}(?:\.0+)?|1[0-9]{12}(?:\.0+)?")
"""Seconds or milliseconds since 1970, of the years 2001 to 2033."""

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|\d+")
_DATE = re.compile(
    r"\d{4}([-/.])\d{1,2}\1\d{1,2}([T ].*)?|\d{1,2}([-/.])\d{1,2}\3\d{2,4}([T ].*)?"
    r"|(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:\d{6})?"  # 20230105
    r"|(?:19|20)\d\d[-/.](?:0[1-9]|1[0-2])|(?:0[1-9]|1[0-2])[-/.](?:19|20)\d\d"  # 2023-06
    r"|\d{1,2}[-. ]*[A-Za-zÀ-ÿ]{3,9}\.?[-. ]*(?:19|20)\d\d"  # 5. Jan 2023
)
_PERSON = re.compile(
    r"(?:Dr|Prof|Mr|Mrs|Ms|Herr|Frau)\b\.? .+"  # with a title
    # Smith, John. A word can be read in one way only, so that long notes take no exponential time.
    r"|[A-ZÀ-Þ][^\W\d_]*(?:[-' ][^\W\d_]+)*, ?[A-ZÀ-Þ][\w.' -]*"
)


def heading_identifies(name: str, texts: Iterable[str]) -> bool:
    """Whether a heading is that of an identifier: patient_id, PatientID, Last name, Prénom.

    Args:
        name: the heading.
        texts: some of the values, which decide where a short heading may be another thing.
    """
    words = [word.lower() for word in _WORDS.findall(name)]
    if not words:
        return False
    if words[-1].isdigit() and len(words) > 1:  # address2
        words.pop()
    if (
        LAST.fullmatch(words[-1]) is not None
        or words == ["patient"]
        or words[-2:] in (["zip", "code"], ["postal", "code"])
    ):
        return True
    spelt = spelt_out(name)
    needed = SHORT.get(spelt)
    if needed is not None:
        return any(re.search(needed, text) for text in texts)
    return WHOLE.fullmatch(spelt) is not None


def heading_names_patients(name: str, texts: Iterable[str]) -> bool:
    """Whether a heading is that of an identifier of patients: patient_id, ID, MRN, N° dossier; not
    hospital_id, zip or name, which patients share. `texts` as of `heading_identifies`."""
    if not heading_identifies(name, texts):
        return False
    words = [word.lower() for word in _WORDS.findall(name)]
    return (
        LAST_PATIENTS.fullmatch("".join(words[-2:])) is not None
        or WHOLE_PATIENTS.fullmatch(spelt_out(name)) is not None
    )


def are_dates(texts: Sequence[str]) -> bool:
    """Whether all are days or months, in the usual spellings, or seconds since 1970."""
    return all(map(_DATE.fullmatch, texts)) or all(map(_SECONDS.fullmatch, texts))


def are_persons(texts: Sequence[str]) -> bool:
    """Whether all are spelt as names of persons: with a title, or the family name and a comma."""
    return all(map(_PERSON.fullmatch, texts))


def tell_texts_apart(different: int, present: int) -> bool | None:
    """Whether texts of one participant repeat as little as identifiers do; None: too few to say.

    Args:
        different: how many different ones there are.
        present: in how many rows.
    """
    return None if present < LEAST_TEXTS else different > present / 2


def tell_numbers_apart(different: NDArray[np.float64], counts: NDArray[np.int64]) -> bool | None:
    """The same of numbers: whether they are whole, all different, and either as dense as a count
    of rows or too many for a measurement.

    Args:
        different: texts of numbers, of which some may be the same number.
        counts: how often each occurs.
    """
    total = int(counts.sum())
    if total < LEAST_NUMBERS:
        return None
    if len(np.unique(different)) < total or not (different == np.rint(different)).all():
        return False
    dense = float(different.max() - different.min()) < 2 * total
    if dense or total >= MANY_NUMBERS:
        return True
    return None  # so few measurements need not repeat, and say nothing of other hospitals'


def are_record_numbers(different: NDArray[np.float64], counts: NDArray[np.int64]) -> bool:
    """Whether numbers are those of records, whatever other hospitals see: whole, nearly all
    different, and as dense as a count of many rows or of six digits or more, all as many.

    A few rows that stand twice, or patients who came twice, change nothing. Counts of cells have
    six digits too, but end in zeros.

    Args:
        different, counts: as of `tell_numbers_apart`.
    """
    total = int(counts.sum())
    few = total < LEAST_NUMBERS or len(np.unique(different)) < HARDLY * total
    if few or not (different == np.rint(different)).all():
        return False
    low, high = float(different.min()), float(different.max())
    long = low >= LONG and high < 10.0 ** (math.floor(math.log10(low)) + 1)
    if long and (different % 10 != 0).any():
        return True
    return total >= MANY_NUMBERS and high - low < GAPS * total
