"""What operators type, and the table of a hospital."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from typer.testing import CliRunner

from securefair.cli import app
from securefair.sites.site.running import export_site
from securefair.sites.site.starting import carried, open_site
from securefair.storage import Secret
from support.processes import Process

PASSPHRASE = "correct horse"

SETTINGS = """
[transfer]
q = 16
[table]
label = "num"
classes = [["0"], ["1"]]
[[table.columns]]
kind = "numeric"
name = "age"
low = 30.0
high = 80.0
[[table.columns]]
kind = "binary"
name = "sex"
[[table.columns]]
kind = "numeric"
name = "pressure"
low = 90.0
high = 200.0
"""


def securefair(*arguments, fails=False, types=None):
    done = CliRunner().invoke(app, [str(argument) for argument in arguments], input=types)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert (done.exit_code != 0) == fails, done.output
    return done.output


def write_table(path, seed):
    """A hospital's table; pressures are its canaries, no two of them are alike."""
    draw = np.random.default_rng(seed)
    rows = ["age,sex,pressure,num"]
    for at in range(60):
        sick = at % 2
        age, pressure = draw.normal(50 + 8 * sick, 6), draw.normal(120 + 20 * sick, 15)
        rows.append(f"{age:.0f},{draw.integers(2)},{pressure:.5f},{sick}")
    path.write_text("\n".join(rows), encoding="utf-8")


def found(place, names=("north", "south"), settings=SETTINGS, wishes=()):
    """Hospitals whose sites are ready to start over a folder that all share.

    Args:
        place: empty, for all their files.
        names: of the hospitals.
        settings: of the project.
        wishes: further options of `project new`.
    """
    secret = place / "passphrase"
    secret.touch(mode=0o600)
    secret.write_text(PASSPHRASE, encoding="ascii")
    for at, name in enumerate(names):
        write_table(place / f"{name}.csv", at)
        securefair("identity", "new", name, "--out", place, "--passphrase-file", secret)
    (place / "settings.toml").write_text(settings, encoding="utf-8")
    cards = [part for name in names for part in ("--card", place / f"{name}.card")]
    project = place / "heart.toml"
    options = ("--max-samples", 60, "--settings", place / "settings.toml", "--out", project)
    securefair("project", "new", "heart", *cards, *options, *wishes)
    for name in names:
        keys = ("--identity", place / f"{name}.keys", "--passphrase-file", secret)
        securefair("project", "sign", project, *keys)
    (place / "shared").mkdir()
    for name in names:
        securefair(*init_arguments(place, name, place / name))


def init_arguments(place, name, folder, identity=None):
    """Of `site init`, over a folder that all sites share."""
    return [
        *("site", "init", folder),
        *("--project", place / "heart.toml"),
        *("--identity", place / f"{identity or name}.keys"),
        *("--data", place / f"{name}.csv"),
        *("--shared-folder", place / "shared"),
        *("--passphrase-file", place / "passphrase"),
    ]


def start(place, name):
    """A site in a process of its own."""
    words = ("site", "start", place / name, "--passphrase-file", place / "passphrase")
    return Process("securefair", words, cwd=place)


def ended(running, timeout):
    """What sites said until each ended well; none of them runs afterwards."""
    try:
        outputs = ["".join(site.communicate(timeout)) for site in running]
    finally:
        for site in running:
            site.kill()
    assert [site.returncode for site in running] == [0] * len(running), outputs
    return outputs


def play(folder):
    """What `site start` does but for its results, in a thread, which takes no signals."""
    with open_site(folder, Secret(PASSPHRASE.encode())) as opened, carried(folder, opened):
        opened.site.run(lambda _: None)


def kept_models(folders):
    """Sites run beside each other to their ends; then the model that each keeps, one by one.

    Results are not written in threads: those share what warnings are ignored.
    """
    with ThreadPoolExecutor(len(folders)) as pool:
        list(pool.map(play, folders))
    return [
        export_site(folder, Secret(PASSPHRASE.encode()), folder / "results").model
        for folder in folders
    ]
