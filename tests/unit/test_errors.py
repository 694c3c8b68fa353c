from securefair.errors import DataError, PlanError


def test_an_error_says_first_whom_it_is_about_and_stays_as_it_was():
    error = PlanError("too many", where="q", found=64, expected="20", hint="Choose less")
    named = error.about("Cleveland")
    assert type(named) is PlanError
    assert str(named) == "Cleveland, q: too many (found 64, expected '20'). Choose less"
    assert error.where == "q"
    assert DataError("no rows").about("North").where == "North"
