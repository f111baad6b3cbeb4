#!/usr/bin/env bash
# What generated code costs in every build, before and after a change:
#
#	bench/gencost.sh BEFORE AFTER [ROUNDS]
#
# BEFORE and AFTER are revisions, or folders with a copy of the project. Both
# generate the same catalogues: that of the examples, and made-up ones of 200
# and 1,000 events. Then they compile what they have generated, in turns, on one
# core. It prints the median of ROUNDS (3) for each event: lines, declarations,
# CPU time of the compiler (user and system) and kB of object code, and the time
# that the whole catalogue takes to generate.
#
# Only the generated package is compiled anew, as with go build -a of it alone;
# the runtime is built before.
set -euo pipefail
[ $# -ge 2 ] || { sed -n '2,15s/^# \{0,1\}//p' "$0"; exit 2; }
sides=("$1" "$2")
rounds=${3:-3}
sizes=${SIZES:-18 200 1000}
export GOFLAGS=-mod=mod GOWORK=off GOMAXPROCS=1
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The compiler of one package, with its time. go build asks for its version first.
cat >"$work/timed" <<'TIMED'
#!/usr/bin/env bash
case "$*" in
*/compile*"-p example.org/gencost "*)
  TIMEFORMAT='%U %S'
  { time "$@" 2>&3; } 3>&2 2>"$GENCOST_TIME" ;;
*) exec "$@" ;;
esac
TIMED
chmod +x "$work/timed"

# The catalogue that go run ./bench measures generation with.
catalogue() { # EVENTS
  awk -v n="$1" 'BEGIN {
    print "version: 1\npackage: many\npolicies:\n  area1.*: { retry: { max_attempts: 6, max_delay: 1m } }"
    print "types:\n  Status: { enum: [open, waiting, done] }\n  Money: { fields: { amount: int64, currency: string } }"
    print "  Line: { fields: { sku: string, quantity: { type: int, min: 1 }, price: Money } }\nevents:"
    kinds = "uuid|string|int64|time|Money|string?|[]Line|map[string]string|"
    kinds = kinds "{ type: string, format: email, max_length: 254 }|{ type: Status, doc: How far it is. }"
    count = split(kinds, kind, "|")
    for (i = 0; i < n; i++) {
      printf "  area%d.thing_%d.happened:\n    doc: Something happened to thing %d.\n    partition_by: field_0\n    payload:\n", i % 20, i, i
      for (j = 1; j <= count; j++) {
        quote = kind[j] ~ /^{/ ? "" : "\""
        printf "      field_%d: %s%s%s\n", j - 1, quote, kind[j], quote
      }
      if (i % 4 == 0) printf "    subscriptions: { handle-%d: {} }\n", i
    }
  }'
}

median() { sort -n | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }
milliseconds() { echo $(($(date +%s%N) / 1000000)); }

for i in 0 1; do
  code=$work/$i
  if [ -d "${sides[$i]}" ]; then
    code=$(cd "${sides[$i]}" && pwd)
  else
    mkdir "$code"
    git archive "${sides[$i]}" | tar -x -C "$code"
  fi
  (cd "$code" && GOFLAGS= go build -o "$work/busgen$i" ./cmd/busgen)
  for n in $sizes; do
    folder=$work/$i-$n
    mkdir "$folder"
    if [ $n = 18 ]; then
      cp examples/events.yaml "$folder/events.yaml"
      cp examples/generated/upcasts.go "$folder/"
    else
      catalogue $n >"$folder/events.yaml"
    fi
    cp "$code/go.sum" "$folder/"
    sed -e 's,^module .*,module example.org/gencost,' "$code/go.mod" |
      awk '/^tool/ { skip = 1 } !skip { print } /^\)/ { skip = 0 } /^tool [^(]/ { skip = 0 }' >"$folder/go.mod"
    (cd "$folder" && go mod edit -require github.com/busgen/busgen@v0.0.0 -replace "github.com/busgen/busgen=$code")
    (cd "$folder" && "$work/busgen$i" generate events.yaml --out . >/dev/null && go build .)
  done
done

for n in $sizes; do
  for round in $(seq "$rounds"); do
    for i in 0 1; do
      folder=$work/$i-$n
      fresh=$folder/fresh
      start=$(milliseconds)
      (cd "$folder" && GOMAXPROCS=2 "$work/busgen$i" generate events.yaml --out "$fresh" >/dev/null)
      echo $(($(milliseconds) - start)) >>"$work/generate-$i-$n"
      rm -rf "$fresh"
      echo "package $(awk '/^package/ { print $2; exit }' "$folder"/payloads.gen.go) // round $round" >"$folder/round.go"
      (cd "$folder" && GENCOST_TIME=$work/time go build -p 1 -toolexec "$work/timed" -o "$work/object-$i-$n" .)
      awk '{ print ($1 + $2) * 1000 }' "$work/time" >>"$work/cpu-$i-$n"
    done
  done
done

printf '%-7s %-14s %8s %8s %12s %12s %12s\n' events revision lines decls compile_ms object_kB generate_ms
for n in $sizes; do
  for i in 0 1; do
    folder=$work/$i-$n
    events=$(cat "$folder"/*.gen.go | grep -Ec '^var .*Type = [(*]*runtime\.')
    lines=$(cat "$folder"/*.gen.go | wc -l)
    decls=$(cat "$folder"/*.gen.go | grep -Ec '^(func|type|var|const) ')
    size=$(stat -c %s "$work/object-$i-$n")
    awk -v e="$events" -v r="${sides[$i]}" -v l="$lines" -v d="$decls" -v s="$size" -v c="$(median <"$work/cpu-$i-$n")" \
      -v g="$(median <"$work/generate-$i-$n")" \
      'BEGIN { printf "%-7d %-14.14s %8.1f %8.1f %12.1f %12.1f %12d\n", e, r, l / e, d / e, c / e, s / e / 1000, g }'
  done
done
