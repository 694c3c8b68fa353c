"""`securefair predict`, `evaluate` and `show`: what a hospital does with the model that it kept."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from securefair.cli.ending import shown, stop
from securefair.cli.options import ByOption, ForceOption, JsonOption, LanguageOption
from securefair.report.telling import say, say_json

ModelArgument = Annotated[
    Path, typer.Argument(help="Folder of a model, such as runs/mine/models/north.")
]


def predict(
    model: ModelArgument,
    table: Annotated[
        str,
        typer.Argument(help="Table of patients, a query, or a folder of images; without a label."),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", help="CSV file to write (default: the terminal).")
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option("--keep", help="Column of the table to repeat, such as a number; repeatable."),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            "--threshold",
            min=0,
            max=1,
            help="Of two classes: the last one from this probability on (default: the likelier).",
        ),
    ] = None,
    horizon: Annotated[
        list[float] | None,
        typer.Option(
            "--horizon",
            help="Of a time to an event: survival until this time, in its unit; repeatable.",
        ),
    ] = None,
    force: ForceOption = False,
    json: JsonOption = False,
) -> None:
    """Predict for new patients with the model that a run left, by the rules of its training.

    One row a patient, in the table's order: the probability of each class, the most probable
    class, and by name columns whose value lies outside the range of the training patients (beyond
    the agreed range of a column it counts as its nearer end); columns that were filled in, since
    the model does not know the level, or the value is missing and never was in training, which is
    warned of; and columns that are missing as in training. What is no number, or a code such as 999
    far beyond a range, is filled in as well. A heading may differ in case. A table without a column
    is refused. A model that does worse than the hospital's own is warned of.
    Of a folder each image is a patient, in the order of names, and its name is the first column.
    Characters that would steer a terminal are shown as ?; a file (--out, --json) keeps them.

    Example: securefair predict runs/mine/models/north new.csv --out predictions.csv

    Example: securefair predict runs/skin/models/north photographs --out predictions.csv
    """

    from securefair.data import Table, read_rows
    from securefair.data.databases import is_query
    from securefair.prediction import load_model
    from securefair.prediction.folder import CARD, load_card
    from securefair.prediction.writing import chosen_from, columns_of, predictions_csv
    from securefair.report import check_new_file, write_text
    from securefair.report.wording import plural

    if out is not None:
        if out.exists() and Path(table).exists() and out.samefile(table):
            stop(f"{out}: these are the patients; predictions need a file of their own")
        check_new_file(out, force=force, endings=(".csv",))
    kept = load_model(model)
    rows: Path | str | Table = table
    if keep and (is_query(table) or not Path(table).is_dir()):
        rules = kept.record.table
        missing = () if rules is None else rules.every_missing
        rows = read_rows(table if is_query(table) else Path(table), torn=True, missing=missing)
    prediction = kept.predict_details(rows, horizons=horizon or ())
    chosen = chosen_from(prediction, threshold)
    kept_columns = columns_of(rows, keep or [])
    text = predictions_csv(prediction, chosen, kept_columns)
    if out is not None:
        write_text(out, text)
    warnings = list(prediction.warnings)
    if not (model / CARD).exists():
        warnings.insert(
            0,
            f"{shown(model / CARD)} is missing: nothing tells whether a hospital's own model "
            "predicts better",
        )
    elif (card := load_card(model)).worse:
        warnings.insert(
            0,
            f"on test patients of {card.hospital} a model of its own predicts better than this "
            f"one: securefair show {shown(model)}",
        )
    for warning in warnings:
        say(f"Warning: {warning}", err=True)
    if json:
        said = {
            "classes": prediction.classes,
            "probabilities": prediction.known(prediction.probabilities.tolist()),
            "class": prediction.known(chosen),
            "numbers": {
                name: prediction.known(one.tolist()) for name, one in prediction.numbers.items()
            },
            "kept": kept_columns,
            "images": prediction.images,
            "outside_training_range": prediction.outside,
            "filled_in": prediction.filled,
            "missing": prediction.missing,
            "warnings": warnings,
        }
        say_json(said)
        return
    if out is None:
        say(text, nl=False)
        return
    count, outside = len(prediction.outside), sum(map(bool, prediction.outside))
    say(f"{plural(count, 'patient')}: {out}")
    if outside:
        say(
            f"{outside} of them {'have' if outside > 1 else 'has'} values outside the range of the "
            "training patients: see column outside_training_range. Values beyond the agreed range "
            "of a column count as its nearer end."
        )


def evaluate(
    model: ModelArgument,
    table: Annotated[str, typer.Argument(help="Table of patients with the label, or a query.")],
    by: ByOption = None,
    patient_column: Annotated[
        str | None,
        typer.Option(
            "--patient-column",
            help="Column that names the patient of each row, where one has several rows.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="File for the page, .html: scores and pictures.")
    ] = None,
    language: LanguageOption = "en",
    force: ForceOption = False,
    json: JsonOption = False,
) -> None:
    """Score a kept model on patients whose outcome is known, such as another year's.

    Scores have standard errors over the patients. Calibration, a decision curve and groups of
    patients follow. With --out the page that `validate` writes, with pictures.

    Example: securefair evaluate runs/mine/models/north external.csv --by sex --out year.html
    """
    from securefair.cli.model_tables import evaluation_report
    from securefair.prediction import evaluate as scored
    from securefair.prediction import load_model
    from securefair.report import check_new_file, write_text
    from securefair.report.scored import evaluated_page
    from securefair.report.screen import Screen
    from securefair.words import words_of

    words = words_of(language.lower()).about("hospitals")
    if out is not None:
        check_new_file(out, force=force, endings=(".html",))
    kept = load_model(model)
    evaluation = scored(kept, table, by=by or (), patient_column=patient_column)
    for warning in evaluation.warnings:
        say(f"Warning: {warning}", err=True)
    if out is not None:
        label = None if kept.record.table is None else kept.record.table.target.name
        page = evaluated_page(evaluation, Path(table).name, label=label, words=words)
        write_text(out, page)
    if json:
        say_json(evaluation)
        return
    Screen().print(evaluation_report(evaluation))
    if out is not None:
        say(f"\n{out}")


def show(model: ModelArgument, json: JsonOption = False) -> None:
    """Show the card of a kept model: what it is, how good, who taught it, and what it is not.

    Example: securefair show runs/mine/models/north
    """
    from rich.markdown import Markdown

    from securefair.prediction import load_model
    from securefair.prediction.card import markdown
    from securefair.prediction.folder import load_card
    from securefair.report.screen import Screen

    load_model(model)  # a card alone would not tell that the weights are damaged
    card = load_card(model)
    if json:
        say_json(card)
        return
    Screen().print(Markdown(markdown(card), hyperlinks=False))
