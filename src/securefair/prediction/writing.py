"""Predictions as a CSV file that any program reads."""

from __future__ import annotations

import csv
import io

from securefair.prediction.hospital_model import Prediction

OUTSIDE = "outside_training_range"


def predictions_csv(prediction: Prediction) -> str:
    """One row a patient, in order: `probability_CLASS` for each class, `class`, and the columns
    outside the range of training, separated by "; "."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*(f"probability_{name}" for name in prediction.classes), "class", OUTSIDE])
    for row, chosen, outside in zip(
        prediction.probabilities.tolist(), prediction.chosen, prediction.outside, strict=True
    ):
        writer.writerow([*(f"{value:.6f}" for value in row), chosen, "; ".join(outside)])
    return text.getvalue()
