"""`securefair project`: what all sites agree on, in one file that all sign."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from securefair.cli.agreed import agreed_lines, groups_in, table_lines
from securefair.cli.identity import PassphraseOption, card_file, passphrase
from securefair.cli.options import ForceOption, JsonOption
from securefair.cli.proposing import propose
from securefair.report.telling import say, say_json, tell

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from securefair.data import Proposal
    from securefair.sites.project.project import Project

app = typer.Typer(name="project", help="What all sites agree on.", no_args_is_help=True)

ProjectArgument = Annotated[Path, typer.Argument(help="The project file.")]
SameUnitOption = Annotated[
    list[str] | None,
    typer.Option(help="Column in one unit at all sites, though their ranges do not meet."),
]


app.command()(propose)


@app.command()
def new(
    name: Annotated[str, typer.Argument(help="Name of the project.")],
    max_samples: Annotated[
        int, typer.Option(min=2, help="Most training samples that a site may bring.")
    ],
    card: Annotated[
        list[Path] | None, typer.Option("--card", help="A site's card; once for each.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="The project file.")] = None,
    share: Annotated[
        Path | None,
        typer.Option(
            "--share", help="Folder of all sites: its cards and proposals, NAME.toml goes there."
        ),
    ] = None,
    settings: Annotated[
        Path | None,
        typer.Option(help=r"TOML with sections of a configuration, such as \[transfer], \[table]."),
    ] = None,
    algorithm: Annotated[
        str | None, typer.Option(help="The kind of collaboration (default: that of a run).")
    ] = None,
    same_unit: SameUnitOption = None,
    positive: Annotated[
        str | None,
        typer.Option(help="Code of the class that must not be missed (default: the last one)."),
    ] = None,
    features: Annotated[int | None, typer.Option(help=r"Where there is no \[table].")] = None,
    classes: Annotated[int | None, typer.Option(help=r"Where there is no \[table].")] = None,
    round_hours: Annotated[float, typer.Option(min=0.01, help="Deadline of a round.")] = 1.0,
    setup_hours: Annotated[
        float,
        typer.Option(
            min=0,
            help="Added to the first round's, for sites that start late, and to the wait for the "
            "last keys of a sum.",
        ),
    ] = 24.0,
    min_peers: Annotated[
        int | None,
        typer.Option(min=0, help="Peers that a round needs; with fewer a site waits. Else half."),
    ] = None,
    days: Annotated[int, typer.Option(min=1, max=3650, help="How long it runs at most.")] = 365,
    force: ForceOption = False,
    json: JsonOption = False,
) -> None:
    """Write a project file of these sites' cards; nobody has signed it yet.

    Example: securefair project new heart --share /mnt/heart --max-samples 400

    Or: securefair project new heart --card north.card --card south.card --max-samples 400
    --settings settings.toml --out heart.toml
    """
    import time
    import tomllib

    from securefair.errors import ConfigError
    from securefair.report import check_new_file, write_text
    from securefair.sites.operator.making import (
        check_own_table,
        new_project,
        read_proposals,
        shared_files,
        without_proposal,
    )
    from securefair.sites.project.schema import differences

    cards, proposals = list(card or ()), list[Path]()
    if share is not None:
        found, proposals = shared_files(share)
        cards, out = cards + found, out or share / f"{name}.toml"
    if out is None:
        raise ConfigError("the project needs a file", where="--out", hint="Or name --share")
    check_new_file(out, force=force, endings=(".toml",))
    try:
        text = "" if settings is None else settings.read_text(encoding="utf-8")
        table = tomllib.loads(text)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(
            "the settings cannot be read",
            where=str(settings),
            found=str(error),
            expected="sections of a configuration, such as [transfer]",
        ) from error
    if (proposals or "table" in table) and (features is not None or classes is not None):
        raise ConfigError(
            "the rules of the table say how many features and classes there are",
            where="--features, --classes",
            expected="neither of them beside proposals or a [table]",
        )
    check_own_table(table, settings, proposals)
    if proposals and "table" not in table:
        read = read_proposals(proposals)
        table["table"], lines = _rules(read, same_unit=same_unit or ())
        lines += [str(one) for one in differences(read)]
        lines += without_proposal(cards, proposals)
        for line in lines:
            say(line, err=json)
    if positive is not None:
        if "table" not in table:
            raise ConfigError(
                "only classes of a table have codes",
                where="--positive",
                found=positive,
                expected="it beside proposals or a [table]",
            )
        table["table"]["positive"] = positive
    project = new_project(
        name,
        [card_file(path) for path in cards],
        table,
        algorithm=algorithm,
        max_samples=max_samples,
        features=features,
        classes=classes,
        round_seconds=round_hours * 3600,
        setup_seconds=setup_hours * 3600,
        min_peers=min_peers,
        now=time.time(),
        days=days,
    )
    write_text(out, project.to_toml())
    _show(project, json)


@app.command()
def add(
    project: ProjectArgument,
    card: Annotated[Path, typer.Argument(help="A card.")],
    json: JsonOption = False,
) -> None:
    """Add a site; everybody signs again.

    Example: securefair project add heart.toml west.card
    """
    import time

    from securefair.report import write_text
    from securefair.sites.operator.making import with_agreement
    from securefair.sites.project.project import load_project, signature_file

    added = card_file(card)
    added.check_time(time.time())
    before = load_project(project, beside=False)
    changed = with_agreement(before.with_card(added))
    for name in before.names:  # of the file as it was
        signature_file(project, name).unlink(missing_ok=True)
    write_text(project, changed.to_toml())
    _show(changed, json)


@app.command()
def sign(
    project: ProjectArgument,
    identity: Annotated[Path, typer.Option("--identity", help="NAME.keys of `identity new`.")],
    passphrase_file: PassphraseOption = None,
    json: JsonOption = False,
) -> None:
    """Sign what the file says, as this site. Read it first: it binds you.

    Example: securefair project sign heart.toml --identity north.keys
    """
    import time

    from securefair.sites.operator.making import check_keys, identity_in
    from securefair.sites.project.agreeing import check_agreement
    from securefair.sites.project.project import load_project, write_signature

    loaded = load_project(project, beside=False)
    loaded.check_time(time.time())
    check_agreement(loaded)
    check_keys(identity)
    own = identity_in(identity, loaded, passphrase(passphrase_file))
    for line in agreed_lines(load_project(project), own.card.name):
        say(line, err=json)
    file = write_signature(project, loaded.signed(own), own.card.name)
    say(f"Signature: {file}; it belongs beside the project file wherever that is read", err=json)
    if json:
        say_json(_facts(load_project(project)))


@app.command()
def check(
    project: Annotated[
        Path, typer.Argument(help="The project file, or the first proposal of a table's rules.")
    ],
    proposals: Annotated[
        list[Path] | None, typer.Argument(help="Further proposals to compare.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="File for the rules that cover all proposals."),
    ] = None,
    join_spellings: Annotated[
        bool,
        typer.Option("--join-spellings", help="Take codes that differ in case only for one."),
    ] = False,
    same_unit: SameUnitOption = None,
    vouched: Annotated[
        Path | None,
        typer.Option(
            metavar="CARD",
            help="Card of who vouches for the others, by vouchers that lie beside the project.",
        ),
    ] = None,
    force: ForceOption = False,
    json: JsonOption = False,
) -> None:
    """Check a project: cards, signatures, plan. With proposals: list every difference.

    With --vouched it says whom you need not telephone; exit code 1 where you must telephone some.

    Example: securefair project check heart.toml

    Or: securefair project check north.proposal.toml south.proposal.toml --out settings.toml
    """
    import time

    from securefair.cli.ending import EXIT_FAILED
    from securefair.errors import ConfigError
    from securefair.report import check_new_file
    from securefair.sites.operator.making import read_proposals
    from securefair.sites.project.agreeing import check_agreement
    from securefair.sites.project.project import load_project
    from securefair.sites.project.schema import differences
    from securefair.sites.project.voucher import unvouched

    if proposals:
        if out is not None:
            check_new_file(out, force=force, endings=(".toml",))
        files = [project, *proposals]
        if len({one.resolve() for one in files}) < len(files):
            raise ConfigError(
                "a proposal is compared with itself",
                where="proposals",
                found=", ".join(map(str, files)),
                expected="one file of each site",
            )
        read = read_proposals(files)
        found = differences(read, joined=join_spellings)
        lines = [str(one) for one in found]
        many = "1 difference" if len(found) == 1 else f"{len(found)} differences"
        lines.append(many if found else "The proposals are the same.")
        if out is not None:
            meant = same_unit or ()
            lines += _write_rules(read, out, joined=join_spellings, same_unit=meant)
        tell(json, "\n".join(lines), found)
        if found and out is None:
            raise typer.Exit(EXIT_FAILED)
        return
    if out is not None:
        raise ConfigError("a project has no proposals to join", where="--out")
    loaded = load_project(project)
    loaded.check_time(time.time())
    check_agreement(loaded)
    by = None if vouched is None else card_file(vouched)
    strangers = () if by is None else unvouched(project.parent, loaded.cards, by, time.time())
    _show(loaded, json, {} if by is None else {"not_vouched": strangers})
    if by is not None and not json:
        known = len(loaded.cards) - len(strangers)
        say(f"{by.name} vouches for {known} of {len(loaded.cards)} cards")
    if strangers:
        say(f"Compare fingerprints by telephone: {', '.join(strangers)}", err=json)
        raise typer.Exit(EXIT_FAILED)


def _write_rules(
    proposals: Mapping[str, Proposal], out: Path, *, joined: bool, same_unit: Sequence[str]
) -> list[str]:
    from securefair.config.writing import plain_toml
    from securefair.report import write_text

    rules, lines = _rules(proposals, joined=joined, same_unit=same_unit)
    write_text(out, plain_toml({"table": rules}))
    return [f"{lines[0]}: {out}. Let everyone read it.", *lines[1:]]


def _rules(
    proposals: Mapping[str, Proposal], *, joined: bool = False, same_unit: Sequence[str] = ()
) -> tuple[dict[str, Any], list[str]]:
    """The [table] that covers all proposals, and what to say of it."""
    from securefair.data import infer_table
    from securefair.data.inference import agreed_patients
    from securefair.user.tables import table_settings
    from securefair.user.units import refuse_ranges_in_two_units

    refuse_ranges_in_two_units(proposals, same_unit)
    rules = infer_table(proposals, joined=joined)
    lines = [f"{len(rules.spec.columns)} columns cover all proposals"]
    own = {rule.name for further in rules.further.values() for rule in further}
    beside = "; its site can use it for its own model: --own-column"
    patients = agreed_patients(proposals)
    lines += [
        f"left out: {name} ({why}{beside * (name in own)})"
        for name, why in rules.unused.items()
        if name != patients
    ]
    if patients:
        lines.append(
            f"{patients} names the patients: all rows of one are for training, or all for testing"
        )
    meant: dict[str, Any] = {"same_unit": list(same_unit)} if same_unit else {}
    meant |= {"patient_column": patients} if patients else {}
    return table_settings(rules.spec) | meant | {"origin": "participants"}, lines


def _show(project: Project, json: bool, more: Mapping[str, object] = MappingProxyType({})) -> None:
    tell(json, "\n".join(agreed_lines(project)), _facts(project) | dict(more))


def _facts(project: Project) -> dict[str, object]:
    from securefair.sites.project.agreeing import (
        agreement_of,
        cautions_of,
        classes_of,
        predicted_in,
        rounds_of,
    )

    settings, totals = project.terms.project, project.terms.config.disclosure
    agreement = agreement_of(project)
    return {
        "name": settings.name,
        "digest": project.digest.hex(),
        "sites": {card.name: card.spoken for card in project.cards},
        "unsigned": project.unsigned,
        "algorithm": settings.algorithm,
        "classes": classes_of(project.terms),
        "predicts": predicted_in(project.terms),
        "rounds": rounds_of(project.terms),
        "plan": agreement.summary,
        "table": table_lines(project.terms),
        "groups": groups_in(agreement),
        "cautions": cautions_of(project),
        "student_total": totals.student_total,
        "teacher_total": totals.teacher_total,
    }
