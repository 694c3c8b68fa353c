import io

from rich.markdown import Markdown
from rich.table import Table
from rich.text import Text

from securefair.errors import printable
from securefair.report.screen import Screen

HOSTILE = "ann\x1b[2J\x9b5m\u202e\r"


def shown(what, monkeypatch, *, terminal=False):
    if terminal:
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("TERM", "xterm")
    screen = Screen()
    screen.file = io.StringIO()
    screen.print(what)
    return screen.file.getvalue()


def test_nothing_of_a_text_a_table_or_markdown_steers(monkeypatch):
    table = Table(title=HOSTILE)
    table.add_column(HOSTILE)
    table.add_row(HOSTILE)
    for what in (HOSTILE, Text(HOSTILE), table, Markdown(f"# {HOSTILE}\n\n* {HOSTILE}")):
        text = shown(what, monkeypatch)
        assert printable(text) == text
        assert "ann?" in text


def test_colours_of_its_own_stay(monkeypatch):
    text = shown(Text(HOSTILE, style="red"), monkeypatch, terminal=True)
    assert text.startswith("\x1b[31mann?[2J?5m?")
    assert text.count("\x1b") == 2  # red, and the end of it


def test_brackets_are_no_markup(monkeypatch):
    assert shown("[red]x[/red] :warning:", monkeypatch) == "[red]x[/red] :warning:\n"


def test_a_quiet_screen_shows_nothing(capsys):
    Screen(quiet=True).print("x")
    Screen(err=True).print("y")
    out, err = capsys.readouterr()
    assert (out, err) == ("", "y\n")
