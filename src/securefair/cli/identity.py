"""`securefair identity`: a hospital's card and its private keys."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from securefair.cli.options import JsonOption
from securefair.report.telling import tell

if TYPE_CHECKING:
    from securefair.sites.project.card import Card
    from securefair.storage import Secret

app = typer.Typer(name="identity", help="A hospital's card and keys.", no_args_is_help=True)

MOST_BYTES = 65_536
"""Of a card, which may lie in a folder that others write to."""

NEW_CREDENTIAL = "securefair-new-passphrase"

PassphraseOption = Annotated[
    Path | None,
    typer.Option(
        "--passphrase-file",
        help="File with the passphrase; else the systemd credential securefair-passphrase; else "
        "it is asked for.",
    ),
]
NewPassphraseOption = Annotated[
    Path | None,
    typer.Option(
        "--new-passphrase-file",
        help=f"File with the new passphrase; else the systemd credential {NEW_CREDENTIAL}; else it "
        "is asked for.",
    ),
]
CardArgument = Annotated[Path, typer.Argument(help="A card.")]


@app.command()
def new(
    name: Annotated[
        str,
        typer.Argument(help="Letters A to Z without accents, digits, dots, dashes, underscores."),
    ],
    out: Annotated[
        Path, typer.Option("--out", help="Folder for NAME.card and NAME.keys.")
    ] = Path(),
    share: Annotated[
        Path | None, typer.Option("--share", help="Folder of all sites: the card goes there, too.")
    ] = None,
    days: Annotated[int, typer.Option(min=1, max=3650, help="How long it is valid.")] = 730,
    passphrase_file: PassphraseOption = None,
    json: JsonOption = False,
) -> None:
    """Make a card, which everybody may see, and its private keys, under a passphrase.

    Example: securefair identity new north --out ~/securefair
    """
    import time

    from securefair.config.writing import plain_toml
    from securefair.errors import StorageError
    from securefair.report import write_text
    from securefair.sites.project.identity import Identity
    from securefair.sites.site.folder import IDENTITY
    from securefair.storage import Keystore, Secret

    card_file, keys_file = out / f"{name}.card", out / f"{name}.keys"
    identity = Identity.generate(name, now=time.time(), seconds=days * 86_400)
    if share is not None and not share.is_dir():
        raise StorageError(
            "the shared folder is not there",
            where=str(share),
            hint="Mount the share, or make the folder once",
        )
    shared = None if share is None else share / card_file.name
    for file in filter(None, (card_file, shared)):
        if file.exists():
            raise StorageError("this file exists already", where=str(file))
    secret = passphrase(passphrase_file, anew=True)
    out.mkdir(parents=True, exist_ok=True)
    secrets = {IDENTITY: Secret(bytearray(identity.secrets()))}
    Keystore.create(keys_file, secret, secrets=secrets)
    text = plain_toml({"card": identity.card.table()})
    write_text(card_file, text)
    if shared is not None:
        write_text(shared, text)
    files = {"card": str(card_file), "keys": str(keys_file)}
    said = f"{_text(identity.card)}\nCard: {card_file}\nKeys: {keys_file} (never give this away)"
    tell(json, said, _facts(identity.card) | files)


@app.command()
def show(card: CardArgument, json: JsonOption = False) -> None:
    """Show whose card it is, and its fingerprint, to be read over the telephone.

    Example: securefair identity show north.card
    """
    found = card_file(card)
    tell(json, _text(found), _facts(found))


@app.command()
def verify(
    card: CardArgument,
    fingerprint: Annotated[
        list[str], typer.Argument(help="The sixty digits that the other side read aloud.")
    ],
    json: JsonOption = False,
) -> None:
    """Compare a card with the fingerprint that its owner reads aloud.

    Example: securefair identity verify south.card 12345 67890 ... (twelve groups)
    """
    from securefair.cli.ending import EXIT_FAILED
    from securefair.errors import ConfigError

    found = card_file(card)
    said = "".join(fingerprint).replace(" ", "")
    digits = found.spoken.replace(" ", "")
    if len(said) != len(digits) or not said.isdigit():
        raise ConfigError(
            "this is no fingerprint",
            where="fingerprint",
            found=f"{len(said)} characters",
            expected=f"{len(digits)} digits, in groups or not",
        )
    same = said == digits
    text = (
        f"The same: this is the card of {found.name}."
        if same
        else f"DIFFERENT: this is not the card of whoever read that. Its digits are {found.spoken}"
    )
    tell(json, text, _facts(found) | {"same": same})
    if not same:
        raise typer.Exit(EXIT_FAILED)


@app.command()
def vouch(
    cards: Annotated[list[Path], typer.Argument(help="Cards whose fingerprints were compared.")],
    identity: Annotated[
        Path, typer.Option("--identity", help="NAME.keys of who vouches; NAME.card lies beside.")
    ],
    passphrase_file: PassphraseOption = None,
    json: JsonOption = False,
) -> None:
    """Vouch for cards, as somebody whom all hospitals know. The vouchers lie beside the cards.

    Example: securefair identity vouch north.card south.card --identity association.keys
    """
    import time

    from securefair.sites.operator.making import check_keys, identity_of_card
    from securefair.sites.project.voucher import write_voucher

    found = {path: card_file(path) for path in cards}
    check_keys(identity)
    own = card_file(identity.with_suffix(".card"))
    who = identity_of_card(identity, own, passphrase(passphrase_file))
    now = time.time()
    files = {
        card.name: str(write_voucher(path.parent, card, who, now)) for path, card in found.items()
    }
    text = "\n".join(f"{own.name} vouches for {name}: {file}" for name, file in files.items())
    tell(json, text, {"by": own.name, "vouchers": files})


@app.command("passphrase")
def change(
    keys: Annotated[
        Path, typer.Argument(help="NAME.keys, a saved student's keys, or the folder of a site.")
    ],
    passphrase_file: PassphraseOption = None,
    new_passphrase_file: NewPassphraseOption = None,
    json: JsonOption = False,
) -> None:
    """Change the passphrase of private keys. Stop a site first.

    Copies of the old file, such as backups, still open with the old passphrase. After an error the
    old one opens the file. If it does not, the new one does: the file was written, and only its
    folder could not be synced.

    Example: securefair identity passphrase ~/securefair/north.keys
    """
    import time

    from securefair.sites.site.folder import check_site_keys
    from securefair.sites.site.recovery import change_passphrase
    from securefair.storage.keystore import check_keystore

    (check_site_keys if keys.is_dir() else check_keystore)(keys)
    file = change_passphrase(
        keys,
        passphrase(passphrase_file),
        lambda: passphrase(new_passphrase_file, anew=True, other=True),
        time.time(),
    )
    tell(json, f"{file} opens with the new passphrase only.", {"keys": str(file)})


def card_file(path: Path) -> Card:
    """The card in a file.

    Raises:
        DataError: there is none, or it was altered.
    """
    import tomllib

    from securefair.errors import DataError
    from securefair.sites.project.identity import read_card
    from securefair.storage.files import read_regular

    try:
        table = tomllib.loads(read_regular(path, MOST_BYTES).decode())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        keys = path.suffix == ".keys"
        raise DataError(
            "these are private keys, no card" if keys else "a card cannot be read",
            where=str(path),
            found=None if keys else str(error),
            hint=f"The card is {path.with_suffix('.card')}; give the keys to nobody"
            if keys
            else None,
        ) from error
    return read_card(table, where=str(path))


def passphrase(file: Path | None, *, anew: bool = False, other: bool = False) -> Secret:
    """A passphrase from a file, a credential of systemd, or whoever sits at the terminal.

    Args:
        file: that holds it.
        anew: it is set, not typed to open something: ask twice, and refuse a short one.
        other: it takes the place of another one, and has a credential of its own.

    Raises:
        StorageError: there is none, or it is too short to be set.
    """
    import sys

    from securefair.storage import unlock
    from securefair.storage.unlock import CREDENTIAL

    def ask() -> str:
        text = "New passphrase" if other else "Passphrase"
        return str(typer.prompt(text, hide_input=True, confirmation_prompt=anew))

    credential = NEW_CREDENTIAL if other else CREDENTIAL
    terminal = ask if sys.stdin.isatty() else None
    return unlock(file=file, credential=credential, ask=terminal, new=anew)


def site_passphrase(folder: Path, file: Path | None) -> Secret:
    """The passphrase of a site's keys, asked for once the folder is seen to be a site's.

    Raises:
        SecureFairError: it is none, or there is no passphrase.
    """
    from securefair.sites.site.folder import check_site_keys, read_settings

    read_settings(folder)
    check_site_keys(folder)
    return passphrase(file)


def _text(card: Card) -> str:
    from securefair.sites.project.card import utc

    return (
        f"{card.name}, valid {utc(card.valid_from)} to {utc(card.valid_until)}\n"
        f"Fingerprint: {card.spoken}"
    )


def _facts(card: Card) -> dict[str, object]:
    return {
        "name": card.name,
        "valid_from": card.valid_from,
        "valid_until": card.valid_until,
        "fingerprint": card.spoken,
    }
