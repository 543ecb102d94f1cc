#!/usr/bin/env bash
# Run all tests, several at a time: first those that keep a machine busy, then those that kill, cut and wait.
# A file's tests stay together, since they share servers. `python -m pytest FILE` runs one file as ever.
set -euo pipefail
cd "$(dirname "$0")/.."

# The tests start hundreds of processes, which are not to compile the program each time.
unset PYTHONDONTWRITEBYTECODE
# Nor is what is synced a thousand times to wait for a disk, where there is memory to spare.
room=${TMPDIR:-/tmp}
if [ -w /dev/shm ] && [ "$(df --output=avail -k /dev/shm | tail -n 1)" -gt 4000000 ]; then room=/dev/shm; fi
scratch=$(mktemp -d "$room/skitter.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
chmod 711 "$scratch" # servers that do not run as root have folders in it
export TMPDIR=$scratch

failed=0
.venv/bin/python -m pytest -m "not fault" -n 3 --dist loadfile --no-loadscope-reorder --basetemp "$scratch/1" "$@" || failed=$?
.venv/bin/python -m pytest -m fault -n 2 --dist load --maxschedchunk 1 --basetemp "$scratch/2" "$@" || failed=$?
exit "$failed"
