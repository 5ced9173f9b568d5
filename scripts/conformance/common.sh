# Sourced by the scripts beside it: the panto under test, a tree of its own for it, a work folder that is removed at the end, and
# the two ways for a part of a suite to end.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
name=$(basename "$0")
[ -f "$root/dist/cli/lua.js" ] || { echo "$name: dist/ is missing: run npm run build" >&2; exit 1; }

export PANTO_HOME=$root/.cache/test-home
unset LUA_INIT LUA_INIT_5_4 LUA_PATH LUA_PATH_5_4 LUA_CPATH LUA_CPATH_5_4
tree=$PANTO_HOME/rocks/lua-5.4.7
# Also brings the tree up to date.
node "$root/bin/panto" lua -e ''
# One word that is `panto lua` on this tree.
lua=$tree/host/bin/lua

work=$(mktemp -d "${TMPDIR:-/tmp}/panto-$name.XXXXXX")
trap 'rm -rf "$work"' EXIT

# A suite that is not here is no failure: skip WHAT HOW-TO-GET-IT
skip() {
  echo "$name: skipped: $1; $2" >&2
  exit 0
}

# Runs one part of a suite; what it printed is shown only when it fails. run TITLE PATTERN COMMAND…
# It passes with status 0 and a line that matches PATTERN (grep -E).
run() {
  local title=$1 pattern=$2 status
  shift 2
  # Not `… || status=$?`, which would make the functions of a suite pass over their own failures.
  set +e
  (set -e; "$@") >"$work/out" 2>&1 </dev/null
  status=$?
  set -e
  if [ "$status" = 0 ] && grep -qE "$pattern" "$work/out"; then
    echo "ok      $title: $(grep -oE "$pattern" "$work/out" | tail -n 1)"
  else
    tail -n 40 "$work/out"
    echo "not ok  $title (status $status)"
    exit 1
  fi
}
