"""What looks like a person or a day, and what only seems to."""

import subprocess
import sys
import unicodedata

import numpy as np
import pytest

from securefair.data.identifying import (
    are_dates,
    are_persons,
    are_record_numbers,
    heading_identifies,
    heading_names_patients,
    tell_numbers_apart,
    tell_texts_apart,
)

IDENTIFIERS = """
    id ID patient_id PatientID patientid Patient caseNo case-nr study.number MRN mrn surname
    FirstName firstname lastname last_name Vorname nachname e-mail Phone phone2 home_zip zipcode
    rowid user_name SSN Pseudonym Address2 Straße
"""
MEASUREMENTS = """
    age in_patient covid steroid fluid paid vessels snow piano phoneme rename_count hybrid idle
    numbers nose unknown patient_age zip_ties addressed 7 _ ?
"""


@pytest.mark.parametrize("name", [*IDENTIFIERS.split(), "Zip code", "postal code", "Last name"])
def test_headings_of_identifiers(name):
    assert heading_identifies(name, [])


@pytest.mark.parametrize("name", MEASUREMENTS.split())
def test_headings_of_measurements(name):
    assert not heading_identifies(name, [])


@pytest.mark.parametrize(
    ("name", "patients"),
    [
        *[(name, True) for name in ("id", "Patient", "Pat.-Nr.", "Patientennummer", "record_id")],
        *[(name, True) for name in ("MRN", "case number", "Fall-ID", "subject.no", "PatientID")],
        *[(name, False) for name in ("hospital_id", "visit no", "zip", "Name", "ward", "number")],
    ],
)
def test_headings_of_identifiers_of_patients(name, patients):
    assert heading_names_patients(name, []) == patients


FRENCH = """
    Nom, Prénom, NOM, Nom et prénom, Nom de naissance, NIR, N° NIR, N° dossier, Numéro de dossier,
    n°dossier, Num. patient, Identifiant patient, N° de sécurité sociale, Code postal, Téléphone,
    Tél., Téléphone portable, Courriel, Adresse mail, Adresse postale, N° séjour, Matricule INS
"""
GERMAN = "Familienname, Geburtsname, Postleitzahl, Telefonnummer, AHV-Nr., Aufnahmenummer, KV-Nr"
SPANISH = """
    Apellidos, Primer apellido, Nombre y apellidos, Nombre del paciente, DNI, NHC, Código postal,
    N.º historia clínica, Número de historia, Teléfono, Correo electrónico, Dirección,
    Nº de paciente
"""
ITALIAN = """
    Nome, Cognome, Nome e cognome, Codice fiscale, Tessera sanitaria, Indirizzo, Cellulare,
    N. cartella clinica, ID paziente, Codice postale, Numero nosologico
"""
COUNTS = """
    Nombre de lésions, Nom du médicament, Retour à domicile, Nombre, Mode d'entrée, Âge, IPP, INS,
    Rueckenschmerz, Nominal, Código CIE, Codice ICD, N lésions, No vessels, Prénominé, Teléfonica
"""


def split(headings):
    return [one.strip() for one in headings.split(",")]


@pytest.mark.parametrize("name", split(f"{FRENCH}, {GERMAN}, {SPANISH}, {ITALIAN}"))
def test_headings_of_identifiers_in_other_languages(name):
    assert heading_identifies(name, ["12345", "Anne"])
    assert heading_identifies(unicodedata.normalize("NFD", name), [])


@pytest.mark.parametrize("name", split(COUNTS))
def test_headings_that_seem_to_be_of_identifiers(name):
    assert not heading_identifies(name, ["1", "3", "40"])


@pytest.mark.parametrize(
    "name", ["IPP", "ins", "N° IPP", "NIR", "N° dossier", "DNI", "ID paziente"]
)
def test_headings_of_patients_in_other_languages(name):
    assert heading_names_patients(name, ["10023", "10024"])
    assert not heading_names_patients("Nom", ["Durand"])
    assert heading_identifies("Nombre", ["Ana", "José"])


def test_days_and_persons_by_their_spelling():
    assert are_dates(["2024-01-31", "1.2.24", "2024-02-01T09:00:00"])
    assert not are_dates(["2024-01-31", "soon"])
    assert are_persons(["Smith, John", "O'Neill, Mary", "Müller-Lüdenscheidt,Jo", "Dr. House"])
    assert not are_persons(["Smith, John", "mild"])
    assert not are_persons(["mild, stable", "severe, unstable"])
    assert not are_persons(["Asymptomatic", "Typical angina", "Private insurance"])


def test_long_notes_in_capitals_are_read_in_no_time():
    """Where a word can be read in two ways, sixty words can be read in 2^60."""
    code = (
        "from securefair.data.identifying import are_dates, are_persons, heading_identifies\n"
        "note = 'PATIENT ' + 'WAS ' * 60 + '.'\n"
        "assert not are_persons([note]) and not are_dates([note])\n"
        "assert not heading_identifies(note, [])"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


ROWS = [float(n) for n in range(60)]


@pytest.mark.parametrize(
    ("numbers", "apart"),
    [
        (ROWS[:19], None),
        (ROWS[:20], True),  # they count rows
        ([100.0 + n for n in reversed(ROWS[:30])], True),
        ([1000 * n for n in ROWS[:49]], None),  # so few may be measurements
        ([1000 * n for n in ROWS], True),
        ([1000 * n for n in ROWS] + [0.0], False),
        ([n + 0.5 for n in ROWS], False),
    ],
)
def test_whole_numbers_that_never_repeat(numbers, apart):
    different, counts = np.unique(numbers, return_counts=True)
    assert tell_numbers_apart(different, counts) is apart


@pytest.mark.parametrize(
    ("numbers", "records"),
    [
        ([1_000_000 + 7 * n for n in ROWS[:30]], True),  # of few patients
        ([1_000_000 + 7 * n for n in [*ROWS, 3.0]], True),  # a row stands twice
        ([10_000 + n for n in [*ROWS, 3.0]], True),
        ([10_000 + n for n in ROWS[:30]], False),  # of few, and dense: the others say
        ([2_000_000 + 7_000 * n for n in ROWS], False),  # counts of cells
        ([100 + 97 * n for n in ROWS], False),  # a cost may never repeat
        ([150_001 + 7 * (n % 20) for n in ROWS], False),
        ([1_000_000.5 + n for n in ROWS], False),
        ([1_000_000 + 7 * n for n in ROWS[:19]], False),
    ],
)
def test_numbers_of_records(numbers, records):
    different, counts = np.unique(numbers, return_counts=True)
    assert are_record_numbers(different, counts) is records


@pytest.mark.parametrize(
    ("texts", "apart"),
    [("abcde", None), ("abcdef", True), ("abcabc", False), ("abcdaa", True), ("abcaaa", False)],
)
def test_texts_that_hardly_repeat(texts, apart):
    assert tell_texts_apart(len(set(texts)), len(texts)) is apart
