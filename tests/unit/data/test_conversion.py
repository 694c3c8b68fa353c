"""`make_samples` of a table: no column is left out without a word."""

from securefair.data import make_samples


def test_a_column_that_is_no_feature_is_logged(tmp_path, caplog):
    rows = ["age,ward,ill"] + [f"{40 + at % 17},north,{at % 2}" for at in range(30)]
    path = tmp_path / "own.csv"
    path.write_text("\n".join(rows), encoding="utf-8")
    samples = make_samples(path, label="ill")
    assert samples.features.shape == (30, 1)
    (record,) = caplog.records
    assert "column ward is no feature" in record.getMessage()
    assert "north" not in record.getMessage()
