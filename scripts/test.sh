#!/usr/bin/env bash
# Run all tests, several at a time: first those that keep a machine busy, then those that kill, cut and wait.
# A file's tests stay together, since they share servers. `python -m pytest FILE` runs one file as ever.
# Many of them measure time on real processes, which three at once on a busy machine can stretch beyond any bar: the
# few that failed so are named and run once more with the machine to themselves. What fails there, too, has failed.
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

most_again=5

run() { .venv/bin/python -m pytest --basetemp "$scratch/$1" "${@:2}"; }

failed=0
run 1 --cache-clear -m "not fault" -n 3 --dist loadfile --no-loadscope-reorder "$@" || failed=$?
run 2 -m fault -n 2 --dist load --maxschedchunk 1 "$@" || { status=$?; [ "$failed" -gt 1 ] || failed=$status; }
again=$(grep -c '"tests/' .pytest_cache/v/cache/lastfailed 2>/dev/null || true)
if [ "$failed" -eq 1 ] && [ "${again:-0}" -le "$most_again" ]; then
  echo "test: $again failed beside others; once more, alone:" >&2
  cat .pytest_cache/v/cache/lastfailed >&2
  failed=0
  run 3 -v --last-failed --last-failed-no-failures none "$@" || failed=$?
fi
exit "$failed"
