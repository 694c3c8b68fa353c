import numpy as np
import pytest
from PIL import Image

from securefair.data.images.files import check_image, image_files, read_image
from securefair.errors import DataError


@pytest.fixture
def picture(tmp_path):
    pixels = np.zeros((20, 40, 3), dtype=np.uint8)
    pixels[:, :20] = 200
    Image.fromarray(pixels).save(tmp_path / "p.png")
    return tmp_path / "p.png"


def test_the_middle_square_is_taken(picture):
    found = read_image(picture, 20, where="here")
    assert (found.shape, found.dtype) == ((20, 20, 3), np.uint8)
    assert found[:, :10].min() == 200
    assert found[:, 10:].max() == 0


def test_grey_pictures_become_rgb(tmp_path):
    Image.new("L", (30, 30), 77).save(tmp_path / "g.png")
    assert (read_image(tmp_path / "g.png", 16, where="here") == 77).all()


def test_a_picture_is_turned_as_its_camera_noted(picture, tmp_path):
    turned = Image.open(picture)
    exif = turned.getexif()
    exif[0x0112] = 6  # a quarter to the right
    turned.save(tmp_path / "turned.png", exif=exif)
    found = read_image(tmp_path / "turned.png", 20, where="here")
    assert found[:10].min() == 200
    assert found[10:].max() == 0


@pytest.mark.parametrize("mode", ["I;16", "F", "I"])
def test_sixteen_bits_are_not_cut_off_unsaid(mode, tmp_path):
    Image.new(mode, (20, 20)).save(tmp_path / "x.tiff")
    with pytest.raises(DataError, match="8 bits") as refused:
        check_image(tmp_path / "x.tiff", where="t.csv, line 2")
    assert refused.value.where == "t.csv, line 2"


def test_stacks_are_not_cut_off_unsaid(tmp_path):
    first, second = Image.new("L", (20, 20)), Image.new("L", (20, 20), 9)
    first.save(tmp_path / "s.tiff", save_all=True, append_images=[second])
    with pytest.raises(DataError, match="2 pages"):
        read_image(tmp_path / "s.tiff", 16, where="here")


def test_damaged_missing_and_harmful_files_are_named(picture, tmp_path, monkeypatch):
    cut = tmp_path / "cut.png"
    cut.write_bytes(picture.read_bytes()[:-30])
    for path, named in ((cut, "cannot be read"), (tmp_path / "none.png", "not there")):
        with pytest.raises(DataError, match=named):
            read_image(path, 16, where="here")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    with pytest.raises(DataError, match=r"cannot be read.* Scale it down"):
        read_image(picture, 16, where="here")


@pytest.mark.parametrize("ending", ["png", "jpg"])
def test_a_file_that_is_cut_off_is_found_where_all_of_it_is_decoded(ending, tmp_path):
    path = tmp_path / f"x.{ending}"
    Image.effect_noise((64, 64), 50).save(path)
    check_image(path, where="t.csv, line 2", whole=True)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    check_image(path, where="t.csv, line 2")
    with pytest.raises(DataError, match=r"cannot be read.*truncated.*Copy it again") as refused:
        check_image(path, where="t.csv, line 2", whole=True)
    assert refused.value.where == "t.csv, line 2"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", ("the file of the image is empty", "Copy it again")),
        (b"a letter", ("this is no image", "Export DICOM")),
    ],
)
def test_what_is_no_picture_is_named(content, words, tmp_path):
    (tmp_path / "x.png").write_bytes(content)
    with pytest.raises(DataError) as refused:
        check_image(tmp_path / "x.png", where="here")
    for word in (*words, "x.png"):
        assert word in str(refused.value)
    assert "BytesIO" not in str(refused.value)


def test_a_folder_is_no_picture(tmp_path):
    (tmp_path / "x.png").mkdir()
    with pytest.raises(DataError, match=r"x\.png: Is a directory"):
        check_image(tmp_path / "x.png", where="here")


def test_a_folder_gives_its_pictures_by_name(picture, tmp_path):
    (tmp_path / "a.JPG").write_bytes(b"")
    (tmp_path / "notes.txt").write_text("")
    (tmp_path / ".hidden.png").write_bytes(b"")
    (tmp_path / "more").mkdir()
    images, others = image_files(tmp_path)
    assert [path.name for path in images] == ["a.JPG", "p.png"]
    assert others == ["more", "notes.txt"]
    with pytest.raises(DataError, match="no image"):
        image_files(tmp_path / "more")
    with pytest.raises(DataError, match="cannot be read"):
        image_files(tmp_path / "absent")
