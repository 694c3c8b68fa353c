"""`securefair new`, `check` and `config`: from nothing to a configuration that will run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from securefair.cli.ending import shown
from securefair.cli.options import JsonOption, TrustOption
from securefair.cli.outcomes import (
    EventOption,
    ExposureOption,
    OutcomeOption,
    TimeOption,
    known_keys,
)
from securefair.cli.trust import check_trusted
from securefair.report.telling import say, say_json


def new(
    name: Annotated[Path, typer.Argument(help="Folder to make; its name becomes the run's.")],
    data: Annotated[
        list[str] | None,
        typer.Option(
            "--data",
            help="Your table, once for each hospital: FILE or NAME=FILE (.csv, .csv.gz, .parquet, "
            ".xlsx; of SPSS .sav, Stata .dta, SAS .sas7bdat and .xpt), or "
            "NAME=duckdb:FILE?query=SELECT ... .",
        ),
    ] = None,
    label: Annotated[
        str | None, typer.Option("--label", help="Column of your tables to predict.")
    ] = None,
    positive: Annotated[
        str | None,
        typer.Option(
            "--positive", help="Code of the class that must not be missed (default: the last one)."
        ),
    ] = None,
    classes: Annotated[
        list[str] | None,
        typer.Option(
            "--class", help="Codes of one class, with commas between; once for each class."
        ),
    ] = None,
    outcome: OutcomeOption = None,
    time: TimeOption = None,
    event: EventOption = None,
    exposure: ExposureOption = None,
    missing: Annotated[
        list[str] | None,
        typer.Option("--missing", help="A further code of a missing value; repeatable."),
    ] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option("--drop", help="Column that is to be no feature; repeatable."),
    ] = None,
    join_spellings: Annotated[
        bool,
        typer.Option("--join-spellings", help="Take codes that differ in case only for one."),
    ] = False,
    image: Annotated[
        str | None,
        typer.Option("--image", help="Column of your tables with paths of images."),
    ] = None,
    extractor: Annotated[
        str | None,
        typer.Option(
            help="Network that looks at the images (default: efficientnet_lite0); others as "
            "torchvision names them."
        ),
    ] = None,
    weights: Annotated[
        Path | None,
        typer.Option(help="Weights of another network, the same .safetensors file everywhere."),
    ] = None,
    features: Annotated[
        int | None,
        typer.Option(min=1, help="Features of an image that it keeps (default: 64)."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Make a folder with a commented configuration that runs as it is.

    Without --data it comes with tables of four real hospitals to replace by your own. With --data
    the configuration describes your tables: look at the columns that it found.

    Example: securefair new my-hospitals

    Example: securefair new mine --data north.csv --data south.csv --label diagnosis

    Example: securefair new lung --data north.csv --data south.csv --time months --event died

    Example: securefair new skin --data north.csv --data south.csv --label finding --image photo
    """

    from securefair.cli.findings import told
    from securefair.collaboration.kinds import default_algorithm, unread_by
    from securefair.config import load_config
    from securefair.errors import ConfigError
    from securefair.report.wording import further_line
    from securefair.user.given_tables import check_column, image_column
    from securefair.user.template import new_project

    if image is not None:
        check_column(data or (), image)
    elif extractor is not None or weights is not None or features is not None:
        raise ConfigError(
            "only a column of images has these options",
            where="--extractor, --weights, --features",
            expected="--image beside them",
        )
    project = new_project(
        name,
        tables=data or (),
        label=label or time,
        positive=positive,
        joined=join_spellings,
        image=None if image is None else image_column(image, extractor, weights, features),
        unread=unread_by([default_algorithm()]),
        classes=[[one.strip() for one in codes.split(",")] for codes in classes or ()],
        missing=missing or (),
        drop=drop or (),
        known=known_keys(label, outcome, time, event, exposure),
    )
    if json:
        say_json(project)
        return
    say(f"Made {project.folder} with {', '.join(project.files)}")
    for column, why in project.unused.items():
        say(f"Column {column} is not used: {why}.")
    if project.patients:
        say(
            f"Column {project.patients} names patients, and some have several rows: all of one are "
            "for training, or all for testing."
        )
    for whose, columns in project.further.items():
        say(further_line(whose, columns))
    for _, line in told(project.findings):
        say(line)
    if project.missable:
        say(f'The class that must not be missed: "{project.missable}" (--positive names another).')
    config = name / "config.toml"
    asked = " --trust" if load_config(config).needs_trust else ""
    say(f"\nNext:\n  securefair check {shown(config)}{asked}\n  securefair run {shown(config)}")


def check(
    config: Annotated[Path, typer.Argument(help="TOML file to check.")],
    model: Annotated[
        Path | None,
        typer.Option(
            help="Prices of `profile scale --out` (with securefair-lab); adds hours and memory."
        ),
    ] = None,
    trust: TrustOption = False,
    json: JsonOption = False,
) -> None:
    """Read a configuration and its data, plan the exchanges, say what will happen; run nothing.

    What to look at in the tables comes first, a line each: codes of missing values, spellings,
    a column that gives the outcome away. Such warnings stop nothing. Where a measurement is in two
    units, as mg/dl and mmol/l, neither this nor a run goes on, unless table.same_unit names it.

    A configuration may name Python code that loads its data. Such code runs with --trust only.

    Example: securefair check my-hospitals/config.toml
    """
    import msgspec

    from securefair.cli.check_tables import check_report
    from securefair.cli.findings import findings_report
    from securefair.collaboration.kinds import kinds_of, refuse_unread
    from securefair.collaboration.resolved import ResolvedRun
    from securefair.config import load_config
    from securefair.data.findings import Finding, refusal
    from securefair.errors import SecureFairError
    from securefair.profiling.forecast import check_config
    from securefair.report.screen import Screen
    from securefair.user.inspection import inspect_tables
    from securefair.user.tables import ReadTables

    loaded = load_config(config)
    check_trusted(loaded, trust=trust)
    findings: list[Finding] = []
    try:
        kinds, tables = kinds_of(loaded), ReadTables(loaded.table)
        refuse_unread(loaded)
        findings += inspect_tables(
            loaded.table,
            loaded.participants,
            tables,
            renewals=loaded.renewals,
        )
        checked = check_config(ResolvedRun.of(loaded, kinds, tables), cost_model=model)
    except SecureFairError as error:
        if json:
            said = {"findings": [*findings, refusal(error)]}
            say_json(said)
        raise
    if json:
        plain = msgspec.to_builtins(checked) | {"findings": msgspec.to_builtins(findings)}
        say_json(plain)
        return
    console = Screen()
    console.print(findings_report(findings), soft_wrap=True)  # one finding, one line
    console.print(check_report(checked, sum(one.severity != "note" for one in findings)))
    say(f"\nNext: securefair run {shown(config)}")


def config(
    algorithm: Annotated[
        str | None,
        typer.Option(help="Only what this kind of collaboration reads: transfer, vpdl, ..."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Print the demo's configuration, a commented template for your own.

    Above each key stands what it means and what it accepts.

    Example: securefair config --algorithm transfer > my-hospitals.toml
    """

    from securefair.collaboration.kinds import narrowed, unread_keys
    from securefair.config import demo_config
    from securefair.user.template import demo_text

    settings = demo_config() if algorithm is None else narrowed(demo_config(), algorithm)
    if json:
        say_json(settings.model_dump(mode="json"))
        return
    say(demo_text(settings, unread_keys(settings.run.collaborative)), nl=False)
