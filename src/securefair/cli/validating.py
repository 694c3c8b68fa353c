"""`securefair validate`: how good peers' models are on own patients, without showing either."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from securefair.cli.options import (
    BackendOption,
    ByOption,
    ForceOption,
    JsonOption,
    LanguageOption,
    TrustOption,
)
from securefair.cli.trust import check_trusted
from securefair.report.telling import say, say_json

if TYPE_CHECKING:
    from securefair.config import RunConfig
    from securefair.run.validating import Validation
    from securefair.words import Words


def validate(
    config: Annotated[Path, typer.Argument(help="TOML file; `securefair new` writes one.")],
    by: ByOption = None,
    role: Annotated[
        list[str] | None,
        typer.Option(
            "--role",
            help="NAME=student: only validates, and needs no model. NAME=teacher: is only "
            "validated. Repeatable.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Folder for a page of each hospital and validation.json."),
    ] = None,
    backend: BackendOption = None,
    language: LanguageOption = "en",
    force: ForceOption = False,
    trust: TrustOption = False,
    json: JsonOption = False,
) -> None:
    """Score every hospital's model on the labelled patients of every other, under encryption.

    Patients stay encrypted, and models at home. Each hospital opens its peers' predictions for its
    own patients one by one, and nobody learns from them. Scores have standard errors over the
    patients; calibration, a decision curve, groups, and scores after recalibration follow.

    Example: securefair validate my-hospitals/config.toml --by sex --out validated
    """
    from securefair.cli.ending import stop
    from securefair.collaboration.kinds import first_seed_of, validating_kind
    from securefair.config import load_config, override
    from securefair.report import check_new_folder
    from securefair.words import words_of

    roles = {}
    for one in role or ():
        name, separator, said = one.rpartition("=")
        if not separator:
            stop(f"--role {one}: write NAME=student or NAME=teacher")
        roles[name] = said
    written = words_of(language.lower()).about("hospitals")
    loaded = load_config(config)
    check_trusted(loaded, trust=trust)
    if out is not None:
        check_new_folder(out, force=force)
    settings = first_seed_of(loaded, validating_kind())
    if backend is not None:
        settings = override(settings, {"encryption.backend": backend}, source="--backend")
    found = _validated(settings, by or (), roles)
    for problem in found.problems:
        say(f"Warning: {problem}", err=True)
    if out is not None:
        _write(found, out, written)
    if json:
        say_json(found.as_json())
        return
    _show(found)
    if out is not None:
        say(f"\n{out}")


def _validated(config: RunConfig, by: Sequence[str], roles: dict[str, str]) -> Validation:
    """What is foretold of it, on standard error before anything is sent; then what was found."""
    from securefair.collaboration.resolved import ResolvedRun
    from securefair.run.validating import foretold, validate_resolved

    run = ResolvedRun.of(config).load()
    tables = {}
    if by:
        tables = {one.name: run.tables.of(one) for one in run.config.participants if one.is_table}
    for line in foretold(run, roles):
        say(f"Note: {line}", err=True)
    return validate_resolved(run, by=by, roles=roles, tables=tables)


def _show(found: Validation) -> None:
    from rich.text import Text

    from securefair.cli.model_tables import fitting
    from securefair.report.screen import Screen
    from securefair.report.validated import validated_notes, validated_tables
    from securefair.words import words_of

    console, words = Screen(), words_of().about("hospitals")
    for name, one in found.hospitals.items():
        console.print(Text(words("validation.title", name=name), style="bold"))
        for table in validated_tables(one, words):
            for part in fitting(table):
                console.print(part)
        for note in validated_notes(one, words, found.stand_ins):
            console.print(Text(note, style="dim"))
        console.print()


def _write(found: Validation, out: Path, words: Words) -> None:
    from securefair.prediction.folder import folder_name
    from securefair.report import write_json, write_text, written_together
    from securefair.report.validated import validated_page

    with written_together(out) as place:
        for name, one in found.hospitals.items():
            page = validated_page(one, words, found.stand_ins, label=found.label)
            write_text(place / f"{folder_name(name)}.html", page)
        write_json(place / "validation.json", found.as_json())
