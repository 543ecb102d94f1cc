#!/usr/bin/env bash
# Write requirements.lock: every package at its exact version, no index address.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/python" - > "$work/runtime.in" <<'PY'
import tomllib
project = tomllib.load(open("pyproject.toml", "rb"))["project"]
extras = project["optional-dependencies"].values()
print("\n".join([*project["dependencies"], *(name for extra in extras for name in extra)]))
PY
"$work/venv/bin/pip" install --quiet -r "$work/runtime.in" -r requirements.in
{
  echo "# Made by 'make lock'. Exact versions; no index address."
  "$work/venv/bin/pip" freeze --exclude skitter | LC_ALL=C sort -f
} > requirements.lock
