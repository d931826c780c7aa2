#!/bin/sh
# Makes the Python environment that the tests of Python stages use, once: `make.sh FOLDER`. A second call, also one at the
# same time, finds it ready. Needs Python 3.11 or later with venv, and PyPI.
set -eu
folder=$1
here=$(dirname "$0")
mkdir -p "$folder"
exec 9>"$folder.lock"
flock 9
if cmp -s "$here/requirements.txt" "$folder/requirements.txt"; then
    exit 0
fi
rm -rf "$folder"
python3 -m venv "$folder"
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile --no-deps \
    --requirement "$here/requirements.txt"
cp "$here/requirements.txt" "$folder/requirements.txt"
