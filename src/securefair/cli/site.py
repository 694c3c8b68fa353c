"""`securefair site` and `securefair audit`: one hospital's own machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from securefair.cli.ending import EXIT_CODE, shown
from securefair.cli.identity import PassphraseOption, site_passphrase
from securefair.cli.joining import DataOption, TestDataOption, init, join, logger, run
from securefair.cli.options import ByOption, JsonOption
from securefair.report.telling import tell

app = typer.Typer(name="site", help="One hospital's own machine.", no_args_is_help=True)
audit_app = typer.Typer(name="audit", help="The log of what a site did.", no_args_is_help=True)

SiteArgument = Annotated[Path, typer.Argument(help="The site's folder.")]


app.command()(join)
app.command()(init)


@app.command()
def check(
    folder: SiteArgument, passphrase_file: PassphraseOption = None, json: JsonOption = False
) -> None:
    """Check what a site needs before it starts: clock, signatures, plan, keys, data, disk.

    Example: securefair site check ~/north
    """
    from securefair.sites.site.checking import check_site

    lines = list(check_site(folder, site_passphrase(folder, passphrase_file)))
    tell(json, "\n".join(lines), lines)


@app.command()
def start(
    folder: SiteArgument, passphrase_file: PassphraseOption = None, json: JsonOption = False
) -> None:
    """Run the site in the foreground, until all rounds are over or it is stopped; checks it first.

    With --json, each line of the log is a JSON document on standard error. There is one at least
    once an hour, unless something is being computed.

    Example: securefair site start ~/north --passphrase-file ~/.north
    """
    secret = site_passphrase(folder, passphrase_file)
    run(folder, secret, logger(folder, json=json), json=json)


@app.command()
def status(
    folder: SiteArgument,
    exit_code: Annotated[
        bool,
        typer.Option(
            EXIT_CODE, help="0 well, 1 warnings or waiting, 2 stopped or stuck, 3 nobody can look."
        ),
    ] = False,
    json: JsonOption = False,
) -> None:
    """Show rounds, peers, disclosure so far and what was refused, whether the site runs or not.

    It is running, waiting (for whom, since when), stuck, stopped, over or left. Warnings say what
    expires within 30 days, and what is wrong with disk, data, share, relay or peers.

    Example: securefair site status ~/north --exit-code
    """
    from securefair.sites.site.status import sentences, status_of

    found = status_of(folder)
    tell(json, "\n".join(sentences(found)), found)
    if exit_code:
        raise typer.Exit(found.code)


@app.command()
def page(
    folder: SiteArgument,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 for any that is free.")] = 0,
    json: JsonOption = False,
) -> None:
    """Show the status as a page on this machine only, until Ctrl-C. It changes nothing.

    Example: securefair site page ~/north --port 8700
    """
    import threading

    from securefair.errors import ConfigError
    from securefair.sites.operator.page import served

    try:
        with served(folder, port) as server:
            said = f"Status: {server.address} (Ctrl-C ends it)"
            tell(json, said, {"address": server.address})
            threading.Event().wait()
    except OSError as error:
        raise ConfigError("the page cannot be served", where="--port", found=str(error)) from error


@app.command()
def stop(folder: SiteArgument, json: JsonOption = False) -> None:
    """Stop a running site; it goes on where it was when it is started again.

    Example: securefair site stop ~/north
    """
    from securefair.sites.site.stopping import stop_site

    stopped = stop_site(folder)
    tell(json, "Stopped." if stopped else "It was not running.", {"stopped": stopped})


@app.command()
def export(
    folder: SiteArgument,
    out: Annotated[Path, typer.Argument(help="New folder for the model and the report.")],
    by: ByOption = None,
    passphrase_file: PassphraseOption = None,
    json: JsonOption = False,
) -> None:
    """Write this site's own model and its own report as they are now: what it may know.

    In a validation also the page of peers' models on its own patients, with --by for groups.

    `site start` writes both at the end, into the folder `results` of the site.

    Example: securefair site export ~/north north-results
    """
    from securefair.sites.site.folder import check_new_folder
    from securefair.sites.site.running import export_site

    check_new_folder(out)
    own = export_site(folder, site_passphrase(folder, passphrase_file), out, by=by or ())
    files = [str(path) for path in (own.model, own.page, *own.others)]
    tell(json, "\n".join(files), files)


@app.command()
def recover(
    folder: SiteArgument,
    passphrase_file: PassphraseOption = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    json: JsonOption = False,
) -> None:
    """Go on after a store was lost, damaged or put back from a backup. It then answers nobody.

    Model and records stay; a damaged store is put aside, with its own. Keys are made anew, and the
    ledger counts as full: nobody knows what the site let out after the backup. Peers take its new
    epoch by themselves. Whom the store does not show as blocked any more must be blocked again.

    Example: securefair site recover ~/north
    """
    import time

    from msgspec import to_builtins

    from securefair.sites.site.recovery import recover as recovered

    secret = site_passphrase(folder, passphrase_file)
    if not yes:
        typer.confirm("This site will learn, but answer nobody any more. Go on?", abort=True)
    done = recovered(folder, secret, time.time())
    left, facts = done.left, to_builtins(done.left)
    when = f"after round {left.round + 1}" if left.round >= 0 else "before its first round was over"
    text = f"Recovered {when}, epoch {left.epoch}."
    if done.damaged is not None:
        text += f"\nThe damaged store, with model and records: {done.damaged}"
        facts["damaged"] = str(done.damaged)
    if done.unread:
        text += f"\nCOULD NOT BE READ: {', '.join(done.unread)}. If it had left, do not start it."
    text += (
        f"\nBlocked: {', '.join(done.blocked) or 'nobody'}. Whom it had blocked besides must be "
        f"blocked again: securefair site block {shown(folder)} PEER"
    )
    facts.update(blocked=done.blocked, unread=done.unread)
    tell(json, text, facts)


@app.command()
def renew(
    folder: SiteArgument,
    data: DataOption,
    test_data: TestDataOption = None,
    passphrase_file: PassphraseOption = None,
    json: JsonOption = False,
) -> None:
    """Go on with other patients, from the next round or once the last is over. Stop the site first.

    All that was let out stays counted, and so is what follows. Refused where fewer than 20 patients
    came, or went, since an earlier table: what is told before and after would tell of them.

    Example: securefair site renew ~/north --data own-2027.csv
    """
    from securefair.sites.operator.renewing import renew as renewed
    from securefair.sites.site.folder import SampleFiles

    files = SampleFiles(
        data=str(data.absolute()),
        test_data=None if test_data is None else str(test_data.absolute()),
    )
    found = renewed(folder, site_passphrase(folder, passphrase_file), files)
    when = f"after round {found.after}" if found.after else "from the first round"
    text = (
        f"{found.train} training and {found.test} test samples, {when}.\n"
        f"Next: securefair site start {folder}"
    )
    tell(json, text, found)


@app.command()
def block(
    folder: SiteArgument,
    peer: Annotated[str, typer.Argument(help="Name of the peer.")],
    undo: Annotated[bool, typer.Option("--undo", help="Take its envelopes again.")] = False,
    json: JsonOption = False,
) -> None:
    """Take nothing of a peer any more, for a stolen key or a site that left. Stop the site first.

    Example: securefair site block ~/north south
    """
    import time

    from securefair.sites.site.recovery import block as blocked

    blocked(folder, peer, time.time(), blocked=not undo)
    text = f"{peer} is {'taken again' if undo else 'blocked'}."
    tell(json, text, {"peer": peer, "blocked": not undo})


@app.command()
def leave(
    folder: SiteArgument,
    passphrase_file: PassphraseOption = None,
    seconds: Annotated[
        float, typer.Option(min=0.0, help="To wait for the peers to hear it.")
    ] = 60.0,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    json: JsonOption = False,
) -> None:
    """Leave the project for good: peers are told, and do not wait. Stop the site first.

    Example: securefair site leave ~/north
    """
    from securefair.sites.operator.lifecycle import leave as left

    secret = site_passphrase(folder, passphrase_file)
    if not yes:
        typer.confirm("This site will never start again. Go on?", abort=True)
    heard = left(folder, secret, seconds)
    lines = [f"{peer}: {'heard it' if yes else 'not reached'}" for peer, yes in heard.items()]
    tell(json, "\n".join(lines), heard)


@app.command()
def erase(
    folder: SiteArgument,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    json: JsonOption = False,
) -> None:
    """Destroy keys, stored numbers and models of a site; a note of its end stays.

    Example: securefair site erase ~/north
    """
    import time

    from securefair.sites.operator.lifecycle import erase as erased
    from securefair.sites.site.folder import read_settings

    read_settings(folder)
    if not yes:
        typer.confirm("Keys, numbers and models are lost for good. Go on?", abort=True)
    note = erased(folder, time.time())
    tell(json, f"Erased; note: {note}", {"note": str(note)})


@app.command()
def upgrade(folder: SiteArgument, json: JsonOption = False) -> None:
    """Bring a site that an older version has written up to date; a copy of its store stays.

    Example: securefair site upgrade ~/north
    """
    from securefair.sites.operator.lifecycle import upgrade as upgraded

    done = upgraded(folder)
    text = "The site is up to date."
    if done.copy is not None:
        text = f"The site is up to date. Its store as it was: {done.copy}"
    if not done.goes_on:
        text += (
            "\nIts project is of another version of the protocol: models and records stay, and to "
            "go on the project must be founded anew."
        )
    copy = None if done.copy is None else str(done.copy)
    facts = {"found": done.found, "now": done.now, "copy": copy, "goes_on": done.goes_on}
    tell(json, text, facts)


def refit(
    folder: SiteArgument,
    without: Annotated[str, typer.Option("--without", help="Name of the peer.")],
    out: Annotated[Path, typer.Option("--out", help="Folder for the model.")],
    passphrase_file: PassphraseOption = None,
    json: JsonOption = False,
) -> None:
    """Rebuild a site's model without what one peer said, from stored numbers and no exchange.

    Example: securefair refit ~/north --without south --out north-without-south
    """
    from securefair.sites.operator.lifecycle import refit as refitted

    model = refitted(folder, site_passphrase(folder, passphrase_file), without, out)
    tell(json, f"Next: securefair predict {model} new.csv", {"model": str(model)})


@audit_app.command()
def verify(
    folder: SiteArgument,
    head: Annotated[
        list[str] | None,
        typer.Option("--head", help="ROWS:HASH that a peer's `audit heads` printed."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Check the audit log: every row against the one before, and against heads that peers have.

    Example: securefair audit verify ~/north --head 120:9f86d081884c7d65...
    """
    from securefair.sites.operator.auditing import verified

    length, digest = verified(folder, head or [])
    text = f"The audit log is whole: {length} rows, head {digest}"
    tell(json, text, {"rows": length, "head": digest})


@audit_app.command()
def heads(folder: SiteArgument, json: JsonOption = False) -> None:
    """Print the newest head of each peer's audit log that this site has seen, for `audit verify`.

    Example: securefair audit heads ~/south
    """
    from securefair.sites.operator.auditing import seen_heads

    found = seen_heads(folder)
    tell(json, "\n".join(f"{name} {head}" for name, head in found.items()), found)
