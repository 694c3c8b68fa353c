#!/usr/bin/env bash
# Set up the last release in an environment of its own, on the dependencies of this one.
#
#     scripts/previous_release.sh .venv/bin/python .venv-previous
set -euo pipefail
python=$1 place=$2
commit=$(git log -1 --format=%H --extended-regexp --grep='^Release [0-9]+\.[0-9]+\.[0-9]+$')
test -n "$commit" || { echo "there is no release in this history" >&2; exit 1; }
packages='import sysconfig; print(sysconfig.get_path("purelib"))'
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
git archive "$commit" | tar -x -C "$build"
"$python" -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir "$build/dist" "$build"
"$python" -m venv --clear --without-pip "$place"
there=$("$place/bin/python" -c "$packages")
# Folders of such a line are searched after the environment's own; what they say is not followed.
"$python" -c "$packages" > "$there/dependencies.pth"
"$python" -m zipfile -e "$build"/dist/*.whl "$there"
"$place/bin/python" -c "import securefair; print('the release before:', securefair.__version__)"
