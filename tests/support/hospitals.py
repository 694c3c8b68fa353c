"""Hospitals that do what a page says, each in a home folder of its own."""

import os
import shutil

from support.impatient import IMPATIENT
from support.operators import securefair, write_table
from support.processes import Process

PASSPHRASE = "correct horse battery staple"


class Hospital:
    """A home folder of its own; files that hospitals send each other are copied by hand."""

    def __init__(self, place, name, other, seed):
        self.name, self.other = name, other
        self.home = place / name
        self.work = self.home / "securefair"
        self.work.mkdir(parents=True)
        write_table(self.work / "own.csv", seed)
        shutil.copy(self.work / "own.csv", self.work / "new.csv")
        later = self.work / "own-2027.csv"  # patients of the other have come
        write_table(later, seed + 1)
        came = later.read_text(encoding="utf-8").partition("\n")[2]
        later.write_text(f"{(self.work / 'own.csv').read_text('utf-8')}\n{came}", "utf-8")
        self.drive = place / "mnt"
        (self.drive / "heart").mkdir(parents=True, exist_ok=True)

    def words(self, words):
        """The page is written for the north."""
        swap = {"north": self.name, "south": self.other}
        for word in words:
            parts = [part.partition(".") for part in word.split("/")]
            word = "/".join(f"{swap.get(stem, stem)}{dot}{kind}" for stem, dot, kind in parts)
            word = str(self.home) if word == "~" else word
            for here, there in (("~/", f"{self.home}/"), ("/mnt/", f"{self.drive}/")):
                word = word.replace(here, there) if word.startswith(here) else word
            yield word

    def run(self, words, monkeypatch, *, fails=False):
        monkeypatch.setenv("HOME", str(self.home))
        monkeypatch.chdir(self.work)
        return securefair(*self.words(words), fails=fails, types="y\n")

    def start(self, *words):
        variables = os.environ | {"HOME": str(self.home)}
        return Process(IMPATIENT, self.words(words), cwd=self.work, env=variables)


def hospitals_in(place, monkeypatch, *names):
    """So many, whose passphrase comes as systemd gives it."""
    credentials = place / "credentials"
    credentials.mkdir()
    (credentials / "securefair-passphrase").write_text(PASSPHRASE, encoding="ascii")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(credentials))
    return [Hospital(place, name, names[1 - min(at, 1)], at) for at, name in enumerate(names)]
