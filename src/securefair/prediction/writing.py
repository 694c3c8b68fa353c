"""Predictions as a CSV file that any program reads."""

from __future__ import annotations

import csv
import io

from securefair.prediction.hospital_model import Prediction

IMAGE, OUTSIDE, FILLED, MISSING = "image", "outside_training_range", "filled_in", "missing"


def predictions_csv(prediction: Prediction) -> str:
    """One row a patient, in order: the image where there is one, `probability_CLASS` for each
    class, `class`, and columns separated by "; ": those outside the range of training, those that
    were filled in, and those that are missing as in training."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    head = [
        *(f"probability_{name}" for name in prediction.classes),
        "class",
        OUTSIDE,
        FILLED,
        MISSING,
    ]
    writer.writerow([IMAGE, *head] if prediction.images else head)
    images = [[name] for name in prediction.images] or [[]] * len(prediction.outside)
    for image, row, chosen, *marks in zip(
        images,
        prediction.probabilities.tolist(),
        prediction.chosen,
        prediction.outside,
        prediction.filled,
        prediction.missing,
        strict=True,
    ):
        probabilities = [f"{value:.6f}" for value in row]
        writer.writerow([*image, *probabilities, chosen, *map("; ".join, marks)])
    return text.getvalue()
