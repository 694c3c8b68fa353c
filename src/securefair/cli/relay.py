"""`securefair flare`: NVIDIA FLARE as the relay between sites."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from securefair.cli.options import JsonOption
from securefair.report.telling import say, tell

app = typer.Typer(name="flare", help="NVIDIA FLARE as a relay.", no_args_is_help=True)


@app.command()
def export(
    project: Annotated[Path, typer.Argument(help="The project file.")],
    out: Annotated[Path, typer.Option("--out", help="Folder for the job.")],
    json: JsonOption = False,
) -> None:
    """Write the job that carries a project's parcels: three JSON files, no code.

    Example: securefair flare export heart.toml --out jobs
    """
    from securefair.sites.operator.relay import export_job
    from securefair.sites.project.project import load_project

    job = export_job(out, load_project(project).names)
    tell(json, f"Job: {job}", {"job": str(job)})


@app.command()
def harden(
    kit: Annotated[Path, typer.Argument(help="Startup kit of a FLARE client or server.")],
    site: Annotated[
        Path | None, typer.Option("--site", help="The site's folder; none for the server.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Let a startup kit run this courier and nothing else, and tell it where the site's door is.

    A certificate that the relay would not admit is refused here; FLARE itself does not say so.

    Example: securefair flare harden kits/north --site ~/north
    """
    import time

    from securefair.sites.operator.relay import harden as hardened
    from securefair.sites.project.card import utc
    from securefair.sites.project.certificate import check_certificate
    from securefair.sites.site.folder import read_settings

    if site is not None:
        read_settings(site)  # a door that nobody opens would only show as a peer that is silent
    files = [str(path) for path in hardened(kit, site)]
    end = check_certificate(kit, time.time())
    until = None if end is None else utc(end.timestamp())
    lines = [*files, "no certificate yet" if until is None else f"certificate until {until}"]
    tell(json, "\n".join(lines), {"files": files, "certificate_until": until})


@app.command()
def keep(
    kit: Annotated[Path, typer.Argument(help="Startup kit of a FLARE administrator.")],
    job: Annotated[Path, typer.Argument(help="Folder that `flare export` wrote.")],
    json: JsonOption = False,
) -> None:
    """Submit the job, watch it, and submit it again whenever it ended before the sites did.

    Example: securefair flare keep kits/admin@hospitals.org jobs/securefair-courier
    """
    from securefair.sites.operator.relay import keep as kept
    from securefair.sites.operator.relay import sites_of

    count = kept(kit, job, sites_of(job), lambda line: say(line, err=json))
    tell(json, f"Over; the job was submitted {count} times.", {"submitted": count})
