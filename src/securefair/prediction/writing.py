"""Predictions as a CSV file that any program reads."""

from __future__ import annotations

import csv
import io

from securefair.prediction.hospital_model import Prediction

IMAGE, OUTSIDE, FILLED = "image", "outside_training_range", "filled_in"


def predictions_csv(prediction: Prediction) -> str:
    """One row a patient, in order: the image where there is one, `probability_CLASS` for each
    class, `class`, the columns outside the range of training, and those that were filled in, each
    separated by "; "."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    head = [*(f"probability_{name}" for name in prediction.classes), "class", OUTSIDE, FILLED]
    writer.writerow([IMAGE, *head] if prediction.images else head)
    images = [[name] for name in prediction.images] or [[]] * len(prediction.outside)
    for image, row, chosen, outside, filled in zip(
        images,
        prediction.probabilities.tolist(),
        prediction.chosen,
        prediction.outside,
        prediction.filled,
        strict=True,
    ):
        marks = ("; ".join(outside), "; ".join(filled))
        writer.writerow([*image, *(f"{value:.6f}" for value in row), chosen, *marks])
    return text.getvalue()
