"""The documented query makes a row a patient of an OMOP CDM, in DuckDB."""

import pytest

from securefair.data import infer_table, propose, read_rows
from support.omop import CDM, EXPECTED, documented_query


def test_the_documented_query_makes_a_row_a_patient(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(str(tmp_path / "cdm.db")) as connection:
        connection.execute(CDM)
    table = read_rows(f"duckdb:{tmp_path}/cdm.db?query={documented_query()}")
    assert [row.fields for row in table] == EXPECTED
    found = infer_table({"here": propose(table, label="heart_failure", at_least=1)})
    assert [column.name for column in found.spec.columns] == ["age", "sex", "systolic", "diabetes"]
