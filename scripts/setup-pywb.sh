#!/usr/bin/env bash
# Make .venv/pywb with the replay tool pywb in it, for the tests that replay an archive.
# It cannot live in .venv: it wants versions of its own. At once when nothing has changed.
set -euo pipefail
cd "$(dirname "$0")/.."

home=.venv/pywb
exec 9> .venv/pywb.lock
flock 9
stamp=$home/installed.sha256
wanted=$(sha256sum < requirements-pywb.lock)
if [ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ]; then
  echo "setup: installing pywb" >&2
  rm -rf "$home"
  .venv/bin/python -m venv "$home"
  "$home/bin/pip" install --quiet --disable-pip-version-check --require-virtualenv --no-deps -r requirements-pywb.lock
  echo "$wanted" > "$stamp"
fi
