# What all tiers begin with. It is sourced by a script that has gone to the root of the project.
set -euo pipefail

step() { printf '\n== %s (after %d s)\n' "$*" "$SECONDS"; }

# What tests leave behind goes with the folder, also when they fail or are killed. Like /tmp it is
# open to tests that act as another user.
TMPDIR=$(mktemp -d)
export TMPDIR
chmod 1777 "$TMPDIR"
trap 'kill $(jobs -p) 2>/dev/null || true; chmod -R u+w "$TMPDIR" || true; rm -rf "$TMPDIR" || true' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

step "space on the disk"
free() { echo $(($(df -Pk "$1" | awk 'NR == 2 { print $4 }') / 1024 / 1024)); }
cache=$(go env GOCACHE)
mkdir -p "$cache"
# Go never has less in its cache than it has used within five days, which can fill a disk.
if [ -n "${CI:-}" ] && [ "$(free "$cache")" -lt 20 ]; then
  echo "less than 20 GB are free: this deletes Go's build cache"
  go clean -cache
fi
for folder in "$TMPDIR" "$cache"; do
  echo "$folder: $(free "$folder") GB are free"
  if [ "$(free "$folder")" -lt 10 ]; then
    echo "That may not be enough, and a test that finds the disk full says something else. go clean -cache makes room."
  fi
done

# The detector does not look into SQLite, which was translated from C: each connection is used by one goroutine at a time,
# and that is the runtime's to see to. Looking there takes two thirds of the time.
race() { go test -vet=off -race -tags lockorder -gcflags='github.com/ncruces/go-sqlite3-wasm/...=-race=false' "$@"; }

# A compiler of TypeScript: with it, what is exported is compiled and run.
typescript() {
  if ! command -v npm >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get update -qq && apt-get install -y -qq --no-install-recommends nodejs npm || return
  fi
  npm install --silent --no-audit --no-fund --prefix "$TMPDIR/npm" typescript@5 || return
  export PATH="$TMPDIR/npm/node_modules/.bin:$PATH"
} >/dev/null

# postgres installs the servers that tests of runtime/postgres start, if they are not there.
postgres() {
  if ! command -v initdb >/dev/null && ! ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || ! command -v pgbouncer >/dev/null; then
    local as=
    [ "$(id -u)" = 0 ] || as=sudo
    $as apt-get update -q && DEBIAN_FRONTEND=noninteractive $as apt-get install -qy postgresql pgbouncer
  fi
}

# The modules in folders with a go.mod of their own: module FOLDER, and what go test is given.
module() {
  (cd "$1" && go mod tidy -diff && go vet ./... && go test -vet=off -timeout 20m "${@:2}")
}

# Each target of fuzzing.txt: fuzzing HOW_MANY_TIMES_THE_INPUTS.
fuzzing() {
  local folder package target inputs
  while read -r folder package target inputs; do
    (cd "$folder" && go test -vet=off -timeout 2h "$package" -run '^$' -fuzz "^$target\$" \
      -fuzztime "$((inputs * $1))x" -fuzzminimizetime 10x </dev/null)
  done < <(grep -v '^#' .ci/fuzzing.txt)
}
