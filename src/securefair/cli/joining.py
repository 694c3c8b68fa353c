"""`site init` makes a site's folder, `site start` runs it, and `site join` does both."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from securefair.cli.agreed import agreed_lines, say_own_findings
from securefair.cli.ending import interrupted, shown
from securefair.cli.identity import PassphraseOption, passphrase
from securefair.cli.options import JsonOption
from securefair.errors import ConfigError
from securefair.report.telling import say, say_json, tell

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from securefair.data import ParticipantData
    from securefair.sites.project.identity import Identity
    from securefair.sites.project.project import Project
    from securefair.sites.site.folder import SiteSettings
    from securefair.storage import Secret

    Log = Callable[[str, Mapping[str, object]], None]

NewFolder = Annotated[Path, typer.Argument(help="New folder, with a short path.")]
ProjectOption = Annotated[Path, typer.Option("--project", help="Project file of all sites.")]
IdentityOption = Annotated[Path, typer.Option("--identity", help="NAME.keys of `identity new`.")]
DataOption = Annotated[
    Path, typer.Option("--data", help="Own samples: a table of any kind, or .npz.")
]
TeacherOption = Annotated[
    str | None,
    typer.Option(
        "--teacher",
        help="What answers in a transfer instead of a fit: forest, boosting, gaussian process, or "
        "a file, .onnx or .safetensors.",
    ),
]
TestDataOption = Annotated[
    Path | None, typer.Option("--test-data", help="Else a part is held out.")
]
SharedFolderOption = Annotated[
    Path | None,
    typer.Option("--shared-folder", help="Courier folder: a folder that all sites see."),
]
ColumnsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--own-column",
        help="Column of your table for your own model alone, which others need not have; "
        "repeatable. Nothing of it leaves.",
    ),
]
AgainOption = Annotated[
    bool,
    typer.Option(
        "--again",
        help="In a description: tell what differs from an earlier one; the ledger counts it.",
    ),
]
RoleOption = Annotated[
    str, typer.Option(help="both; a transfer and a validation also know teacher and student alone.")
]

LOOK_EVERY = 5.0
"""Seconds between two looks for the others' signatures."""


def join(
    folder: NewFolder,
    project: ProjectOption,
    identity: IdentityOption,
    data: DataOption,
    test_data: TestDataOption = None,
    teacher: TeacherOption = None,
    shared_folder: SharedFolderOption = None,
    role: RoleOption = "both",
    own_column: ColumnsOption = None,
    again: AgainOption = False,
    passphrase_file: PassphraseOption = None,
    yes: Annotated[bool, typer.Option("--yes", help="Sign without asking.")] = False,
    json: JsonOption = False,
) -> None:
    """Sign a project, make this site's folder, wait for the others' signatures, check and start.

    It shows what is agreed and asks before it signs. After Ctrl-C the same command goes on; once
    the folder is there, `site start` does.

    Example: securefair site join ~/north --project /mnt/heart/heart.toml --identity north.keys
    --data own.csv --shared-folder /mnt/heart
    """
    import time

    from securefair.sites.couriers.folder import check_share
    from securefair.sites.operator.making import identity_in
    from securefair.sites.project.agreeing import check_agreement
    from securefair.sites.project.project import load_project, write_signature
    from securefair.sites.site.samples import own_samples

    loaded = load_project(project)
    loaded.check_time(time.time())
    check_agreement(loaded)
    check_asked(folder, identity, data, test_data)
    secret = passphrase(passphrase_file)
    own = identity_in(identity, loaded, secret)
    for line in agreed_lines(loaded, own.card.name):
        say(line, err=json)
    if own.card.name in loaded.unsigned:
        brought = site_settings(
            own.card.name, loaded, data, test_data, teacher, role, own_column or ()
        )
        # A signature binds: what is wrong with the own table is said before.
        found = own_samples(brought, loaded.terms, seed=0)
        check_own(loaded, found, identity, again=again)
        say_own_findings(brought, loaded, json=json)
        if shared_folder is not None:
            check_share(shared_folder)
        if not yes:
            typer.confirm(f"Sign this as {own.card.name}? It binds you.", abort=True)
        write_signature(project, loaded.signed(own), own.card.name)
    log = logger(folder, json=json)
    agreed, loaded = loaded.digest, load_project(project)
    told: tuple[str, ...] = ()
    while missing := _unchanged(loaded, agreed).unsigned:
        if missing != told:
            log(f"waiting for signatures of {', '.join(missing)}", {"missing": missing})
        told = missing
        time.sleep(LOOK_EVERY)
        loaded = load_project(project)
    make_site(
        folder,
        loaded,
        own,
        data,
        keys=identity,
        test_data=test_data,
        teacher=teacher,
        shared_folder=shared_folder,
        role=role,
        columns=own_column or (),
        secret=secret,
        again=again,
    )
    run(folder, secret, log, json=json)


def init(
    folder: NewFolder,
    project: ProjectOption,
    identity: IdentityOption,
    data: DataOption,
    test_data: TestDataOption = None,
    teacher: TeacherOption = None,
    shared_folder: SharedFolderOption = None,
    role: RoleOption = "both",
    own_column: ColumnsOption = None,
    again: AgainOption = False,
    passphrase_file: PassphraseOption = None,
    json: JsonOption = False,
) -> None:
    """Make a site's folder: keys, project, store, and a systemd unit to start it.

    Without --shared-folder a relay's courier comes to the site's door.

    Example: securefair site init ~/north --project heart.toml --identity north.keys --data own.csv
    --shared-folder /mnt/heart
    """
    from securefair.sites.operator.making import identity_in
    from securefair.sites.project.project import load_project
    from securefair.sites.site.folder import read_settings

    loaded = load_project(project)
    check_asked(folder, identity, data, test_data)
    secret = passphrase(passphrase_file)
    own = identity_in(identity, loaded, secret)
    name, found, unit = make_site(
        folder,
        loaded,
        own,
        data,
        keys=identity,
        test_data=test_data,
        teacher=teacher,
        shared_folder=shared_folder,
        role=role,
        columns=own_column or (),
        secret=secret,
        again=again,
    )
    for line in agreed_lines(loaded, name):
        say(line, err=json)
    say_own_findings(read_settings(folder), loaded, json=json)
    text = (
        f"{name}: {len(found.train)} training and {len(found.test)} test samples.\n"
        f"Next: securefair site start {folder}; a systemd unit is in {unit}"
    )
    if shared_folder is None:
        text += (
            "\nNo --shared-folder was given, so a relay of NVIDIA FLARE brings the parcels: "
            f"securefair flare harden KIT --site {folder}"
        )
    facts = {"name": name, "train": len(found.train), "test": len(found.test)}
    tell(json, text, facts | {"unit": str(unit)})


def check_own(project: Project, own: ParticipantData, identity: Path, *, again: bool) -> None:
    """See that a site can take part with its samples, and that this project tells nothing that
    differs from what an earlier one told.

    Raises:
        ConfigError, PlanError: it cannot.
        LedgerError: it does.
    """
    from securefair.collaboration.told import ToldFile
    from securefair.sites.project.agreeing import agreement_of, kind_in

    ledger = ToldFile(told_beside(identity), own.name, again=again)
    kind = kind_in(project.terms)
    kind.check_own(agreement_of(project), own)
    kind.check_told(agreement_of(project), own, ledger)


def told_beside(identity: Path) -> Path:
    """Where a hospital notes what it tells in descriptions: beside the keys of all its projects."""
    return identity.absolute().with_name("described.json")


def check_asked(folder: Path, identity: Path, data: Path, test_data: Path | None) -> None:
    """See that what was named can be used, before anybody types a passphrase.

    Raises:
        SecureFairError: the folder is taken or its path too long, or a file is not there.
    """
    from securefair.data.databases import is_query
    from securefair.sites.operator.making import check_keys
    from securefair.sites.post.door import check_path
    from securefair.sites.site.folder import DOOR, check_data_file, check_new_folder

    check_new_folder(folder)
    check_path(folder.absolute() / DOOR)
    check_keys(identity)
    for file in (data, test_data):
        if file is not None and not is_query(str(file)):
            check_data_file(file)


def _unchanged(project: Project, agreed: bytes) -> Project:
    """The file lies where others write: what this site joins is what its operator was shown.

    Raises:
        ConfigError: it is another project now.
    """
    if project.digest != agreed:
        raise ConfigError(
            "the project file was changed since this site showed it",
            found=project.digest.hex(),
            expected=agreed.hex(),
            hint="Somebody replaced it. Ask the founder, and join again",
        )
    return project


def make_site(
    folder: Path,
    project: Project,
    own: Identity,
    data: Path,
    *,
    keys: Path,
    test_data: Path | None,
    teacher: str | None,
    shared_folder: Path | None,
    role: str,
    columns: Sequence[str],
    secret: Secret,
    again: bool = False,
) -> tuple[str, ParticipantData, Path]:
    """Make a site's folder: its name, its samples, and its systemd unit.

    Without a shared folder a relay's courier comes to the site's door. `keys` is the file that
    `own` was in: what a hospital tells is noted beside it.

    Raises:
        SecureFairError: project, samples or folder cannot be used.
    """
    from securefair.report import write_text
    from securefair.sites.couriers.folder import make_project_folder
    from securefair.sites.couriers.interface import CourierSettings
    from securefair.sites.operator.unit import unit_text
    from securefair.sites.project.agreeing import kind_in
    from securefair.sites.site.folder import make_place
    from securefair.sites.site.samples import own_samples

    settings = site_settings(own.card.name, project, data, test_data, teacher, role, columns)
    if shared_folder is not None:
        name = project.terms.project.name
        place = make_project_folder(shared_folder.absolute(), name, project.digest)
        courier = CourierSettings(kind="folder", folder=str(place))
        settings = msgspec.structs.replace(settings, courier=courier)
    if kind_in(project.terms).describes:
        told = str(told_beside(keys))
        settings = msgspec.structs.replace(settings, told=told, again=again)
    found = own_samples(settings, project.terms, seed=0)
    check_own(project, found, keys, again=again)
    make_place(folder, settings, project, own, secret)
    unit = write_text(folder / "securefair-site.service", unit_text(folder.absolute(), settings))
    return own.card.name, found, unit


def site_settings(
    name: str,
    project: Project,
    data: Path,
    test_data: Path | None,
    teacher: str | None,
    role: str,
    columns: Sequence[str],
) -> SiteSettings:
    """What a site is told to use, with the relay's courier.

    Raises:
        ConfigError: nobody has such a role in this project.
        DataError: the table has no such column, or it is no feature.
    """
    from securefair.config import absolute_teacher
    from securefair.sites.couriers.interface import CourierSettings
    from securefair.sites.site.folder import SiteSettings, checked_role
    from securefair.sites.site.samples import own_columns

    further = own_columns(project.terms, name, str(data), columns)
    return SiteSettings(
        role=checked_role(role, project),
        name=name,
        data=str(data.absolute()),
        test_data=None if test_data is None else str(test_data.absolute()),
        teacher=absolute_teacher(teacher, Path.cwd()),
        courier=CourierSettings(kind="flare"),
        columns=tuple(rule.model_dump(mode="json") for rule in further),
    )


def run(folder: Path, secret: Secret, log: Log, *, json: bool) -> None:
    """Check a site and run it until its rounds are over, or a signal stops it.

    Raises:
        SecureFairError: it cannot begin or go on.
    """
    from securefair.sites.site.checking import check_site
    from securefair.sites.site.running import run_site
    from securefair.sites.site.stopping import stopped_by_signals

    checked: list[str] = []

    def begun(line: str, facts: Mapping[str, object]) -> None:
        """What was in order is told once the site has begun: what is wrong is one sentence."""
        for one in checked:
            log(one, {})
        checked.clear()
        log(line, facts)

    try:
        with stopped_by_signals() as stop:
            for line in check_site(folder, secret, quoting=False):  # a log is no place for cells
                stop.check()
                checked.append(line)
            rounds, own = run_site(folder, secret, begun, stop)
    except KeyboardInterrupt:  # by Ctrl-C, or by `site stop`
        interrupted(f"The site was stopped. It goes on with: securefair site start {shown(folder)}")
    text = (
        f"All rounds are over ({rounds}).\nReport: {own.page}\n"
        f"Next: securefair predict {own.model} new.csv"
    )
    tell(json, text, {"rounds": rounds, "model": str(own.model), "report": str(own.page)})


def logger(folder: Path, *, json: bool) -> Log:
    """Lines of a site's log: for people on standard output, or as JSON on standard error."""
    import time

    def log(line: str, facts: Mapping[str, object]) -> None:
        if json:
            at = {"time": round(time.time(), 3), "site": folder.name, "message": line}
            say_json({**at, **facts}, err=True)
        else:
            say(line)

    return log
