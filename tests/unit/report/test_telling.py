import io
import json
from contextlib import redirect_stdout

from hypothesis import given
from hypothesis import strategies as st

from securefair.errors import printable
from securefair.report.telling import say, say_json, tell


def test_sentences_or_a_document(capsys):
    tell(False, "two\nlines", {"a": 1})
    tell(True, "two\nlines", {"a": 1})
    assert capsys.readouterr().out == 'two\nlines\n{"a":1}\n'


def test_where_and_with_what_end(capsys):
    say("x", err=True, nl=False)
    assert capsys.readouterr() == ("", "x")


def test_indented(capsys):
    say_json({"a": [1]}, indent=1)
    assert json.loads(capsys.readouterr().out) == {"a": [1]}


def test_what_would_steer_is_a_question_mark(capsys):
    say("ann\x1b[2J")
    assert capsys.readouterr().out == "ann?[2J\n"


@given(st.text(), st.characters(categories=["Cc", "Cf", "Zl", "Zp"]))
def test_documents_keep_every_character_and_steer_nothing(text, steering):
    found = {"name": text + steering, steering: [text]}
    out = io.StringIO()
    with redirect_stdout(out):
        say_json(found)
    said = out.getvalue()
    assert printable(said) == said
    assert json.loads(said) == found
