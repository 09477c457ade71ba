#!/usr/bin/env bash
# sglperf from outside: sglperf_test.sh SGLRUN SGLPERF
set -u
sglrun=$1
sglperf=$2
work=$(mktemp -d "${TMPDIR:-/tmp}/sglperf-test.XXXXXX")
trap 'rm -rf "$work"' EXIT
. "$(dirname "$0")/../support/shell.sh"

# refused PATTERN ARGUMENT...: status 2 and one line of errors that has the pattern.
refused() {
  expect_status 2 "$sglrun" -q -n 2 "$sglperf" "${@:2}"
  err_has "$1"
  [ "$(grep -Ec -- "$1" "$work/err")" = 1 ] || fail "told more than once by: sglperf ${*:2}"
}

# right COUNT ARGUMENT...: that many rows, all of them right.
right() {
  expect_status 0 "$sglrun" -n 2 "$sglperf" "${@:2}"
  [ "$(grep -c ' right$' "$work/out")" = "$1" ] || fail "not $1 right rows of: sglperf ${*:2}"
}

refused 'collective' allgthr
refused 'layout ring:3: it takes contig' allgather --layout ring:3
refused 'vector:BLOCK_BYTES:STRIDE_BYTES' allgather --layout vector:8
refused 'stride not below it' allgather --layout vector:16:8
refused 'multiples of 4, not 6' allgather --layout vector:6:8
refused 'whole numbers, not "x"' allgather --layout indexed:x:4:8:4
refused 'MIN <= MAX' allgather --layout indexed:1:8:4:4
refused 'as many subdims' allgather --layout subarray:8x8:4:0x0:4
refused 'start \+ subdim <= dim' allgather --layout subarray:8:4:6:4
refused 'less than 4 TiB' allgather --layout subarray:9999999999x9999999999:1x1:0x0:4
refused 'file that can be read' allgather --layout tensors:no/such/file
refused 'FROM or FROM:TO' allgather --bytes 8:4
refused 'FROM or FROM:TO' allgather --bytes 6
refused 'FROM or FROM:TO' allgather --bytes 99999999999G
refused 'whole factor' allgather --bytes 8:1M:1
refused 'whole factor' allgather --bytes 8:1M:8:8
refused 'memory' allgather --memory huge
refused 'samples' allgather --samples 29
refused '0 to 1' bcast --root 2

for collective in allgather allgatherv reduce_scatter_block reduce_scatter allreduce reduce bcast \
                  gather gatherv scatter scatterv alltoall alltoallv alltoallw; do
  right 1 "$collective" --bytes 4K --layout vector:8:16 --memory alloc --samples 30
done
right 1 barrier
right 2 allgather --bytes 8:4K:64 --samples 30
right 3 allgather --bytes 512:2K --pack --layout indexed:1:16:64:32
right 1 bcast --root 1 --layout subarray:8x8x8:8x8x1:0x0x2:4
printf '# a comment\nweight 64 3 7\nbias 64\n' >"$work/tensors"
right 1 allgather --layout "tensors:$work/tensors"
refused 'a line a tensor' allgather --layout tensors:/dev/null
refused 'vector:64' allgather --bytes 8 --beside vector:64
right 1 reduce_scatter_block --bytes 64K --beside vector:4:64
awk '$2 == "beside_speed" { found = $3 > 0 && $3 < 1 } END { exit !found }' "$work/out" ||
  fail "words far apart are as fast as one run: $(cat "$work/out")"
expect_status 0 "$sglrun" -n 2 "$sglperf" allgather --bytes 8 --json --explain --beside contig
grep -q '"beside_speed"' "$work/out" || fail "no beside_speed in the JSON"
for field in binding calls_a_sample algorithm_gb_s bytes_packed; do
  grep -q "\"$field\"" "$work/out" || fail "no $field in the JSON"
done
