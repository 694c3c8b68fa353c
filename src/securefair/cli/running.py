"""`securefair demo`, `run`, `resume` and `renew`: a configuration in, a folder of results out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from securefair.cli.ending import interrupted, os_problem, stop
from securefair.cli.loggers import loggers
from securefair.cli.options import (
    BackendOption,
    CeilingOption,
    DeviceOption,
    JsonOption,
    LogOption,
    OutOption,
    ProcessesOption,
    QuietOption,
    RestartOption,
    RoundsOption,
    SeedsOption,
    TrustOption,
)
from securefair.cli.results import finished, results_in, tell
from securefair.cli.trust import check_trusted

if TYPE_CHECKING:
    from securefair.config import RunConfig
    from securefair.data.findings import Finding
    from securefair.report.screen import Screen


def demo(
    out: OutOption = None,
    seeds: SeedsOption = None,
    rounds: RoundsOption = None,
    backend: BackendOption = None,
    ceiling: CeilingOption = False,
    processes: ProcessesOption = None,
    restart: RestartOption = False,
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Four real hospitals improve a heart-disease model together, under encryption.

    A second time it shows the results that are there.

    Example: securefair demo --out runs/demo
    """
    from securefair.config import demo_config

    _run(
        demo_config(),
        out,
        quiet,
        json,
        restart=restart,
        options=_keys_of(seeds, rounds, backend, ceiling),
        processes=processes,
        shows=True,
    )


def run(
    config: Annotated[Path, typer.Argument(help="TOML file; `securefair new` writes one.")],
    out: OutOption = None,
    seeds: SeedsOption = None,
    rounds: RoundsOption = None,
    backend: BackendOption = None,
    device: DeviceOption = None,
    ceiling: CeilingOption = False,
    processes: ProcessesOption = None,
    restart: RestartOption = False,
    log: LogOption = None,
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Run the collaboration that a configuration file describes.

    Example: securefair run my-hospitals/config.toml --out runs/mine
    """
    from securefair.config import load_config

    _run(
        load_config(config),
        out,
        quiet,
        json,
        restart=restart,
        options=_keys_of(seeds, rounds, backend, ceiling, device),
        processes=processes,
        log=log or (),
    )


def resume(
    folder: Annotated[Path, typer.Argument(help="Folder of results that a run was writing to.")],
    processes: ProcessesOption = None,
    trust: TrustOption = False,
    log: LogOption = None,
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Go on with an interrupted run from its last finished round.

    The folder may name Python code that loads the data. Such code runs with --trust only.

    Participants go on from their stores, which hold their secret keys until the run is over (in
    the folder's unfinished/, for its owner only), and send nothing twice. The results are those of
    a run without interruption: byte for byte with backend clear, and with encryption as far as two
    runs of equal seeds agree, whose noise is never the same (docs/faq.md).

    Example: securefair resume runs/demo
    """
    from securefair.run.checkpoint import unfinished_config

    config = unfinished_config(folder)
    check_trusted(config, trust=trust)
    _run(config, folder, quiet, json, resume=True, processes=processes, log=log or ())


def renew(
    folder: Annotated[Path, typer.Argument(help="Folder of a finished run of transfer.")],
    hospital: Annotated[str, typer.Option("--hospital", help="Whose own patients changed.")],
    data: Annotated[
        str, typer.Option("--data", help="Its table of now, or the query of a database.")
    ],
    test_file: Annotated[
        Path | None,
        typer.Option("--test-file", help="Samples to test on (default: a part is held out)."),
    ] = None,
    fraction: Annotated[
        float | None,
        typer.Option(
            "--fraction",
            min=0,
            help="disclosure.fraction: above 1, teachers answer although an earlier answer told "
            "as much as determines their model.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder for the results (default: RUN-renewed).")
    ] = None,
    trust: TrustOption = False,
    restart: RestartOption = False,
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """One hospital's own patients changed: it fits anew and asks its peers again, nobody else does.

    The rest of the run is computed again as it was; the results count all of it, with the bit that
    each decision by a reputation may tell. Rules of tables stay: the new table must fit them.

    Example: securefair renew runs/mine --hospital north --data north-2027.csv
    """
    from securefair.config import ParticipantSection, override
    from securefair.data.databases import is_query
    from securefair.run.folder import read_run

    config = read_run(folder).config
    check_trusted(config, trust=trust)
    query = is_query(data)
    one = ParticipantSection.model_construct(  # `override` checks it
        name=hospital,
        file=None if query else Path(data),
        data=data if query else None,
        test_file=test_file,
    )
    later = [*config.renewals, one.in_folder(Path.cwd())]
    changes: dict[str, object] = {
        "renewals": [each.model_dump(mode="json", exclude_none=True) for each in later]
    }
    if fraction is not None:
        changes["disclosure.fraction"] = fraction
    config = override(config, changes, source="command line")
    named = folder.resolve() if folder.name in ("", "..") else folder
    place = out or named.with_name(f"{named.name}-renewed")
    _run(config, place, quiet, json, restart=restart, again=True)


def _keys_of(
    seeds: int | None,
    rounds: int | None,
    backend: str | None,
    ceiling: bool,
    device: str | None = None,
) -> Mapping[str, object]:
    """Options that were given, under the dotted keys that they stand for."""
    options: dict[str, object] = {
        "run.seeds": None if seeds is None else list(range(seeds)),
        "training.rounds": rounds,
        "encryption.backend": backend,
        "encryption.device": device,
        "run.ceiling": ceiling or None,
    }
    return {key: value for key, value in options.items() if value is not None}


def _run(
    config: RunConfig,
    out: Path | None,
    quiet: bool,
    json: bool,
    *,
    options: Mapping[str, object] | None = None,
    restart: bool = False,
    again: bool = False,
    resume: bool = False,
    processes: int | None = None,
    log: Sequence[str] = (),
    shows: bool = False,
) -> None:
    """Check and run.

    Args:
        config: checked.
        out: folder of the results; None: as the configuration says.
        quiet, json, restart, processes, log: options of the commands.
        options: keys that the command line changes.
        again: these settings were run before, so none of them is a new wish.
        resume: whether to go on with what is interrupted in `out`.
        shows: what these settings gave in this folder is shown: their data never change.
    """
    from securefair.collaboration.kinds import kinds_of, libraries_of, refuse_unread
    from securefair.config import override
    from securefair.report import check_writable
    from securefair.run.ahead import forkserver, usual_processes

    if options:
        config = override(config, options, source="command line")
    kinds = kinds_of(config)
    if not again and not resume:
        refuse_unread(config)
    folder = out or (config.run.out or Path("runs")) / config.run.name
    check_writable(folder)
    if shows and not restart and (before := finished(folder, config)):
        anew = "Of an earlier run. Compute them anew: --restart, or --out for another folder"
        tell(
            before.result,
            results_in(folder),
            quiet=quiet,
            json=json,
            ledger=before.ledger,
            traffic=before.traffic,
            smaller=None if before.smaller is None else before.smaller.result,
            source=config.data.source,
            note=anew,
        )
        return
    if not resume:
        _check_free(folder, restart)
    processes = processes or usual_processes(len(config.run.seeds))
    if processes > 1:  # before this process loads the rest, so that both do so at once
        outcome = None if config.table is None else config.table.outcome
        forkserver(libraries_of(kinds, outcome, network=config.model.kind == "network"))

    from securefair.ckks.threads import set_threads
    from securefair.collaboration.resolved import ResolvedRun
    from securefair.data.findings import of_weight
    from securefair.report import show_progress
    from securefair.report.screen import Screen
    from securefair.run.execute import run_resolved
    from securefair.run.folder import write_outcome
    from securefair.run.lock import only_run
    from securefair.user.inspection import inspect_tables

    # On heads of this size threads mostly wait for each other.
    set_threads(1)
    console = Screen(err=json, quiet=quiet)
    resolved = ResolvedRun.of(config, kinds)  # once: tables may change while it runs
    config = resolved.config
    findings = inspect_tables(
        config.table,
        config.participants,
        resolved.tables,
        renewals=config.renewals,
    )
    resolved = replace(resolved, findings=of_weight(findings))
    _tell(console, findings)
    try:
        with (
            loggers(log, [one.name for one in config.participants], config.run.name) as callbacks,
            only_run(folder),
            show_progress(console) as progress,
        ):
            done = run_resolved(
                resolved,
                progress,
                out=folder,
                resume=resume,
                callbacks=callbacks,
                processes=processes,
            )
            write_outcome(done, folder)
    except KeyboardInterrupt:
        interrupted(_how_to_go_on("Interrupted", folder))
    except OSError as error:  # such as a full disk
        stop(_how_to_go_on(os_problem(error), folder))
    tell(
        done.result,
        results_in(folder),
        quiet=quiet,
        json=json,
        ledger=done.ledger,
        traffic=done.traffic,
        smaller=None if done.smaller is None else done.smaller.result,
        source=config.data.source,
    )


def _check_free(folder: Path, restart: bool) -> None:
    """Stop where results, or what is no run's, would be replaced that nobody gave up.

    Raises:
        DataError: the folder holds something, but no run.
    """
    from securefair.report import check_new_folder
    from securefair.run.checkpoint import is_finished, is_run, is_unfinished, resume_command

    if is_unfinished(folder) and not restart:
        stop(
            f"{folder} holds an interrupted run. Go on with it: {resume_command(folder)}; "
            "or start anew with --restart, or in another folder with --out"
        )
    if is_finished(folder) and not restart:
        stop(
            f"{folder} holds a finished run. Replace it with --restart, or write to another folder "
            "with --out"
        )
    if is_run(folder):
        return
    if (folder / "config.toml").exists():
        stop(
            f"{folder} holds a configuration, which that of the results would replace. Write to "
            "another folder with --out"
        )
    check_new_folder(folder, force=None)


def _tell(console: Screen, findings: Sequence[Finding]) -> None:
    """What to look at before a run goes on; refusals stop it and are told there."""
    from securefair.cli.findings import findings_report
    from securefair.data.findings import of_weight

    urgent = of_weight(findings)
    if told := [one for one in urgent if one.severity != "refusal"]:
        console.print(findings_report(told))
    points = sum(one.severity == "warning" for one in findings)
    if points:
        said = "1 point" if points == 1 else f"{points} points"
        if urgent:
            said = said.replace(" ", " more ")
        console.print(
            f"{said} to look at in the tables: securefair check lists them.",
            style="yellow",
        )


def _how_to_go_on(why: str, folder: Path) -> str:
    from securefair.run.checkpoint import is_unfinished, resume_command

    if not is_unfinished(folder):
        return f"{why}. Nothing was computed yet."
    return f"{why}. Go on from the last finished round: {resume_command(folder)}"
