"""The example in the documentation is a page of this version's kind, small, and of no machine."""

from pathlib import Path

from securefair.words import words_of

PAGE = Path(__file__).parents[3] / "docs" / "example-report.html"


def test_the_example_is_todays_page():
    text = PAGE.read_text("utf-8")
    assert len(text.encode()) < 300_000
    words = words_of()
    titles = {key: words for key, words in words.under("ward").items() if key.endswith("_title")}
    assert [title for title in titles.values() if "{" not in title and title not in text] == []
    assert words("page.behind") in text
    for private in ("/home/", "/root/", "/tmp/", "http://"):
        assert private not in text
