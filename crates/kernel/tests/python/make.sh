#!/bin/sh
# Makes a Python environment that tests use, once: `make.sh FOLDER [REQUIREMENTS]`, by default with what the tests of Python
# stages need. A second call, also one at the same time, finds it ready. Needs Python 3.11 or later with venv, and PyPI.
set -eu
folder=$1
requirements=${2:-$(dirname "$0")/requirements.txt}
mkdir -p "$folder"
exec 9>"$folder.lock"
flock 9
if cmp -s "$requirements" "$folder/requirements.txt"; then
    exit 0
fi
rm -rf "$folder"
python3 -m venv "$folder"
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile --no-deps \
    --requirement "$requirements"
cp "$requirements" "$folder/requirements.txt"
