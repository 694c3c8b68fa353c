#!/bin/sh
# Prints an interpreter under which a wheel of openfhe imports: CPython 3.10, or 3.12 with glibc
# 2.38 or newer. Looks on the path and among pyenv's versions, selected or not.
pyenv="${PYENV_ROOT:-$HOME/.pyenv}/versions"
check='
import ensurepip, platform, sys, venv
version, glibc = sys.version_info[:2], platform.libc_ver()[1].split(".")
new = len(glibc) == 2 and (int(glibc[0]), int(glibc[1])) >= (2, 38)
sys.exit(not (version == (3, 10) or (version == (3, 12) and new)))
'
for python in python3.10 "$pyenv"/3.10.*/bin/python3.10 python3.12 "$pyenv"/3.12.*/bin/python3.12; do
  if "$python" -c "$check" 2>/dev/null; then
    echo "$python"
    exit 0
  fi
done
exit 1
