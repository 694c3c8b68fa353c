"""Reuters-21578: the topics of news stories, as bags of words."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from securefair.data import Samples
from securefair.errors import ConfigError, DataError
from securefair_lab.data.folder import DataFile, read_arrays
from securefair_lab.data.pool import DataSet, Pool, Rows

REUTERS_FILE = DataFile(
    name="reuters.npz",
    origin="Reuters-21578, ModApte split, stories of one topic, for research only: arrays tokens,"
    " offsets, label, train, vocab, topics",
)

R8 = ("acq", "crude", "earn", "grain", "interest", "money-fx", "ship", "trade")
"""The topics of the set usually called R8."""

FIRST_WORD = 3
"""Ids below are padding, unknown words and numbers."""

Topics = Literal["r8", "r52"]
Weighting = Literal["presence", "mean"]


def load_reuters(
    folder: Path,
    *,
    topics: Topics = "r52",
    words: int = 2000,
    weighting: Weighting = "presence",
) -> DataSet:
    """Reuters-21578: features float32 (B, words), made only for the rows that someone takes.

    Not the set of FairSL (Keras: 8,982 + 2,246 stories of 46 topics), but the same collection.

    Args:
        folder: where reuters.npz is.
        topics: "r52", those that occur in both parts (6,532 + 2,568 stories), or "r8" (5,485 +
            2,189).
        words: how many of the most frequent to keep, 1 to 9,997.
        weighting: "presence" gives every word that occurs the same weight, at unit length;
            "mean" gives n_w / n: a linear layer on it is an embedding layer with mean pooling.

    Raises:
        ConfigError: an argument is out of range.
        DataError: reuters.npz is not in the folder, or is damaged.
    """
    for name, value, known in (
        ("topics", topics, get_args(Topics)),
        ("weighting", weighting, get_args(Weighting)),
    ):
        if value not in known:
            raise ConfigError("unknown choice", where=name, found=value, expected=", ".join(known))
    path = REUTERS_FILE.find(folder)
    tokens, offsets, label, is_train, vocabulary, names = read_arrays(
        path, "tokens", "offsets", "label", "train", "vocab", "topics"
    )
    most = len(vocabulary) - FIRST_WORD
    if not 1 <= words <= most:
        raise ConfigError("out of range", where="words", found=words, expected=f"1 to {most}")
    if len(offsets) != len(label) + 1 or offsets[-1] != len(tokens):
        raise DataError(
            "offsets do not fit the tokens",
            where=str(path),
            found=f"{len(offsets)} offsets, {len(label)} stories, {len(tokens)} tokens",
        )
    kept = np.intersect1d(label[is_train], label[~is_train])
    if topics == "r8":
        kept = kept[np.isin(names[kept], R8)]
    classes = np.full(len(names), -1, dtype=np.int64)
    classes[kept] = np.arange(len(kept))

    def pool(of_part: NDArray[np.bool_]) -> Pool:
        stories = np.flatnonzero(of_part & (classes[label] >= 0))
        labels = classes[label[stories]]

        def features_of(rows: Rows) -> Samples:
            bags = _bags(tokens, offsets, stories[rows], words, weighting)
            return Samples(bags, labels[rows], len(kept))

        return Pool(labels=labels, classes=len(kept), features_of=features_of)

    return DataSet(name=f"reuters-{topics}", train=pool(is_train), test=pool(~is_train))


def _bags(
    tokens: NDArray[np.uint16],
    offsets: NDArray[np.integer],
    stories: Rows,
    words: int,
    weighting: Weighting,
) -> NDArray[np.float32]:
    """Bags of words (B, words) of the given stories."""
    bags = np.zeros((len(stories), words), dtype=np.float32)
    for bag, story in zip(bags, stories, strict=True):
        found = tokens[offsets[story] : offsets[story + 1]].astype(np.int64) - FIRST_WORD
        found = found[(found >= 0) & (found < words)]
        counts = np.bincount(found, minlength=words)
        if len(found):
            bag[:] = (
                counts / len(found)
                if weighting == "mean"
                else (counts > 0) / np.sqrt((counts > 0).sum())
            )
    return bags
