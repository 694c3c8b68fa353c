from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from securefair.data.images.findings import image_findings, pictures_of, shared_images
from securefair.data.rows import parse_rows


@pytest.fixture
def pictures(tmp_path):
    """Of a table with one number a row: the picture that it names, under a name of its own."""

    def of(site, numbers):
        folder = tmp_path / site
        folder.mkdir()
        for at, number in enumerate(numbers):
            if number is not None:
                pixels = np.full((4, 4), number, dtype=np.uint8)
                Image.fromarray(pixels).save(folder / f"{at}.png")
        lines = ["photo\n", *(f"{at}.png\n" for at in range(len(numbers)))]
        table = replace(parse_rows(lines, f"{site}.csv"), folder=folder)
        return pictures_of(table, "photo")

    return of


def test_a_picture_under_two_names_is_found(pictures):
    (one,) = image_findings("north", pictures("north", [1, 2, 1, None, None]))
    assert (one.kind, one.column, one.line) == ("duplicate_images", "photo", 4)
    assert one.message.startswith("1 row shows the same picture")


def test_pictures_of_two_hospitals_are_found_whatever_their_order(pictures):
    everyone = {
        "north": pictures("north", range(8)),
        "south": pictures("south", [99, 6, 7, None]),
        "west": pictures("west", range(50, 60)),
    }
    (one,) = shared_images(everyone)
    assert (one.kind, one.site, one.column, one.line) == ("shared_images", "south", "photo", 3)
    assert one.message.startswith("2 of 4 rows show a picture that north has as well")
    assert one.severity == "grave"
    assert list(shared_images(dict(reversed(everyone.items())))) == [one]


def test_one_picture_of_many_is_a_warning(pictures):
    everyone = {"a": pictures("a", range(8)), "b": pictures("b", [7, *range(20, 26)])}
    (one,) = shared_images(everyone)
    assert (one.site, one.severity) == ("b", "warning")
    assert one.message.startswith("1 of 7 rows shows a picture")


def test_files_that_are_not_there_are_no_equal_pictures(pictures):
    everyone = {"a": pictures("a", [1, None]), "b": pictures("b", [2, None, None])}
    assert list(shared_images(everyone)) == []
    assert list(image_findings("b", everyone["b"])) == []
