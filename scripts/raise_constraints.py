"""Write constraints/*.txt anew: the newest versions that pyproject.toml admits, with hashes.

`make constraints` runs it. uv resolves for every supported Python and every platform at once. torch
stands in a file of its own, with the hashes of PyTorch's own CPU builds: PyPI's builds for Linux
bring several GB of CUDA, so their hashes are left out and pip refuses them.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import tomllib
import urllib.error
import urllib.request
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).parents[1]
CONSTRAINTS = ROOT / "constraints"

PYTHONS = ("311", "312", "313")
"""Whose builds of torch are listed; as `requires-python` and the classifiers say."""

BUILD_TOOLS = ("cmake", "ninja")
"""scikit-build-core asks for them where the machine has none, and no other way leads to a hash."""

OPENFHE = (
    "numpy",
    'openfhe==1.6.1.0.22.4 ; python_version < "3.11"',
    'openfhe==1.6.1.0.24.4 ; python_version >= "3.12"',
)
"""A wheel of openfhe is tagged for any Python and imports under one (docs/backends.md)."""

CRYPTEN = ("crypten==0.4.1",)
"""Without what it asks for: one of its requirements cannot be installed (docs/backends.md)."""

FUZZ = ('atheris==2.3.0 ; python_version < "3.12"', 'atheris ; python_version >= "3.12"')
"""For scripts/fuzz_messages.py, in a file of its own: there are wheels for Linux only, and those
for CPython 3.11 are of an older version."""

_PIN = re.compile(r"^([a-z0-9][\w.-]*)==([\w.]+)", re.MULTILINE)
_CUDA = re.compile(r"^(?:nvidia-|cuda-|triton==|torch==)")
"""torch itself has its own file; the others are what its CPU builds do without."""


class _Links(HTMLParser):
    """Names and hashes of the files that a package index lists for one package."""

    def __init__(self) -> None:
        super().__init__()
        self.files: dict[str, str] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """One link of the page, `.../name.whl#sha256=digest`."""
        path, _, digest = (dict(attrs).get("href") or "").partition("#sha256=")
        if tag == "a" and digest:
            self.files[unquote(path.rsplit("/", 1)[-1])] = digest


def cpu_wheels(page: str, version: str) -> dict[str, str]:
    """{file name: SHA-256} of torch's CPU builds for our Pythons, from the index's page.

    A build for Linux carries the local version `+cpu`. That of macOS has none: no other exists.
    """
    links = _Links()
    links.feed(page)
    tag = re.compile(rf"torch-{re.escape(version)}(\+cpu)?-cp({'|'.join(PYTHONS)})-cp\2-(\w+)\.whl")
    found = {}
    for name, digest in links.files.items():
        wheel = tag.fullmatch(name)
        if wheel and ((wheel[1] and "linux" in wheel[3]) or (not wheel[1] and "macos" in wheel[3])):
            found[name] = digest
    return dict(sorted(found.items()))


def split_torch(resolved: str) -> tuple[str, str]:
    """Everything but torch and CUDA of what uv resolved; torch's version."""
    entries = re.split(r"^(?=\S)", resolved, flags=re.MULTILINE)
    (version,) = (pin[2] for pin in map(_PIN.match, entries) if pin and pin[1] == "torch")
    return "".join(entry for entry in entries if not _CUDA.match(entry)), version


def torch_pins(version: str, wheels: dict[str, str]) -> str:
    """constraints/torch.txt: a line a build, so that a reader sees what a hash is of."""
    hashes = " \\\n".join(f"    --hash=sha256:{digest}" for digest in wheels.values())
    names = "".join(f"# {digest}  {name}\n" for name, digest in wheels.items())
    return (
        "# Written by `make constraints`: CPU builds of torch only, as PyTorch's own index lists\n"
        "# them. PyPI's builds for Linux bring several GB of CUDA.\n"
        f"torch=={version} \\\n{hashes}\n\n{names}"
    )


def pinned(file: Path) -> dict[str, str]:
    """{package: version} of a file of constraints; the last where versions depend on Python."""
    return dict(_PIN.findall(file.read_text(encoding="utf-8"))) if file.exists() else {}


def compile_pins(requirements: list[str], *options: str) -> str:
    """The newest versions that satisfy all requirements, with hashes, as uv resolves them."""
    with tempfile.NamedTemporaryFile("w", suffix=".in") as file:
        file.write("\n".join(requirements))
        file.flush()
        command = [sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--universal"]
        command += ["--generate-hashes", "--no-annotate", "--upgrade", "--system-certs"]
        command += ["--custom-compile-command", "make constraints", *options, file.name]
        done = subprocess.run(command, cwd=ROOT, check=False, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit("uv found no versions that fit together: nothing was changed")
    return done.stdout


def main() -> None:
    """Resolve, then write all files at once."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--torch-index", required=True, help="where torch's CPU builds are")
    index = parser.parse_args().torch_index

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    requirements = [*project["build-system"]["requires"], *BUILD_TOOLS]
    sources = ("pyproject.toml", "--extra", "dev", "--extra", "docs")
    python = ("--python-version", f"{PYTHONS[0][0]}.{PYTHONS[0][1:]}")

    written: dict[str, str] = {}
    rest, version = split_torch(compile_pins(requirements, *python, *sources))
    try:
        with urllib.request.urlopen(f"{index}/torch/", timeout=30) as page:
            wheels = cpu_wheels(page.read().decode(), version)
    except (urllib.error.URLError, TimeoutError) as error:
        version = pinned(CONSTRAINTS / "torch.txt")["torch"]
        print(f"{index} cannot be read ({error}): torch stays at {version}", file=sys.stderr)
        requirements.append(f"torch=={version}")
        rest, _ = split_torch(compile_pins(requirements, *python, *sources))
    else:
        if not wheels:
            raise SystemExit(f"{index} lists no CPU build of torch {version}: nothing was changed")
        written["torch.txt"] = torch_pins(version, wheels)
    written["development.txt"] = rest
    written["openfhe.txt"] = compile_pins(list(OPENFHE), "--python-version", "3.10")
    written["crypten.txt"] = compile_pins(list(CRYPTEN), *python, "--no-deps")
    written["fuzz.txt"] = compile_pins(list(FUZZ), *python)
    for name, text in written.items():
        (CONSTRAINTS / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
