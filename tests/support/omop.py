"""A small made-up OMOP CDM, and what the documented query makes of it."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]

CDM = """
CREATE TABLE person (person_id INTEGER, gender_concept_id INTEGER, year_of_birth INTEGER);
CREATE TABLE measurement (person_id INTEGER, measurement_concept_id INTEGER,
    measurement_date DATE, value_as_number DOUBLE PRECISION, unit_concept_id INTEGER);
CREATE TABLE condition_occurrence (person_id INTEGER, condition_concept_id INTEGER,
    condition_start_date DATE);
INSERT INTO person VALUES (1, 8507, 1950), (2, 8532, 1960), (3, 8532, 1970), (4, 8507, 1940),
    (5, 0, 1980);
INSERT INTO measurement VALUES
    (1, 3004249, '2018-05-01', 120, 8876), (1, 3004249, '2019-05-01', 150, 8876),
    (1, 3004249, '2020-05-01', 199, 8876), (1, 3016723, '2019-01-01', 1.2, 8840),
    (2, 3004249, '2019-02-01', 110, 8876), (2, 3016723, '2019-01-01', 88, 8749),
    (4, 3004249, '2019-02-01', 140, 8876), (5, 3004249, '2019-02-01', 130, 8876);
INSERT INTO condition_occurrence VALUES
    (1, 201826, '2015-01-01'), (1, 316139, '2020-06-01'),
    (2, 201826, '2020-03-01'), (2, 316139, '2021-06-01'),
    (4, 316139, '2018-01-01');
"""

EXPECTED = [
    # 3 was never measured, 4 was ill before; later values and other units do not count.
    {"age": "70", "sex": "male", "systolic": "150", "creatinine": "1.2", "diabetes": "yes",
     "heart_failure": "yes"},
    {"age": "60", "sex": "female", "systolic": "110", "creatinine": "", "diabetes": "no",
     "heart_failure": "no"},
    {"age": "40", "sex": "", "systolic": "130", "creatinine": "", "diabetes": "no",
     "heart_failure": "no"},
]  # fmt: skip


def documented_query():
    text = (ROOT / "docs/databases.md").read_text(encoding="utf-8")
    (sql,) = re.findall(r"^```sql\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return sql
