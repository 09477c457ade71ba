#!/usr/bin/env bash
# survivors_test.sh SGLRUN PROGRAM: a rank of four is killed and the job goes on; every
# survivor is told, ends well, and nothing is left.
set -u
sglrun=$1
program=$2
work=$(mktemp -d "${TMPDIR:-/tmp}/survivors-test.XXXXXX")
trap 'rm -rf "$work"' EXIT
. "$(dirname "$0")/../support/shell.sh"
mark=SGLCOLL_TEST_MARK_$$
shm_before=$(ls /dev/shm)

# The status is that of rank 2, which SIGKILL ended.
expect_status 137 env "TEST_MARK=$mark" timeout 30 \
  "$sglrun" -n 4 --on-failure=continue "$program"
sorted_out_is "rank 0: a peer failed, rank 2 is named
rank 1: a peer failed, rank 2 is named
rank 3: a peer failed, rank 2 is named"
left=$(grep -slz "^TEST_MARK=$mark" /proc/[0-9]*/environ)
[ -z "$left" ] || fail "processes are left: $left"
[ "$(ls /dev/shm)" = "$shm_before" ] || fail "/dev/shm changed"

# A rank that ends well and never came is missed as well.
timeout 20 "$sglrun" -n 3 --on-failure=continue \
  sh -c '[ "$PMIX_RANK" = 1 ] || exec "$0"' "$program" >"$work/out" 2>&1
[ "$(grep -c 'rank 1 died before all ranks had met' "$work/out")" = 2 ] ||
  fail "the others were not told of a rank that never came"
