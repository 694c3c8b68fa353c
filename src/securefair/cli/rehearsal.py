"""`securefair rehearse`: a whole collaboration of real site processes on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from securefair.cli.options import JsonOption
from securefair.errors import ConfigError
from securefair.report.telling import say, say_json


def rehearse(
    courier: Annotated[
        str, typer.Option(help="How parcels travel: local, folder or flare.")
    ] = "local",
    algorithm: Annotated[
        str | None, typer.Option(help="The kind of collaboration (default: that of a run).")
    ] = None,
    outcome: Annotated[
        str | None,
        typer.Option(help="What made-up tables have instead of classes: time, number or count."),
    ] = None,
    sites: Annotated[int, typer.Option(min=2, max=32, help="Hospitals, a process each.")] = 4,
    rounds: Annotated[int, typer.Option(min=1, help="Rounds in all.")] = 6,
    kills: Annotated[int, typer.Option(min=0, help="Processes to kill, at random moments.")] = 5,
    faults: Annotated[
        float,
        typer.Option(min=0.0, max=0.2, help="Rate of each kind of fault of the couriers."),
    ] = 0.03,
    hostile: Annotated[
        bool,
        typer.Option("--hostile", help="The last site lies, and clocks jump; nobody is killed."),
    ] = False,
    year: Annotated[
        bool,
        typer.Option(
            "--year", help="365 days of eight sites on a simulated clock; --algorithm and --beside."
        ),
    ] = False,
    beside: Annotated[
        Path | None,
        typer.Option(
            metavar="PYTHON",
            help="Interpreter of another version: all sites but one begin with that, and a killed "
            "one is upgraded to this one.",
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Rehearse: sites with identities and stores of their own, killed and disturbed.

    Heart disease data, no configuration; with --outcome, tables that are made up. Drops, repeats,
    reordering, delays and flipped bits each occur at the given rate. Afterwards all decisions are
    compared with the same run in one process. Exit code 0 only if nothing was lost and every
    decision is the same.

    With --hostile one site signs false receipts and impossible envelopes, floods the others and
    plants links, pipes and devices in the shared folder, and all clocks jump. Exit code 0 only if
    the honest sites end all rounds with each other, each says what was done to it, and none is
    told to destroy anything.

    With --year eight hospitals live through a year in some minutes, over a share that is brought up
    to date every night: each week one is down for a day, once all are for three; a clock is a day
    ahead for a day, one hospital leaves, one joins, one loses its keys, one gets another machine,
    one has other patients, one puts a backup back and later two do, and one lies until it is
    blocked. Where the release before is set up (`make previous`, or --beside), two sites begin with
    that and are upgraded; otherwise the year says that nothing was.
    Exit code 0 only if every round that enough hospitals could take part in is finished, and
    nothing is spent twice.

    With --beside PYTHON an upgrade is rehearsed: sites of two versions in one project.

    Example: securefair rehearse --sites 4 --rounds 6 --kills 5 --faults 0.03

    Example: securefair rehearse --outcome time --rounds 1

    Example: securefair rehearse --year --json

    Example: securefair rehearse --hostile --sites 4
    """
    import tempfile

    from securefair.ckks import set_threads
    from securefair.cli.ending import EXIT_FAILED
    from securefair.sites.rehearsal.rehearsal import rehearse as rehearsed

    usual, read = ("local", 5, 0.03, None), (courier, kills, faults, outcome)
    if year and (hostile or (*read, sites, rounds) != (*usual, 4, 6)):
        raise ConfigError(
            "a year takes no such option",
            where="--year",
            expected="no option but --algorithm and --beside",
        )
    if hostile and (*read, algorithm, beside) != (*usual, None, None):
        raise ConfigError(
            "this rehearsal kills nobody",
            where="--hostile",
            expected="no option but --sites and --rounds",
        )
    set_threads(1)  # of every site: they share this machine's cores
    if year:
        _rehearse_year(algorithm, beside, json=json)
        return
    if hostile:
        _rehearse_hostile(sites, rounds, json=json)
        return
    with tempfile.TemporaryDirectory(prefix="sf-") as folder:
        result = rehearsed(
            Path(folder),
            courier=courier,
            algorithm=algorithm,
            outcome=outcome,
            sites=sites,
            rounds=rounds,
            kills=kills,
            faults=faults,
            beside=beside,
        )
    if json:
        say_json(result)
    else:
        equal = "the same as" if result.decisions_equal else "OTHER THAN"
        say(
            f"{sites} sites, {result.rounds} rounds each, {result.kills} processes killed, "
            f"{result.refused} envelopes refused, {result.seconds:.0f} s.\n"
            f"Decisions and models are {equal} in one process; rounds lost: {result.lost_rounds}."
        )
    if not result.passed:
        raise typer.Exit(EXIT_FAILED)


def _rehearse_hostile(sites: int, rounds: int, *, json: bool) -> None:
    import tempfile
    from pathlib import Path

    from securefair.cli.ending import EXIT_FAILED
    from securefair.sites.rehearsal.hostile import rehearse_hostile

    with tempfile.TemporaryDirectory(prefix="sf-") as folder:
        result = rehearse_hostile(Path(folder), sites=sites, rounds=rounds)
    if json:
        say_json(result)
    else:
        say(
            f"{sites} sites, one of which lies, {result.rounds} rounds, {result.seconds:.0f} s. "
            f"Rounds lost between the honest ones: {result.lost_rounds}."
        )
        for fault in result.faults:
            say(f"  {fault.done} (by {fault.by}): {fault.to} says: {fault.said or 'NOTHING'}")
    if not result.passed:
        raise typer.Exit(EXIT_FAILED)


def _rehearse_year(algorithm: str | None, beside: Path | None, *, json: bool) -> None:
    import tempfile

    from securefair.cli.ending import EXIT_FAILED
    from securefair.sites.rehearsal.elsewhere import PREVIOUS
    from securefair.sites.rehearsal.year import rehearse_year

    if beside is None and PREVIOUS.exists():
        beside = PREVIOUS

    with tempfile.TemporaryDirectory(prefix="sf-") as folder:
        result = rehearse_year(Path(folder), algorithm=algorithm, beside=beside)
    if json:
        say_json(result)
    else:
        say(
            f"{result.days} days, {result.sites} sites, {result.outages} outages: "
            f"{result.rounds_finished} of {result.rounds_possible} rounds finished, "
            f"{result.rounds_declined} of them with decisions not to share where answers of enough "
            f"peers would be; answers spent twice: {result.spent_twice}."
        )
        if result.not_upgraded:
            say(f"Nothing was upgraded: {result.not_upgraded}.")
        for one in result.upgrades:
            midst = "between rounds"
            if one.open_round is not None:
                midst = f"in the midst of round {one.open_round + 1}"
            say(f"Upgraded from {one.version}: {one.site}, {midst}.")
        say("What operators did:")
        for action in result.actions:
            say(f"  {action}")
    if not result.passed:
        raise typer.Exit(EXIT_FAILED)
