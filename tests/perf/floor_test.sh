#!/usr/bin/env bash
# sglperf-floor from outside: floor_test.sh SGLPERF_FLOOR
set -u
floor=$1
work=$(mktemp -d "${TMPDIR:-/tmp}/floor-test.XXXXXX")
trap 'rm -rf "$work"' EXIT
. "$(dirname "$0")/../support/shell.sh"

# refused PATTERN ARGUMENT...: status 2 and one line of errors that has the pattern.
refused() {
  expect_status 2 "$floor" "${@:2}"
  err_has "$1"
}

# right COUNT ARGUMENT...: that many rows; it checks the results of every way itself.
right() {
  expect_status 0 "$floor" "${@:2}" --json
  [ "$(grep -c '"verified": true' "$work/out")" = "$1" ] ||
    fail "not $1 right rows of: sglperf-floor ${*:2}"
}

refused 'collective' allgthr
refused 'layout ring:3: it takes contig' allgather --layout ring:3
refused 'FROM or FROM:TO' allgather --bytes 8:4
refused 'memory' allgather --memory huge
refused 'ranks' allgather --ranks 1
refused 'more than half of this machine.s memory' allgather --ranks 256 --bytes 64G

for collective in allgather reduce_scatter_block allreduce reduce bcast gather scatter alltoall; do
  right 1 "$collective" --bytes 32K --layout vector:8:16 --memory malloc --ranks 3
  right 1 "$collective" --bytes 20K --layout indexed:1:16:2048:64 --memory alloc
done
for collective in alltoall reduce_scatter_block; do
  right 1 "$collective" --bytes 64K --layout vector:4096:8192 --memory malloc
  right 1 "$collective" --bytes 64K --layout vector:8:16 --memory alloc --ranks 3
done
right 1 allgather --bytes 16K --layout vector:64:128 --ranks 4
right 1 alltoall --layout subarray:64x64x64:64x64x1:0x0x0:8
right 1 barrier
expect_status 0 taskset -c "$(taskset -cp $$ | sed 's/.*: *\([0-9]*\).*/\1/')" \
  "$floor" allreduce --bytes 16K --json
for field in line_transfer_ns '"processes": 1' transfers latency_us way chunk run_bytes; do
  grep -q -- "$field" "$work/out" || fail "no $field in the JSON"
done
expect_status 0 "$floor" bcast --bytes 16K --explain
grep -q '^# .*staged' "$work/out" || fail "--explain tells of no way"
