"""Leave projects that are under way, as this version of securefair runs them.

    python scripts/leave_projects.py tests/vectors

Once a release, by that release, and never again: later versions must go on with them
(tests/unit/sites/rehearsal/test_running.py). Real stores and keystores on a clock of their own,
with patients that everybody may have; the backend `clear`, so that files are small.
"""

from __future__ import annotations

import sys
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path

import securefair
from securefair.collaboration.kinds import narrowed
from securefair.config import demo_config
from securefair.sites.operator.making import new_project
from securefair.sites.project.identity import Identity
from securefair.sites.project.terms import project_sections
from securefair.sites.rehearsal.days import Year
from securefair.sites.rehearsal.nights import DAY, Clock
from securefair.sites.rehearsal.rehearsal import FINE, hospitals, make_places
from securefair.sites.rehearsal.year import ROUND_DAYS

NOW = 1_800_000_000
ROUNDS = 3
NIGHTS = 2
"""After which questions are on their way, and some are answered."""

LEFT: Mapping[str, tuple[str, int, Mapping[str, object]]] = {
    "transfer-each": ("transfer", 2, {}),
    "transfer-mean": ("transfer", 3, {}),
    "transfer-sums": ("transfer", 3, {"sums": "auto"}),
    "vpdl": ("vpdl", 2, {}),
    "cycle": ("cycle", 3, {}),
    "cycle-gossip": ("cycle-gossip", 3, {}),
}
"""Kind of collaboration, sites, and what differs from the demonstration's section of that name."""


def main() -> None:
    """Writes an archive of each."""
    target = Path(sys.argv[1])
    for name, (algorithm, sites, changes) in LEFT.items():
        with tempfile.TemporaryDirectory() as place:
            _leave(Path(place), algorithm, sites, changes)
            path = target / f"running-{securefair.__version__}-{name}.tar.xz"
            with tarfile.open(path, "w:xz") as archive:
                for entry in sorted(Path(place).iterdir()):
                    archive.add(entry, entry.name, filter=_nobodys)


def _leave(place: Path, algorithm: str, sites: int, changes: Mapping[str, object]) -> None:
    data = hospitals(sites)
    settings = project_sections(narrowed(demo_config(), algorithm))
    settings.pop("disclosure")
    settings["encryption"]["backend"] = "clear"
    if "precision" in settings["encryption"]:
        settings["encryption"]["precision"] = FINE
    if "rounds" in settings.get("training", {}):
        settings["training"]["rounds"] = ROUNDS
    if "q" in settings.get("distillation", {}):
        settings["distillation"]["q"] = min(len(own.train) for own in data) - 1
    if changes:
        settings[algorithm] |= changes
    identities = {own.name: Identity.generate(own.name, now=NOW) for own in data}
    project = new_project(
        "running",
        [identity.card for identity in identities.values()],
        settings,
        algorithm=algorithm,
        max_samples=max(len(own.train) for own in data),
        features=data[0].train.features.shape[1],
        classes=data[0].train.classes,
        round_seconds=ROUND_DAYS * DAY,
        now=NOW,
        days=365,
    )
    for identity in identities.values():
        project = project.signed(identity)
    make_places(place, data, project, identities, "local")
    year = Year(place, project, Clock(NOW))
    for _ in range(NIGHTS):
        year.night()
    year.close()


def _nobodys(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = ""
    return entry


if __name__ == "__main__":
    main()
