"""Patients of a file, as the rules of a model read them."""

from securefair.config.columns import NumericColumn
from securefair.data.table import TableSpec, Target
from securefair.prediction.pictures import patients_in


def test_codes_that_the_model_knows_are_put_aside_before_commas_are_judged(tmp_path):
    (tmp_path / "new.csv").write_text("crp;age\nNC;50\n7,9;60\nk;70\n")
    spec = TableSpec(
        columns=[
            NumericColumn(name="crp", low=0, high=300, optional=True, missing=["k"]),
            NumericColumn(name="age", low=20, high=90),
        ],
        target=Target(name="ill", groups=[["no"], ["yes"]]),
        missing=["NC"],
    )
    assert patients_in(tmp_path / "new.csv", spec).columns["crp"].texts == ["NC", "7.9", "k"]
