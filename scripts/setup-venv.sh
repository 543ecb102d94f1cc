#!/usr/bin/env bash
# Make .venv with Skitter and its tools in it, at the exact versions of requirements.lock.
# Debian's own Python is preferred: its optimised build runs the crawl about a tenth faster.
set -euo pipefail
cd "$(dirname "$0")/.."

usable() { "$1" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

find_python() {
  local candidate
  for candidate in ${PYTHON:-} /usr/bin/python3.11 /usr/bin/python3 python3.11 python3.12 python3; do
    if command -v "$candidate" >/dev/null && usable "$candidate"; then echo "$candidate"; return; fi
  done
  return 1
}

if ! python=$(find_python); then
  echo "setup: no Python 3.11+ with venv; installing Debian's python3-venv" >&2
  bash scripts/apt-install.sh python3 python3-venv
  python=$(find_python) || { echo "setup: Python 3.11 or newer with the venv module is needed" >&2; exit 2; }
fi

if [ ! -x .venv/bin/python ]; then
  echo "setup: making .venv with $("$python" --version)" >&2
  "$python" -m venv .venv
fi
stamp=.venv/installed.sha256
wanted=$(cat requirements.lock pyproject.toml | sha256sum)
if [ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ]; then
  echo "setup: installing the locked packages" >&2
  .venv/bin/pip install --quiet --disable-pip-version-check --require-virtualenv -r requirements.lock
  .venv/bin/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
  echo "$wanted" > "$stamp"
fi
