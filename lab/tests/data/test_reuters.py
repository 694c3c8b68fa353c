import numpy as np
import pytest

from securefair.errors import ConfigError, DataError
from securefair_lab.data.reuters import load_reuters

STORIES = [
    # ids: 0 padding, 1 unknown, 2 number, 3.. words; label; training part
    ([3, 3, 4, 2], 0, True),
    ([5, 1], 1, True),
    ([3, 4, 5, 6], 2, True),
    ([4, 6, 6], 0, False),
    ([1, 2], 1, False),
    ([5], 3, False),
]


@pytest.fixture
def folder(tmp_path):
    """Six stories of four topics; topic 2 occurs for training only, topic 3 for testing only."""
    tokens = [word for story, _, _ in STORIES for word in story]
    np.savez(
        tmp_path / "reuters.npz",
        tokens=np.array(tokens, dtype=np.uint16),
        offsets=np.cumsum([0, *(len(story) for story, _, _ in STORIES)]),
        label=np.array([label for _, label, _ in STORIES], dtype=np.uint8),
        train=np.array([train for _, _, train in STORIES]),
        vocab=np.array(["<pad>", "<oov>", "<num>", "the", "of", "oil", "ship"]),
        topics=np.array(["tin", "crude", "cocoa", "tea"]),
    )
    return tmp_path


def test_bags_by_hand(folder):
    data = load_reuters(folder, words=3, weighting="mean")
    train, test = data.train.samples(), data.test.samples()
    assert train.features.dtype == np.float32
    assert train.features == pytest.approx(np.array([[2 / 3, 1 / 3, 0], [0, 0, 1]]))
    assert train.labels.tolist() == [0, 1]
    assert test.features.tolist() == [[0, 1, 0], [0, 0, 0]]  # "ship" is the fourth word
    assert test.labels.tolist() == [0, 1]


def test_presence_has_unit_length(folder):
    train = load_reuters(folder, words=4).train.samples()
    assert train.features == pytest.approx(np.array([[0.5**0.5, 0.5**0.5, 0, 0], [0, 0, 1, 0]]))


def test_topics_of_r8_only(folder):
    data = load_reuters(folder, topics="r8", words=4)
    assert data.train.classes == 1
    assert data.train.labels.tolist() == data.test.labels.tolist() == [0]


def test_rows_are_made_as_they_are_taken(folder):
    train = load_reuters(folder, words=3).train
    assert train.take(np.array([1])).samples().features.tolist() == [[0, 0, 1]]


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"words": 0}, "words"),
        ({"words": 5}, "words"),
        ({"topics": "r9"}, "topics"),
        ({"weighting": "idf"}, "weighting"),
    ],
)
def test_impossible_settings_are_refused_by_name(settings, named, folder):
    with pytest.raises(ConfigError, match=f"^{named}: "):
        load_reuters(folder, **settings)


def test_missing_and_damaged_files_are_named(folder, tmp_path):
    with np.load(folder / "reuters.npz") as arrays:
        changed = dict(arrays)
    changed["offsets"] = changed["offsets"][:-1]
    np.savez(folder / "reuters.npz", **changed)
    with pytest.raises(DataError, match="offsets do not fit the tokens"):
        load_reuters(folder, words=4)
    with pytest.raises(DataError, match=r"Put reuters\.npz there"):
        load_reuters(tmp_path / "nowhere")


def test_the_real_collection_has_the_usual_counts(real_data):
    for topics, counts in (("r8", (5485, 2189, 8)), ("r52", (6532, 2568, 52))):
        data = load_reuters(real_data, topics=topics)
        assert (len(data.train), len(data.test), data.train.classes) == counts
