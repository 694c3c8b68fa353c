import numpy as np

from securefair.data.rows import parse_rows
from securefair.data.shared_rows import shared_rows


def table(seed, n=40, *, wide=True, extra=()):
    rng = np.random.default_rng(seed)
    width = 5 if wide else 2
    rows = [",".join(f"{x:.2f}" for x in rng.normal(size=width)) for _ in range(n)]
    head = ",".join(["patient_id", *(f"x{at}" for at in range(width)), "ill"])
    lines = [f"{at + 100 * seed},{row},{at % 2}" for at, row in enumerate(rows)]
    return parse_rows([f"{line}\n" for line in (head, *lines, *extra)], f"{seed}.csv")


def test_a_copy_under_another_number_of_the_patient_is_found():
    first, second = table(1), table(1)
    (one,) = shared_rows({"north": first, "south": second})
    assert (one.kind, one.site, one.line, one.severity) == ("shared_patients", "south", 2, "grave")
    assert "40 of 40 rows stand in the table of north" in one.message


def test_one_patient_of_many_columns_is_found():
    other = ",".join(table(1)[3].fields.values()).split(",", 1)[1]
    (one,) = shared_rows({"north": table(1), "south": table(2, extra=[f"999,{other}"])})
    assert (one.site, one.line, one.severity) == ("north", 5, "warning")  # the smaller table


def test_a_copy_of_few_columns_is_found_but_not_one_equal_row():
    assert len(list(shared_rows({"a": table(1, wide=False), "b": table(1, wide=False)}))) == 1
    other = ",".join(table(1, wide=False)[3].fields.values())
    assert (
        list(shared_rows({"a": table(1, wide=False), "b": table(2, wide=False, extra=[other])}))
        == []
    )


def test_coarse_columns_are_equal_by_chance():
    def coarse(seed):
        rng = np.random.default_rng(seed)
        rows = [",".join(map(str, rng.integers(0, 3, 5))) for _ in range(60)]
        return parse_rows([f"{one}\n" for one in ("a,b,c,d,ill", *rows)], "t.csv")

    assert list(shared_rows({"north": coarse(1), "south": coarse(2), "east": coarse(3)})) == []


def test_tables_without_a_common_column_are_no_copies():
    other = parse_rows(["z\n", "1\n"], "z.csv")
    assert list(shared_rows({"north": table(1), "south": other})) == []


def test_one_row_that_chance_explains_is_none():
    def some(seed):
        rng = np.random.default_rng(seed)
        rows = [",".join(map(str, rng.integers(0, 6, 5))) for _ in range(200)]
        return parse_rows([f"{one}\n" for one in ("a,b,c,d,ill", *rows)], "t.csv")

    found = [list(shared_rows({"north": some(n), "south": some(n + 50)})) for n in range(10)]
    assert found == [[]] * 10


def test_the_order_of_tables_makes_no_difference():
    """All rows of the small table stand in the large one, many of whose rows are one of them."""

    def of(numbers):
        lines = ["a,b,ill\n", *(f"{at},{at % 7},{at % 2}\n" for at in numbers)]
        return parse_rows(lines, "t.csv")

    small, large = of(range(20)), of([*range(20), *range(15), *range(100, 140)])
    found = [
        list(shared_rows(tables))
        for tables in (
            {"small": small, "large": large, "east": of([500])},
            {"large": large, "east": of([500]), "small": small},
        )
    ]
    assert found[0] == found[1]
    ((one,), _) = found
    assert (one.site, one.line) == ("small", 2)
    assert one.message.startswith("20 of 20 rows stand in the table of large as well")


def test_rows_of_a_large_table_do_not_count_for_a_small_one():
    """No row of the small table but one is in the large one, which repeats that one often."""

    def of(numbers):
        return parse_rows(["a,ill\n", *(f"{at},{at % 2}\n" for at in numbers)], "t.csv")

    small, large = of(range(20)), of([*[3] * 15, *range(100, 160)])
    for tables in ({"small": small, "large": large}, {"large": large, "small": small}):
        assert list(shared_rows(tables)) == []


def test_what_is_predicted_makes_no_equal_rows_alone():
    first, second = (parse_rows(["ill\n", "0\n", "1\n"], "t.csv") for _ in range(2))
    assert list(shared_rows({"a": first, "b": second}, ["ill"])) == []
    assert len(list(shared_rows({"a": first, "b": second}))) == 1
