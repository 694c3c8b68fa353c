"""Tables of terminals that are too narrow."""

from io import StringIO

from rich.console import Console

from securefair.report.fitting import FittingTable, TableColumn


def shown(width, **options):
    columns = [TableColumn("Model", ["lyon"], numbers=False)]
    columns += [TableColumn(f"Score {at}", [f"0.{at}00"], dispensable=at) for at in range(6)]
    console = Console(file=StringIO(), width=width)
    console.print(FittingTable("Scores", columns, **options))
    return console.file.getvalue()


def test_columns_that_do_not_fit_follow_in_a_table_of_their_own():
    assert shown(30).count("lyon") == 1
    assert "0.500" not in shown(30)
    said = shown(30, continued=True)
    assert [f"0.{at}00" in said for at in range(6)] == [True] * 6
    assert said.count("lyon") == 3
    assert said.count("Scores") == 1
    assert shown(14, continued=True).count("lyon") == 6  # one at a time, and no end is missed
    assert shown(200, continued=True).count("lyon") == 1
