"""What in a table looks as if it named a person or a day, by headings and by values.

None of it is proof, neither way: it decides what inference leaves out unless somebody asks for it,
and who uses inferred rules must look at them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

LEAST_TEXTS = 6
"""In fewer rows nothing can be told from texts that do not repeat."""

LEAST_NUMBERS, MANY_NUMBERS = 20, 50
"""So many whole numbers without a repetition count rows if they are as dense as rows, or identify
them however far apart they are: measurements of so many patients repeat."""

_IDENTIFIERS = re.compile(
    r"(?:patient|subject|case|study|record|person|visit|encounter|hospital|insurance|medical|"
    r"first|last|middle|maiden|family|full|given|user|row)?"
    r"(?:id|nr|no|number|mrn|uuid|guid|pseudonym|initials|name|address|street|email|mail|phone|"
    r"telephone|mobile|ssn|zip|zipcode|postcode)"
    r"|aktenzeichen|(?:fall|patienten|pat|versicherten|fallakten)(?:nummer|nr|id)|kennung"
    r"|(?:fore|sur)name|(?:vor|nach)name|anschrift|adresse|telefon|strasse|straße|plz"
)
_PATIENTS = re.compile(
    r"(?:patient|pat|patienten|versicherten|subject|person|proband(?:en)?|participant|case|fall|"
    r"fallakten|record|user)?(?:id|nr|uuid|guid|pseudonym|mrn)"
    r"|(?:patient|patienten|versicherten|subject|case|fall|record|insurance)(?:no|number|nummer)"
    r"|patient|ssn|aktenzeichen|kennung"
)
"""Of the identifiers those that name who a row is of: a ward or a visit has numbers as well."""

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


def heading_identifies(name: str) -> bool:
    """Whether a heading ends in a word for an identifier: patient_id, PatientID, Last name, MRN."""
    words = [word.lower() for word in _WORDS.findall(name)]
    if not words:
        return False
    if words[-1].isdigit() and len(words) > 1:  # address2
        words.pop()
    return (
        _IDENTIFIERS.fullmatch(words[-1]) is not None
        or words == ["patient"]
        or words[-2:] in (["zip", "code"], ["postal", "code"])
    )


def heading_names_patients(name: str) -> bool:
    """Whether a heading is that of an identifier of patients: patient_id, ID, MRN, Fallnummer; not
    hospital_id, zip or name, which patients share."""
    words = [word.lower() for word in _WORDS.findall(name)]
    return heading_identifies(name) and _PATIENTS.fullmatch("".join(words[-2:])) is not None


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
    return dense or total >= MANY_NUMBERS
