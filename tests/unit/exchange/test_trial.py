import pytest

from securefair.errors import EncryptionError
from securefair.exchange.student import Student
from securefair.exchange.trial import exchange_error


def test_a_backend_that_works_is_as_precise_as_planned():
    assert 0 < exchange_error("clear") < 0.02


def test_wrong_numbers_are_noticed(monkeypatch):
    honest = Student.open

    def off(self, answer, **options):
        opened = honest(self, answer, **options)
        opened.released[0, 0] += 0.5
        return opened

    monkeypatch.setattr(Student, "open", off)
    with pytest.raises(EncryptionError, match="wrong numbers"):
        exchange_error("clear")
